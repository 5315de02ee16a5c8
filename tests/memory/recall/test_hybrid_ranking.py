"""The hybrid ranking's rules: what an index knows, and what a question makes of it."""

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.entities.aliases import Aliases, AliasLink
from mnemon.memory.ranking import RankedItem, standard_scores
from mnemon.memory.recall import scoring as earning
from mnemon.memory.recall.index import SearchIndex, build_index
from mnemon.memory.recall.index_entry import IndexEntry, entry_of_memory, entry_of_message
from mnemon.memory.recall.query import named_speakers, parse_query
from mnemon.memory.recall.scoring import TermPostings, score_rows, view_index
from mnemon.turn import Role

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def said(number: int, text: str, *, name: str | None = None, session: str = "s", role: Role = Role.USER) -> IndexEntry:
    at = NOW - timedelta(days=1) + timedelta(minutes=number)
    return entry_of_message(
        entry_id=f"msg_{number:03}",
        revision=number,
        place=0,
        session_id=session,
        role=role,
        name=name,
        content=text,
        at=at,
    )


def known(number: int, text: str, *, about: str | None = None) -> IndexEntry:
    return entry_of_memory(
        entry_id=f"mem_{number:03}",
        revision=number,
        kind="PEOPLE",
        content=text,
        entity_refs=(f"person:{about.lower()}",) if about else (),
        entity_label=about,
        pinned=False,
        importance=1,
        valid_from=NOW,
        created_at=NOW,
        updated_at=NOW,
    )


def asked(
    book: SearchIndex, text: str, vector: np.ndarray | None = None, aliases: Aliases | None = None
) -> list[RankedItem]:
    scored = score_rows([view_index(book)], parse_query(text), vector, aliases=aliases or Aliases(), now=NOW, limit=50)
    return [one for one, _ in scored.best]


def ids(ranked: list[RankedItem]) -> list[str]:
    return [one.id for one in ranked]


def test_an_answer_is_found_by_the_words_of_its_question() -> None:
    talk = [
        said(0, "Lovely weather today, is it not"),
        said(1, "What did you do at the violin recital?"),
        said(2, "I played the second part and it went rather well in the end, to be honest"),
        *(said(number, "Let us speak of something else entirely, shall we", session="t") for number in range(3, 9)),
    ]
    first, second, *_ = ids(asked(build_index([(one, None) for one in talk]), "violin recital"))
    assert {first, second} == {"msg_001", "msg_002"}


def test_who_is_asked_about_goes_first() -> None:
    book = build_index([(said(0, "I like the lake", name="Ann"), None), (said(1, "I like the lake", name="Bob"), None)])
    assert ids(asked(book, "What does Bob like?")) == ["msg_001", "msg_000"]
    assert ids(asked(book, "What does Ann like?")) == ["msg_000", "msg_001"]


def test_a_side_without_a_name_goes_by_what_the_other_calls_it() -> None:
    talk = [said(2 * n, "Hello Carla, nice lake", role=Role.ASSISTANT) for n in range(5)]
    talk += [said(2 * n + 1, "Hello, nice lake") for n in range(5)]
    best = asked(build_index([(one, None) for one in talk]), "What did Carla say of the lake?")[0]
    assert int(best.id[4:]) % 2 == 1


def test_without_a_name_in_the_query_the_persons_own_words_go_first() -> None:
    mine, other = said(0, "the lake is cold"), said(1, "the lake is cold", role=Role.ASSISTANT, session="t")
    assert ids(asked(build_index([(other, None), (mine, None)]), "cold lake"))[0] == "msg_000"


@pytest.mark.parametrize(
    ("query", "side"),
    [
        ("What did I say about the lake?", 1),
        ("do you remember my dentist's name", 1),
        ("What did you recommend for the trip?", 2),
        ("Can you remind me which wine you liked?", 2),
        ("What did you tell me about the lake?", 0),
        ("Could you tell me when Anna moved?", 0),
        ("Where is the lake?", 0),
    ],
)
def test_pronouns_tell_who_is_asked_about(query: str, side: int) -> None:
    assert parse_query(query).side == side


def test_you_and_i_are_the_two_sides_of_the_conversation() -> None:
    mine, other = said(0, "the lake is cold"), said(1, "the lake is cold", role=Role.ASSISTANT, session="t")
    book = build_index([(mine, None), (other, None)])
    assert ids(asked(book, "What did I say of the lake?"))[0] == "msg_000"
    assert ids(asked(book, "What did you say of the lake?"))[0] == "msg_001"


def test_a_memory_does_not_stand_back_behind_the_persons_own_words() -> None:
    books = [
        view_index(build_index([(known(0, "the lake is cold"), None)])),
        view_index(build_index([(said(1, "lake"), None)])),
    ]
    best = score_rows(books, parse_query("What is my lake like, cold?"), None, aliases=Aliases(), now=NOW, limit=2).best
    assert best[0][0].id == "mem_000"


@pytest.mark.parametrize(
    "content", ["Bob: I like the lake", "[8 May 2026, 13:56] Bob: I like the lake", "(Monday) Bob: I like it"]
)
def test_a_line_of_a_transcript_is_said_by_the_name_in_front(content: str) -> None:
    assert said(0, content).speaker == known(0, content).speaker == "bob"


def test_what_stands_in_brackets_before_a_name_is_not_lost() -> None:
    assert {"8", "may"} <= set(said(0, "[8 May] Bob: I like the lake").words)


def test_when_asks_for_what_tells_a_time() -> None:
    facts = [known(0, "Sam moved to Oslo"), known(1, "Sam moved to Oslo in 2019")]
    facts += [known(number, f"Ann likes tea number {number}") for number in range(2, 10)]
    book = build_index([(one, None) for one in facts])
    assert ids(asked(book, "When did Sam move to Oslo?"))[0] == "mem_001"


def test_an_entity_counts_under_every_name_it_has() -> None:
    book = build_index([(known(0, "likes tea", about="Bob"), None), (known(1, "likes tea", about="Ann"), None)])
    link = AliasLink(alias="person:robert", target="person:bob", asked_from="person:robert", merge_id="m")
    assert ids(asked(book, "Robert tea", aliases=Aliases.from_links([link])))[0] == "mem_000"
    assert ids(asked(book, "Ann tea"))[0] == "mem_001"


def test_a_name_is_heard_whole_or_in_part_and_not_inside_a_word() -> None:
    assert named_speakers(parse_query("What does Anna Maria think?"), ["anna maria", "ann", "maria lopez"]) == [
        "anna maria",
        "maria lopez",
    ]


texts = st.lists(
    st.sampled_from(["lake house", "Ann: violin lesson?", "tea in 2019", "", "a violin", "Bob"]), max_size=12
)


@given(texts, texts, st.integers(0, 1000))
def test_what_is_lent_to_a_book_and_taken_back_leaves_no_trace(kept: list[str], lent: list[str], seed: int) -> None:
    chance = random.Random(seed)
    made = [(said(n, text) if n % 2 else known(n, text), None) for n, text in enumerate(kept)]
    book = build_index(made)
    before = asked(book, "violin lake"), book.size, dict(book.heard)
    undone = []
    for number, text in enumerate(lent):
        place = chance.randrange(20)
        undone.append(book.put_entry(said(place, text) if place % 2 else known(place, text), None))
        if number % 3 == 2:
            undone.append(book.remove_entry(chance.choice(list(book.row_of))))
    for undo in reversed(undone):
        undo()
    after = asked(book, "violin lake"), book.size, {name: rows for name, rows in book.heard.items() if rows}
    assert after == before


@given(texts, st.integers(0, 1000))
def test_a_book_filled_at_once_ranks_like_one_filled_piece_by_piece(contents: list[str], seed: int) -> None:
    made = [(said(n, text) if n % 2 else known(n, text), None) for n, text in enumerate(contents)]
    pieces = SearchIndex()
    for entry, vector in random.Random(seed).sample(made, len(made)):
        pieces.put_entry(entry, vector)
    one, two = asked(build_index(made), "violin lake"), asked(pieces, "violin lake")
    assert [x.id for x in one] == [x.id for x in two]
    assert [x.score for x in one] == pytest.approx([x.score for x in two], abs=1e-6)


@given(st.lists(st.tuples(st.floats(-100, 100), st.booleans()), max_size=20))
def test_standardized_values_have_no_mean_and_unknown_ones_none(given_: list[tuple[float, bool]]) -> None:
    values, which = np.array([value for value, _ in given_]), np.array([one for _, one in given_], dtype=bool)
    made = standard_scores(values, which)
    assert not made[~which].any()
    assert abs(made.sum()) < 1e-6


@given(texts, st.integers(0, 1000))
def test_words_earn_the_same_counted_at_once_or_one_by_one(contents: list[str], seed: int) -> None:
    book = build_index([(said(n, text), None) for n, text in enumerate(contents)])
    chance = np.random.default_rng(seed)
    held = [
        TermPostings(
            rows.astype(np.int32), chance.integers(1, 4, len(rows)).astype(np.float32), np.float32(chance.random())
        )
        for rows in (np.flatnonzero(chance.random(len(contents)) < 0.5) + 1 for _ in range(3))
        if len(rows)
    ]
    dampings = chance.random(len(contents) + 1).astype(np.float32) + np.float32(0.1)
    around = book.neighbour_rows() or {step: np.zeros(len(dampings), dtype=np.int32) for step in (-1, 1)}
    one, two = earning._dense_scores(held, around, dampings), earning._scores_by_word(held, around, dampings)
    assert one == pytest.approx(two, abs=1e-5)
