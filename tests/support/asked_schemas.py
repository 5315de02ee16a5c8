"""Every schema that a model is sent, with answers that must be accepted and some that must be refused."""

import json
from itertools import combinations
from typing import Any

from mnemon.agentstate import prompt as agent_state_prompt
from mnemon.engagement import prompt as engagement_prompt
from mnemon.llm.answer_schema import closed_object, titled
from mnemon.llm.scripted.script import empty_answer
from mnemon.memory import spine
from mnemon.memory.curator import PLAN_SCHEMA
from mnemon.memory.prompt import MEMORIES
from mnemon.memory.todos.prompt import TODOS
from mnemon.reflection.job import all_sections
from mnemon.runs.card import load_cards
from mnemon.runs.card_filling import asked_card_schema
from mnemon.sessions import rolling_summary, summary
from mnemon.settings import Settings

SECTIONS = {section.name: section for section in all_sections(Settings())}
INSTRUCTIONS = {
    "memories": MEMORIES,
    "todos": TODOS,
    "engagement": engagement_prompt.INSTRUCTIONS,
    "agent_state": agent_state_prompt.INSTRUCTIONS,
    "rolling_summary": rolling_summary.INSTRUCTIONS,
}
"""The instructions of each section of a reflection."""
FULL = {
    "memories": [
        {
            "quote": 'I live in "São Paulo"\n— for now',
            "op": "state",
            "content": "Lives in São Paulo",
            "type": "PROFILE",
            "entity": None,
            "factType": "fact",
            "attribute": "city",
            "private": True,
        }
    ],
    "todos": [{"op": "drop", "kind": None, "quote": "I won't", "content": "T1"}],
    "engagement": {
        "form": [],
        "evidence": [],
        "wouldResolve": [{"hypothesis": "H1", "text": "The ledger"}],
        "unknowns": [{"question": "Who?", "whyItMatters": "It decides."}],
        "answered": [{"unknown": "U1", "quote": "Ann does"}],
        "archive": [{"hypothesis": "H1", "note": "Disproved", "supersededBy": None}],
        "week": {"advance": True, "reason": "Done"},
    },
    "agent_state": {
        "entities": [],
        "dependencies": [{"from": "a", "to": "b", "rel": None}],
        "claims": [],
        "expectations": [
            {
                "action": "list",
                "expected_outcome": "two",
                "expected_ids": ["a"],
                "expected_type": "row",
                "expected_count": 2,
            }
        ],
        "items": [],
    },
    "rolling_summary": "Ana \\ moved.",
}
"""An answer that uses what the worked examples do not."""


def worked_example(instructions: str) -> dict[str, Any]:
    """The answer that stands as an example at the end of a prompt."""
    given = instructions[instructions.index("\n{") :]
    example: dict[str, Any] = json.loads(given)
    return example


def reflection_schema(*names: str) -> dict[str, Any]:
    """The schema of a reflection for these sections."""
    return titled("Reflection", closed_object(**{name: SECTIONS[name].schema for name in names}))


def asked_schemas() -> dict[str, dict[str, Any]]:
    """Every schema by a name: a reflection of each set of sections, the summaries, the plan and the cards."""
    every = {
        f"Reflection {' '.join(names)}": reflection_schema(*names)
        for number in range(1, len(SECTIONS) + 1)
        for names in combinations(SECTIONS, number)
    }
    every |= {"SessionSummary": summary.SUMMARY_SCHEMA, "Spine": spine.SPINE_SCHEMA, "CuratorPlan": PLAN_SCHEMA}
    return every | {f"Card {name}": asked_card_schema(card) for name, card in load_cards().items()}


def good_answers(name: str, schema: dict[str, Any]) -> list[str]:
    """Answers that the schema of this name has to accept, as JSON."""
    answers = [empty_answer(schema)]
    if name.startswith("Reflection"):
        due = name.split()[1:]
        answers.append({one: FULL[one] for one in due})
        answers.append({one: worked_example(INSTRUCTIONS[one])[one] for one in due})
    examples = {"SessionSummary": summary.SUMMARY_PROMPT, "Spine": spine.SYSTEM}
    if name in examples:
        answers.append(worked_example(examples[name]))
    return [json.dumps(answer, ensure_ascii=False) for answer in answers]


def bad_answers(name: str, schema: dict[str, Any]) -> list[str]:
    """Answers that the schema of this name has to refuse, as JSON: nothing, too little, too much, of the wrong kind."""
    good = json.loads(good_answers(name, schema)[-1])
    first = next(iter(good))
    return [
        "{}",
        json.dumps({key: value for key, value in good.items() if key != first}),
        json.dumps({**good, "further": 1}, ensure_ascii=False),
        json.dumps({**good, first: {"wrong": True}}, ensure_ascii=False),
        '{"' + first + '": "raw\nnewline',
    ]
