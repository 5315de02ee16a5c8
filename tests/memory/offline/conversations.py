"""Turns of ordinary conversation with every fact that they tell, and how well the rules find them.

A memory that the rules make counts as found only if the gates that hold for a model's answer accept it.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mnemon.evidence.quote_gate import find_quote, quotable_passages
from mnemon.memory.answer import MemoryAnswer
from mnemon.memory.fact import FactEntity
from mnemon.memory.offline.extract import extract_memories
from mnemon.memory.quoted_fact import quoted_fact_fault
from mnemon.scope import Scope
from mnemon.turn import Role, Turn, TurnMessage

SEED = "mnemon-conversation-1"
_AT = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "home": ("lives_in",),
    "origin": ("from", "grew_up_in", "born_in"),
    "birthday": ("birthday",),
    "age": ("age",),
    "contact": ("email", "phone", "address"),
    "pronouns": ("pronouns",),
    "language": ("speaks", "native_language"),
    "marital": ("marital_status",),
    "children": ("children",),
    "household": ("lives_with",),
    "employer": ("employer", "runs"),
    "job": ("job", "role", "runs", "manages"),
    "runs": ("runs", "employer"),
    "role": ("role", "job"),
    "workmode": ("work_mode", "schedule"),
    "schedule": ("schedule", "work_mode"),
    "studies": ("studies", "degree"),
    "school": ("school", "graduated_from", "studies"),
    "degree": ("degree", "studies", "graduated_from"),
    "diet": ("diet", "does_not"),
    "allergy": ("allergic_to",),
    "condition": ("has", "condition"),
    "medication": ("takes",),
    "trait": (
        "left_handed", "right_handed", "lactose_intolerant", "trans", "trait", "hearing", "introvert", "retired",
    ),
    "fear": ("afraid_of",),
    "pet": ("has",),
    "vehicle": ("drives",),
    "owns": ("owns", "has"),
    "uses": ("uses", "owns"),
    "plays": ("plays",),
    "learning": ("learning",),
    "deadline": ("deadline", "launch", "due"),
    "launch": ("launch", "deadline"),
    "event": ("event", "deadline"),
    "budget": ("budget",),
    "stack": ("uses", "stack", "written_in"),
    "band": ("band",),
    "client": ("client",),
    "history": ("served", "employer"),
    "religion": ("religion", "fasts"),
    "team": ("team",),
    "office": ("office",),
    "status": ("status", "retired"),
}  # fmt: skip
"""The attributes by which the rules may name each kind of fact: as it stands, or followed by a value."""
FACT_TYPES = {
    "likes": "preference", "dislikes": "preference", "habit": "habit", "hobby": "habit", "friction": "friction",
    "relationship": "relationship",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ToldFact:
    """One labelled fact."""

    kinds: tuple[str, ...]
    subjects: tuple[str, ...]
    words: str
    optional: bool
    ends: bool
    """Whether it ends something known before."""

    def is_told_by(self, memory: MemoryAnswer) -> bool:
        """Whether the memory says this."""
        if (getattr(memory, "op", "state") == "retract") != self.ends:
            return False
        told = f"{memory.content} {memory.entity.label if memory.entity else ''}".lower()
        return (
            self.words.lower() in told
            and any(_is_about(memory, subject) for subject in self.subjects)
            and (self.ends or any(_is_kind(memory, kind) for kind in self.kinds))
        )


def _is_about(memory: MemoryAnswer, subject: str) -> bool:
    if memory.entity is None:
        return subject == "self"
    if memory.entity.type == "project" and subject == "self":
        return True
    label, wanted = memory.entity.label.lower(), subject.lower()
    return label == wanted or wanted in label.split() or label in wanted.split()


def _is_kind(memory: MemoryAnswer, kind: str) -> bool:
    attribute = memory.attribute or ""
    if kind == "project":
        return memory.type == "PROJECT"
    if kind in ("deadline", "launch", "event") and memory.type == "PROJECT" and attribute not in ("uses", "budget", ""):
        return True  # its attribute is the kind of date: hearing, closing
    if FACT_TYPES.get(kind) == memory.factType:
        return True
    return any(attribute == one or attribute.startswith(f"{one}_") for one in ATTRIBUTES.get(kind, (kind,)))


@dataclass(frozen=True, kw_only=True)
class ToldTurn:
    """A message, who wrote it, and what it tells."""

    who: str
    text: str
    facts: tuple[ToldFact, ...]

    @property
    def half(self) -> str:
        """Where the turn belongs, fixed for ever: `tuning` or `held-out`."""
        return "tuning" if hashlib.sha256(f"{SEED}|{self.text}".encode()).digest()[0] % 2 else "held-out"


def told_turns(path: Path) -> list[ToldTurn]:
    """Every turn of a file."""
    turns: list[tuple[str, str, list[ToldFact]]] = []
    who = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("@ "):
            who = line[2:]
        elif line.startswith("= "):
            turns.append((who, line[2:], []))
        elif line.startswith("  "):
            turns[-1][2].append(_read_fact(line.strip()))
    return [ToldTurn(who=one, text=text, facts=tuple(facts)) for one, text, facts in turns]


def _read_fact(line: str) -> ToldFact:
    head, _, words = line.partition(" | ")
    kinds, _, subjects = head.lstrip("?-").partition(" ")
    kind_names = tuple(kind.lstrip("-") for kind in kinds.split("/"))
    return ToldFact(
        kinds=kind_names,
        subjects=tuple(subjects.split("/")),
        words=words.strip(),
        optional=line.startswith("?"),
        ends=line.startswith("-"),
    )


def accepted_memories(text: str, known: tuple[str, ...] = ()) -> list[MemoryAnswer]:
    """What the rules find in a message and the gates accept; `known` are the labels of entities on record."""
    message = TurnMessage(message_id="m", role=Role.USER, content=text, name=None, at=_AT)
    turn = Turn(
        id="t",
        session_id="s",
        seq=1,
        scope=Scope(org_id="acme", user_id="ana"),
        user_name="",
        at=_AT,
        messages=(message,),
    )
    sources = quotable_passages(turn)
    kept = []
    for memory in extract_memories(text, known):
        quote = find_quote(memory.quote, sources)
        entity = FactEntity(type=memory.entity.type, label=memory.entity.label) if memory.entity else None
        if quote is not None and quoted_fact_fault(memory.content, entity, quote, turn, known) is None:
            kept.append(memory)
    return kept


@dataclass(frozen=True, kw_only=True)
class ConversationScore:
    """How many memories are right, and how many facts are found."""

    right: int
    made: int
    found: int
    told: int
    wrong: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def precision(self) -> float:
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.told

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.3f} ({self.right} of {self.made} memories), "
            f"recall {self.recall:.3f} ({self.found} of {self.told} facts)"
        )


def score_turns(turns: list[ToldTurn]) -> ConversationScore:
    """How the rules do on the turns."""
    right = made = found = told = 0
    wrong, missed = [], []
    known: dict[str, tuple[str, ...]] = {}
    for turn in turns:
        # What was said before is on record, as it is where people talk.
        memories = accepted_memories(turn.text, known.get(turn.who, ()))
        labels = (memory.entity.label for memory in memories if memory.entity)
        known[turn.who] = (*known.get(turn.who, ()), *labels)
        for memory in memories:
            made += 1
            if any(fact.is_told_by(memory) for fact in turn.facts):
                right += 1
            else:
                wrong.append(f"{turn.text}\n      {describe(memory)}")
        for fact in turn.facts:
            if fact.optional:
                continue
            told += 1
            if any(fact.is_told_by(memory) for memory in memories):
                found += 1
            else:
                missed.append(
                    f"{turn.text}\n      {'-' if fact.ends else ''}{'/'.join(fact.kinds)} {fact.subjects} {fact.words}"
                )
    return ConversationScore(right=right, made=made, found=found, told=told, wrong=tuple(wrong), missed=tuple(missed))


def describe(memory: MemoryAnswer) -> str:
    """A memory in a line."""
    entity, op = memory.entity.label if memory.entity else "self", getattr(memory, "op", "state")
    return f"{op} {memory.type} {memory.factType} {entity} {memory.attribute}: {memory.content}"
