"""Facts about somebody else: with their name in them or beside them, and with a name that means a number elsewhere."""

from datetime import UTC, datetime

import pytest

from mnemon.evidence.quote_gate import find_quote, quotable_passages
from mnemon.memory.fact import EntityType, FactEntity
from mnemon.memory.quoted_fact import quoted_fact_fault
from mnemon.scope import Scope
from mnemon.turn import Role, Turn, TurnMessage

AT = datetime(2026, 4, 12, tzinfo=UTC)


def fault(said: str, content: str, entity: str | None, *, known: tuple[str, ...] = (), quote: str = "") -> str | None:
    message = TurnMessage(message_id="m", role=Role.USER, content=said, name=None, at=AT)
    turn = Turn(
        id="t", session_id="s", seq=1, scope=Scope(org_id="acme", user_id="u"), user_name="Ann", at=AT,
        messages=(message,),
    )  # fmt: skip
    found = find_quote(quote or said, quotable_passages(turn))
    assert found is not None
    about = FactEntity(type=EntityType.PERSON, label=entity) if entity else None
    return quoted_fact_fault(content, about, found, turn, known)


BACKEND = "John is my cofounder; he handles the backend."


@pytest.mark.parametrize(
    ("said", "content", "entity", "known", "quote"),
    [
        (BACKEND, "Handles the backend", "John", (), "he handles the backend"),
        (BACKEND, "John handles the backend", "John", (), "he handles the backend"),
        ("She's a vet in Bergen.", "Is a vet in Bergen", "Ingrid", ("Ingrid",), ""),
        ("He lives in Oslo.", "Lives in Oslo", "Tom", ("Tom",), ""),
        ("He lives in Oslo with my sister.", "Lives in Oslo", "Tom", ("Tom",), "He lives in Oslo"),
        ("He handles the backend.", "Otto handles the backend", "Otto", ("Otto",), ""),
        ("He handles the backend.", "Handles the backend", "Otto", ("Otto",), ""),
    ],
)
def test_what_is_said_of_somebody_is_let_in(
    said: str, content: str, entity: str, known: tuple[str, ...], quote: str
) -> None:
    assert fault(said, content, entity, known=known, quote=quote) is None


@pytest.mark.parametrize(
    ("said", "content", "entity", "known"),
    [
        ("She's a vet in Bergen.", "Is a vet in Bergen", "Ingrid", ()),
        ("She's a vet in Bergen.", "Is a vet in Oslo", "Ingrid", ("Ingrid",)),
        ("She isn't a vet.", "Is a vet", "Ingrid", ("Ingrid",)),
        ("Is she a vet?", "Is a vet", "Ingrid", ("Ingrid",)),
        ("My brother Tom says that Ingrid lives in Oslo.", "Lives in Oslo", "Tom", ()),
        ("He handles the backend.", "Handles the backend", None, ()),
        ("He has otto cats.", "Has drei cats", "Tom", ("Tom",)),
        # What the speaker says of themselves is no fact about somebody on record.
        ("I live in Oslo.", "Tom lives in Oslo", "Tom", ("Tom",)),
        ("I'm a vet.", "Is a vet", "Tom", ("Tom",)),
        ("My job is in Oslo.", "Has a job in Oslo", "Tom", ("Tom",)),
        ("He has some cats.", "Has 3 cats", "Room 3", ("Room 3",)),
    ],
)
def test_what_is_said_of_another_or_not_said_is_refused(
    said: str, content: str, entity: str | None, known: tuple[str, ...]
) -> None:
    assert fault(said, content, entity, known=known) is not None
