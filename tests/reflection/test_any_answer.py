"""Whatever a model answers within the schema, no section raises a fault of ours and none loses the others' work."""

import random
from typing import Any

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.input_checks import storable_json
from mnemon.reflection.job import all_sections
from mnemon.reflection.question import answer_schema, parse_answer
from mnemon.reflection.reflect import SectionAnswers, apply_answers, brief_sections
from mnemon.reflection.report import Reflection, ReflectionStatus
from mnemon.settings import Settings
from support.reflecting import told

SAID = "I live in Austin with Ann; revenue fell 12% and I will call Bob on Monday. Is Q3 real?"
QUOTES = ("I live in Austin", "Ann", "I will call Bob on Monday", "revenue fell 12%", SAID)
TEXTS = (
    "", " ", "x" * 2_000, "y" * 30_000,
    "a\0b", "\ud800", "9" * 400, "'; drop table turns; --", "%s %(x)s {0}", "\u202e\u0000\uffff", "🦊" * 400, "a|b|c|d",
    "h-1", "1", "-0", "NaN", "12%", "../../x", "\\x00", "<state>", "NULL", "{}", "[]", "İstanbul ß ﬁ", "\n\t\r",
)  # fmt: skip
NUMBERS = (0, 1, -1, 0.5, 1.0, 2**31, 2**53, 2**53 + 1, 2**63, 10**400, 1e308, float("inf"), float("nan"))
COUNT = 120
TIMES = (
    "2026-04-12T15:22:00Z",
    "1970-01-01T00:00:00+14:00",
    "9000-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00Z",
    "soon",
)


class Answers:
    """Random values of a JSON schema, most of them hostile and some of them outside of it."""

    def __init__(self, whole: dict[str, Any], dice: random.Random) -> None:
        self._definitions = whole.get("$defs", {})
        self._dice = dice
        self._quoted: str | None = None

    def value(self, shape: dict[str, Any], depth: int = 0) -> Any:
        if "$ref" in shape:
            return self.value(self._definitions[shape["$ref"].rpartition("/")[2]], depth)
        for choice in ("anyOf", "oneOf"):
            if choice in shape:
                return self.value(self._dice.choice(shape[choice]), depth)
        if "const" in shape or "enum" in shape:
            return self._dice.choice(shape.get("enum", [shape.get("const")]))
        return self._of_type(shape, depth)

    def _of_type(self, shape: dict[str, Any], depth: int) -> Any:
        dice = self._dice
        match shape.get("type"):
            case "object":
                names = shape.get("properties", {})
                # A statement that repeats its quote passes the support gate, so that what comes after it is tried too.
                self._quoted = dice.choice(QUOTES) if dice.random() < 0.5 else None
                return {name: self.value(one, depth + 1) for name, one in names.items() if dice.random() < 0.85}
            case "array":
                return [self.value(shape.get("items", {}), depth + 1) for _ in range(dice.choice((0, 1, 2, 5)))]
            case "string":
                if shape.get("format") == "date-time":
                    return dice.choice(TIMES)
                return dice.choice((self._quoted,) if self._quoted else QUOTES if dice.random() < 0.7 else TEXTS)
            case "integer" | "number":
                return dice.choice(NUMBERS)
            case "boolean":
                return dice.random() < 0.5
            case _:
                return None


async def test_no_answer_makes_a_section_raise(db: Database, org: str, clock: ManualClock) -> None:
    dice, every, written = random.Random(16), all_sections(Settings(first_hypothesis_turns=0)), 0
    for number in range(COUNT):
        turn = await told(db, SAID, user=f"u{number % 3}")
        blank = Reflection(turn_id=turn.id, job_id="job", status=ReflectionStatus.RUNNING)
        async with db.tx(org) as tx:
            due, reflection = await brief_sections(tx, turn, every, blank)
        answer = storable_json(Answers(answer_schema(due), dice).value(answer_schema(due)))
        taken = parse_answer(due, answer)
        given = SectionAnswers(raw=answer, answers=taken.valid, faults=taken.faults, usage=None)
        async with db.tx(org) as tx:
            made = await apply_answers(tx, turn, due, given, reflection)
        assert made.errors == ()
        written += sum(section.stored + section.updated for section in made.reflection.sections.values())
    assert written > COUNT, "the answers are too wild: nothing was tried"
