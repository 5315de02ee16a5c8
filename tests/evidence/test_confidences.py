"""Every phrasing of `confidences.txt`: what confides is private, what is ordinary is not."""

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from mnemon.evidence.privacy import is_confidential_turn
from mnemon.scope import Scope
from mnemon.turn import Role, Turn, TurnMessage

AT = datetime(2026, 3, 2, tzinfo=UTC)


def phrasings(section: str) -> list[str]:
    """Return the lines of one section of the file."""
    text = (Path(__file__).parent / "confidences.txt").read_text(encoding="utf-8")
    lines = text.split(f"[{section}]\n")[1].split("\n[")[0].splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def is_held(line: str) -> bool:
    """Say whether the line is in the half that was not looked at while the phrases were written."""
    return sha256(f"confidence-20 {line}".encode()).digest()[0] % 2 == 1


def last_turn(line: str) -> Turn:
    """Return the last turn of a line, with what was said before it."""
    *before, said = line.split(" | ")
    message = TurnMessage(message_id="m", role=Role.USER, content=said, name=None, at=AT)
    scope = Scope(org_id="acme", user_id="ana", persona_id="coach")
    return Turn(
        id="t",
        session_id="s",
        seq=1,
        scope=scope,
        user_name="ana",
        at=AT,
        messages=(message,),
        said_before=tuple(before),
    )


def test_the_file_has_enough_of_both() -> None:
    assert len(phrasings("confiding")) >= 82
    assert len(phrasings("ordinary")) >= 60


@pytest.mark.parametrize("line", phrasings("confiding"))
def test_what_is_confided_is_private(line: str) -> None:
    assert is_confidential_turn(last_turn(line))


@pytest.mark.parametrize("line", phrasings("ordinary"))
def test_ordinary_sentences_are_not(line: str) -> None:
    assert not is_confidential_turn(last_turn(line))
