"""Whose words a statement is made of decides whose it is, whatever it quotes."""

from datetime import UTC, datetime

from mnemon.memory.borrowed import Voice, voices_of
from mnemon.memory.trust import Trust
from mnemon.scope import Scope
from mnemon.turn import Role, Said, ToolOutcome, Turn

AT = datetime(2026, 4, 12, tzinfo=UTC)


def turn_of(said: str, reply: str = "I see.", page: str | None = None) -> Turn:
    lines = ((Role.USER, said), (Role.ASSISTANT, reply))
    results = () if page is None else (ToolOutcome(id="call_1", action="read_page", output={"text": page}),)
    return Turn(
        id="trn_1",
        session_id="ses_1",
        seq=1,
        scope=Scope(org_id="acme", user_id="usr_1"),
        user_name="anna",
        at=AT,
        messages=tuple(Said(message_id=f"m{n}", role=r, content=c, name=None, at=AT) for n, (r, c) in enumerate(lines)),
        tool_results=results,
    )


def test_what_only_a_tool_said_is_the_tools() -> None:
    lender = voices_of(turn_of("What does it say?", page="Tolerates penicillin well")).lender("Tolerates penicillin")
    assert lender is not None
    assert (lender.trust, lender.origin) == (Trust.TOOL, "tool:read_page")


def test_what_the_person_said_is_theirs_though_a_tool_repeats_it() -> None:
    voices = voices_of(turn_of("I moved to Boston.", "How is life in Boston?", page="People who live in Boston"))
    assert voices.lender("Lives in Boston") is None


def test_what_nobody_else_said_is_the_persons_in_other_words() -> None:
    assert voices_of(turn_of("I eat no meat.", page="Opening hours")).lender("Is vegetarian") is None


def test_what_two_lent_goes_to_the_less_trusted() -> None:
    recalled = [Voice(trust=Trust.DOCUMENT, origin="email", text="penicillin")]
    lender = voices_of(turn_of("Okay.", "It tolerates everything"), recalled).lender("Tolerates penicillin")
    assert lender is not None
    assert lender.origin == "email"
