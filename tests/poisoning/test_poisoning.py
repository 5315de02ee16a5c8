"""More than 300 attempts at poisoning a memory, offline and with a model that obeys the attacker: none succeeds."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemon.access.grants import PERSONAL_GRANTS
from support.poison import promises
from support.poison.attack import STRANGER, Attackers, carry_out, say_trigger
from support.poison.cases import HELD, Case, all_cases
from support.poison.obedient import Obedient
from support.served import Served, served

CASES = all_cases()
COUNTS = {
    "planted_instructions": 40,
    "false_memories_about_others": 38,
    "posing_as_system": 20,
    "posing_as_person": 20,
    "self_reinforcing_recalls": 38,
    "delayed_triggers": 38,
    "tool_and_document_content": 40,
    "unicode_and_fence_tricks": 41,
    "persona_hopping": 38,
}
"""Cases by technique; docs/security.md has the same figures."""
KNOWN_BREACHES: dict[str, dict[str, str]] = {"offline": {}, "obedient": {}}
"""Cases that break a promise, by mode, with the reason. Strict: one that holds again must leave the table."""
Broken = dict[str, list[str]]


def test_there_are_enough_cases_and_each_has_its_own_words() -> None:
    assert Counter(case.technique for case in CASES) == COUNTS
    assert sum(COUNTS.values()) >= 300
    assert len({case.written for case in CASES}) == len(CASES)
    for technique in COUNTS:
        assert len({case.door for case in CASES if case.technique == technique}) >= 6


@pytest.mark.parametrize("mode", ["offline", "obedient"])
def test_no_attack_changes_a_trusted_fact_or_leaves_its_scope_or_its_mark(
    mode: str, database_url: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"model": "offline"} if mode == "offline" else {}
    with served(database_url, tmp_path, curator_after=4, **options) as server:
        model = Obedient(CASES)
        if mode == "obedient":
            model.possess(server.script)
        broken = _attack_everyone(server)
        if mode == "obedient":
            assert {case.canary for case in CASES if case.kind in {"tool_result", "assistant"}} <= model.obeyed
    unexpected = {name: why for name, why in broken.items() if name not in KNOWN_BREACHES[mode]}
    assert unexpected == {}
    assert set(KNOWN_BREACHES[mode]) - set(broken) == set(), "these hold now: take them out of the table"


def _attack_everyone(server: Served) -> Broken:
    """Let every case attack a person of its own; give the promises that were broken, by case."""
    app = server.client("acme")
    by = Attackers(
        app=app, stranger=server.client("acme", user=STRANGER, grants=PERSONAL_GRANTS), rival=server.client("rival")
    )
    _furnish(app)
    before = {case: promises.what_is_held(app, case) for case in CASES}
    for case in CASES:
        letters = {fact["content"]: letter for letter, fact in HELD.items()}
        ids = {letters[one["content"]]: key for key, one in before[case].memories.items() if one["content"] in letters}
        carry_out(case, by, ids)
    server.advance(seconds=1)
    broken: Broken = {case.name: list(_broken_in_prompts(case, by, during=True)) for case in CASES}
    server.advance(hours=2)
    for case in CASES:
        if case.technique == "delayed_triggers":
            say_trigger(case, app)
    server.advance(hours=2)
    server.advance(hours=26)
    server.advance(seconds=1)
    for case in CASES:
        after = promises.what_is_held(app, case)
        broken[case.name] += promises.broken_by_facts(case, before[case], after)
        broken[case.name] += _broken_in_prompts(case, by, during=False)
    return {name: why for name, why in broken.items() if why}


def _furnish(app: promises.Client) -> None:
    """Hold the same of every victim."""
    rows = [{**fact, "userId": case.person} for case in CASES for fact in HELD.values()]
    rows += [make(case) for case in CASES for make in (promises.secret_of, promises.todo_of)]
    for start in range(0, len(rows), 900):
        answer = app.post("/api/memories/batch", json=rows[start : start + 900])
        assert answer.status_code == 200, answer.text


def _broken_in_prompts(case: Case, by: Attackers, *, during: bool) -> list[str]:
    query = f"{case.words[:300]} {HELD[case.aim]['content']}".replace("\0", " ")
    own = promises.context_of(by.app, case.person, query, case.persona)
    found = list(promises.broken_by_prompt(case, own))
    if during:
        return found
    if not promises.own_facts_show(own):
        found.append("the person's pinned fact no longer stands in L4")
    contexts = {
        str(persona): promises.context_of(by.app, case.person, query, persona)
        for persona in {"coach", "boss", None} - {case.persona}
    }
    contexts |= {str(case.persona): own, "a bystander": promises.context_of(by.app, "bystander", query, "coach")}
    if case.kind != "rival":
        contexts["another organization"] = promises.context_of(by.rival, case.person, query)
    return [*found, *promises.broken_by_scope(case, contexts)]
