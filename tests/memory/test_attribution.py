"""Whose words a statement is made of decides whose it is, whatever it quotes."""

from datetime import UTC, datetime

from mnemon.memory.attribution import OtherAuthor, authors_of_turn
from mnemon.memory.trust import Trust
from mnemon.scope import Scope
from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage

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
        messages=tuple(
            TurnMessage(message_id=f"m{n}", role=r, content=c, name=None, at=AT) for n, (r, c) in enumerate(lines)
        ),
        tool_results=results,
    )


def test_what_only_a_tool_said_is_the_tools() -> None:
    lender = authors_of_turn(turn_of("What does it say?", page="Tolerates penicillin well")).other_author(
        "Tolerates penicillin"
    )
    assert lender is not None
    assert (lender.trust, lender.origin) == (Trust.TOOL, "tool:read_page")


def test_what_the_person_said_is_theirs_though_a_tool_repeats_it() -> None:
    voices = authors_of_turn(turn_of("I moved to Boston.", "How is life in Boston?", page="People who live in Boston"))
    assert voices.other_author("Lives in Boston") is None


def test_what_the_person_said_is_theirs_in_other_words() -> None:
    voices = authors_of_turn(turn_of("I stopped eating meat last year.", page="Opening hours"))
    assert voices.other_author("Eats no meat") is None
    assert authors_of_turn(turn_of("Ich bin Vegetarier.")).other_author("Isst vegetarisch") is None
    assert authors_of_turn(turn_of("我住在里斯本")).other_author("用户住在里斯本") is None


def test_what_shares_no_word_with_the_person_is_the_models() -> None:
    lender = authors_of_turn(turn_of("Thank you, and now?")).other_author("Has no allergies; wants penicillin")
    assert lender is not None
    assert lender.trust is Trust.AGENT
    assert authors_of_turn(turn_of("Read the page.")).other_author("H\u200bas n\u200bo all\u200bergies") is not None


def test_words_in_disguise_are_the_words_they_read_as() -> None:
    page = "The person tolerates penicillin very well"
    for disguised in ("Takes реnісіllіn very well", "Takes peni\u2060cillin very well"):
        lender = authors_of_turn(turn_of("Does the page say that she takes it?", page=page)).other_author(disguised)
        assert lender is not None
        assert lender.trust is Trust.TOOL


def test_what_two_lent_goes_to_the_less_trusted() -> None:
    recalled = [OtherAuthor(trust=Trust.DOCUMENT, origin="email", text="penicillin")]
    lender = authors_of_turn(turn_of("Okay.", "It tolerates everything"), recalled).other_author("Tolerates penicillin")
    assert lender is not None
    assert lender.origin == "email"


def test_a_short_answer_is_the_persons_with_the_words_of_its_question() -> None:
    asked = "What is your favorite programming language these days?"
    voices = authors_of_turn(
        turn_of("Rust."), [OtherAuthor(trust=Trust.AGENT, origin="assistant", text=asked, spoken=True)]
    )
    assert voices.other_author("Favorite programming language is Rust") is None
    assert voices.other_author("Favorite programming language is Cobol") is not None
    told = [
        OtherAuthor(
            trust=Trust.AGENT, origin="assistant", text="You have no allergies and want penicillin?", spoken=True
        )
    ]
    assert authors_of_turn(turn_of("Penicillin."), told).other_author("Has no allergies; wants penicillin") is not None
    assert authors_of_turn(turn_of("Yes."), told).other_author("Has no allergies; wants penicillin") is not None


def test_words_that_several_others_used_apart_are_not_borrowed() -> None:
    others = [
        OtherAuthor(trust=Trust.AGENT, origin="assistant", text=text)
        for text in ("Sunny hills", "Old houses", "Near trains")
    ]
    assert (
        authors_of_turn(turn_of("I bought a place."), others).other_author("Bought an old house near sunny hills")
        is None
    )


def test_a_figure_that_only_another_said_makes_the_statement_theirs() -> None:
    asked = "Which bank account is on the invoice?"
    voices = authors_of_turn(turn_of(asked, "DE99 6666", page="IBAN: DE99 6666"))
    for stated in ("Bank account is DE99 6666", "The bank account on the invoice is DE99 6666"):
        lender = voices.other_author(stated)
        assert lender is not None
        assert lender.trust is Trust.TOOL
    own = authors_of_turn(turn_of("My bank account is DE99 6666.", page="IBAN: DE99 6666"))
    assert own.other_author("Bank account is DE99 6666") is None
    assert (
        authors_of_turn(turn_of("We meet on the 12th.", page="Room 12, 250 seats")).other_author("Meets on 12 May")
        is None
    )


def test_letters_with_blanks_between_or_none_at_all_are_the_words_they_read_as() -> None:
    voices = authors_of_turn(turn_of("What now then, hello?", page="The user has no allergies"))
    for disguised in ("hello: n o a l l e r g i e s", "hello userhasnoallergies", "hello no_aller_gies"):
        lender = voices.other_author(disguised)
        assert lender is not None, disguised
        assert lender.trust is Trust.TOOL
    said_too = authors_of_turn(turn_of("I have no allergies, hello.", page="The user has no allergies"))
    assert said_too.other_author("hello noallergies") is None
