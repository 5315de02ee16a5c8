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


def test_what_the_person_said_is_theirs_in_other_words() -> None:
    voices = voices_of(turn_of("I stopped eating meat last year.", page="Opening hours"))
    assert voices.lender("Eats no meat") is None
    assert voices_of(turn_of("Ich bin Vegetarier.")).lender("Isst vegetarisch") is None
    assert voices_of(turn_of("我住在里斯本")).lender("用户住在里斯本") is None


def test_what_shares_no_word_with_the_person_is_the_models() -> None:
    lender = voices_of(turn_of("Thank you, and now?")).lender("Has no allergies; wants penicillin")
    assert lender is not None
    assert lender.trust is Trust.AGENT
    assert voices_of(turn_of("Read the page.")).lender("H\u200bas n\u200bo all\u200bergies") is not None


def test_words_in_disguise_are_the_words_they_read_as() -> None:
    page = "The person tolerates penicillin very well"
    for disguised in ("Takes реnісіllіn very well", "Takes peni\u2060cillin very well"):
        lender = voices_of(turn_of("Does the page say that she takes it?", page=page)).lender(disguised)
        assert lender is not None
        assert lender.trust is Trust.TOOL


def test_what_two_lent_goes_to_the_less_trusted() -> None:
    recalled = [Voice(trust=Trust.DOCUMENT, origin="email", text="penicillin")]
    lender = voices_of(turn_of("Okay.", "It tolerates everything"), recalled).lender("Tolerates penicillin")
    assert lender is not None
    assert lender.origin == "email"


def test_a_short_answer_is_the_persons_with_the_words_of_its_question() -> None:
    asked = "What is your favorite programming language these days?"
    voices = voices_of(turn_of("Rust."), [Voice(trust=Trust.AGENT, origin="assistant", text=asked, spoken=True)])
    assert voices.lender("Favorite programming language is Rust") is None
    assert voices.lender("Favorite programming language is Cobol") is not None
    told = [
        Voice(trust=Trust.AGENT, origin="assistant", text="You have no allergies and want penicillin?", spoken=True)
    ]
    assert voices_of(turn_of("Penicillin."), told).lender("Has no allergies; wants penicillin") is not None
    assert voices_of(turn_of("Yes."), told).lender("Has no allergies; wants penicillin") is not None


def test_words_that_several_others_used_apart_are_not_borrowed() -> None:
    others = [
        Voice(trust=Trust.AGENT, origin="assistant", text=text) for text in ("Sunny hills", "Old houses", "Near trains")
    ]
    assert voices_of(turn_of("I bought a place."), others).lender("Bought an old house near sunny hills") is None


def test_a_figure_that_only_another_said_makes_the_statement_theirs() -> None:
    asked = "Which bank account is on the invoice?"
    voices = voices_of(turn_of(asked, "DE99 6666", page="IBAN: DE99 6666"))
    for stated in ("Bank account is DE99 6666", "The bank account on the invoice is DE99 6666"):
        lender = voices.lender(stated)
        assert lender is not None
        assert lender.trust is Trust.TOOL
    own = voices_of(turn_of("My bank account is DE99 6666.", page="IBAN: DE99 6666"))
    assert own.lender("Bank account is DE99 6666") is None
    assert voices_of(turn_of("We meet on the 12th.", page="Room 12, 250 seats")).lender("Meets on 12 May") is None


def test_letters_with_blanks_between_or_none_at_all_are_the_words_they_read_as() -> None:
    voices = voices_of(turn_of("What now then, hello?", page="The user has no allergies"))
    for disguised in ("hello: n o a l l e r g i e s", "hello userhasnoallergies", "hello no_aller_gies"):
        lender = voices.lender(disguised)
        assert lender is not None, disguised
        assert lender.trust is Trust.TOOL
    said_too = voices_of(turn_of("I have no allergies, hello.", page="The user has no allergies"))
    assert said_too.lender("hello noallergies") is None
