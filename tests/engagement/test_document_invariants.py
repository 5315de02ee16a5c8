"""Whatever models propose, in whatever order: the invariants of the document."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import combinations
from random import Random
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemon.engagement.document import ENGAGEMENT_ADAPTER, Engagement, HypothesisStage
from mnemon.engagement.journal import DELTA_ADAPTER, EvidenceWithdrawn, fold_entries
from mnemon.engagement.lifecycle import are_independent, confidence_of, counting_support, outstanding_contradictions
from mnemon.engagement.promotion import reopening_entries
from mnemon.engagement.withdrawal import kept_entries, withdrawal_entries
from mnemon.evidence.confidence import Stance, Strength, compute_confidence
from mnemon.scope import person_scope
from support.engaged import START, Room, claim, piece, turn

STATEMENTS = ("The gap is structural", "The gap is cultural", "The gap is closing")
QUOTES = tuple(
    f"gap remark {word}"
    for word in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]
)
TEXT = ". ".join((*QUOTES, "gap remark nu"))

stances = st.sampled_from(["supports", "supports", "contradicts"])
strengths = st.sampled_from(["weak", "moderate", "strong", "strong"])
statements = st.sampled_from([STATEMENTS[0], STATEMENTS[0], STATEMENTS[0], *STATEMENTS[1:]])
moves = st.one_of(
    st.tuples(st.just("form"), statements, st.sampled_from(QUOTES), stances, strengths),
    st.tuples(st.just("evidence"), statements, st.sampled_from(QUOTES), stances, strengths),
    st.tuples(st.just("resolve"), statements, st.sampled_from(QUOTES), st.just("supports"), strengths),
    st.tuples(st.just("archive"), st.sampled_from(STATEMENTS[1:])),
)
people = st.sampled_from(["ann", "bob", "cyd"])
paths = st.tuples(
    st.just((("form", STATEMENTS[0], "gap remark nu", "supports", "weak"), "ann", 0)),
    st.lists(st.tuples(moves, people, st.integers(0, 20)), min_size=4, max_size=14),
).map(lambda parts: [parts[0], *parts[1]])
"""Ann forms a claim, and then anything happens, in any order of time."""

Move = tuple[str, ...]
Path = Sequence[tuple[Move, str, int]]


def play(path: Path, check: Callable[[Room], None] = lambda room: None) -> Room:
    room = Room()
    for move, who, hour in path:
        room.say(TEXT, who=who, at=START + timedelta(hours=hour), **parts(room, move))
        check(room)
    return room


def parts(room: Room, move: Move) -> dict[str, Any]:
    kind, statement = move[0], move[1]
    if kind == "archive":
        return {"archive": [{"hypothesis": statement, "note": "Given up."}]}
    made = piece(move[2], stance=move[3], strength=move[4])
    if kind == "form":
        return {"form": [claim(statement, made)]}
    if kind == "resolve" and room.document:
        open_ = [line.id for each in room.state.hypotheses for line in outstanding_contradictions(each.evidence)]
        made = {**made, "resolves": open_}
    return {"evidence": [{**made, "hypothesis": statement}]}


def sound(document: Engagement) -> None:
    for each in document.hypotheses:
        assert 0 < confidence_of(each) < 1
        if each.stage is HypothesisStage.FINDING:
            assert not outstanding_contradictions(each.evidence)
            assert confidence_of(each) > 0.85
            assert any(are_independent(one, other) for one, other in combinations(counting_support(each), 2))
        if each.stage is HypothesisStage.ARCHIVED:
            assert each.note


MANY = settings(max_examples=150, deadline=None)


@MANY
@given(paths)
def test_no_path_reaches_a_finding_with_a_contradiction_outstanding(path: Path) -> None:
    play(path, lambda room: sound(room.state))


@given(paths)
def test_the_document_is_the_fold_of_its_journal(path: Path) -> None:
    room = play(path)
    assert fold_entries(room.entries) == room.document
    stored = [DELTA_ADAPTER.dump_json(entry.delta) for entry in room.entries]
    assert [DELTA_ADAPTER.validate_json(delta) for delta in stored] == [entry.delta for entry in room.entries]
    if room.document is not None:
        assert ENGAGEMENT_ADAPTER.validate_json(ENGAGEMENT_ADAPTER.dump_json(room.document)) == room.document


@MANY
@given(paths, st.integers(0, 20))
def test_no_moment_of_the_past_shows_such_a_finding_either(path: Path, hour: int) -> None:
    room = play(path)
    document = fold_entries(entry for entry in room.entries if entry.at <= START + timedelta(hours=hour))
    for each in document.findings if document else ():
        assert not outstanding_contradictions(each.evidence)


@MANY
@given(paths, people)
def test_forgetting_a_person_leaves_nothing_of_theirs_and_no_finding_without_ground(path: Path, who: str) -> None:
    room = play(path)
    user = person_scope("acme", who).user
    others = [entry for entry in room.entries if entry.user_id != user]
    kept = kept_entries(room.entries, {entry.seq for entry in room.entries if entry.user_id == user})
    left = sorted([*others, *kept], key=lambda entry: entry.seq)
    document = fold_entries(left)
    if document is None:
        assert not left
        return
    told = withdrawal_entries(room.document, document, START + timedelta(days=9), room.entries[-1].seq, "a person")
    changed = {entry.delta.hypothesis for entry in told if isinstance(entry.delta, EvidenceWithdrawn)}
    told += reopening_entries(document, START + timedelta(days=9), told[-1].seq if told else 0, changed)
    document = fold_entries(told, document)
    assert document is not None
    sound(document)
    assert all(line.who != who for each in document.hypotheses for line in each.evidence)
    assert who not in {entry.who for entry in (*left, *told)}
    supported = {line.id for each in room.state.hypotheses for line in each.evidence if line.who != who}
    assert supported == {line.id for each in document.hypotheses for line in each.evidence} | {
        line.id
        for each in room.state.hypotheses
        if document.find_hypothesis(each.id) is None
        for line in each.evidence
        if line.who != who and line.stance == "contradicts"
    }


def test_a_promotion_is_never_dated_before_the_evidence_it_rests_on() -> None:
    """A late turn completes the claim: on the day of that turn it was no finding yet."""
    room = Room()
    room.say(TEXT, at=START, form=[claim(STATEMENTS[0], piece(QUOTES[0], strength="weak"))])
    against = piece(QUOTES[1], stance="contradicts", strength="weak", hypothesis=STATEMENTS[0])
    room.say(TEXT, at=START + timedelta(hours=5), evidence=[against])
    contradiction = room.state.hypotheses[0].evidence[-1].id
    settling = piece(QUOTES[2], strength="strong", hypothesis=STATEMENTS[0], resolves=[contradiction])
    room.say(TEXT, at=START + timedelta(hours=6), evidence=[settling])
    late = piece(QUOTES[3], hypothesis=STATEMENTS[0], strength="strong")
    room.say(TEXT, who="tom", at=START + timedelta(hours=1), evidence=[late])
    assert room.state.findings[0].promoted_at == START + timedelta(hours=6)
    past = fold_entries(entry for entry in room.entries if entry.at <= START + timedelta(hours=5))
    assert past is not None
    assert past.findings == ()


evidence_sets = st.lists(st.tuples(st.sampled_from(QUOTES), stances, strengths), unique_by=lambda e: e[0], max_size=12)


@given(evidence_sets, st.randoms())
def test_the_order_of_independent_evidence_does_not_matter(pieces: list[tuple[str, str, str]], random: Random) -> None:
    shuffled = list(pieces)
    random.shuffle(shuffled)
    ends = []
    for order in (pieces, shuffled):
        room = Room()
        room.say(TEXT, form=[claim(STATEMENTS[0], piece("gap remark nu"))])
        for quote, stance, strength in order:
            # Each at its own hour and by its own person, whatever the order in which they are reflected.
            place = QUOTES.index(quote)
            said: dict[str, Any] = {"who": ("ann", "bob", "cyd")[place % 3], "at": START + timedelta(hours=place)}
            room.say(TEXT, **said, evidence=[piece(quote, stance=stance, strength=strength, hypothesis=STATEMENTS[0])])
        (end,) = room.state.hypotheses
        ends.append((confidence_of(end), len(outstanding_contradictions(end.evidence)), end.stage))
    assert ends[0] == ends[1]


SAID = (
    "Approvals take nine days. Diane told me approvals take nine days, and Tom says the log shows nine days too. "
    "I am sure, really sure, very sure that approvals are slow. The memo says approvals are slow."
)
WORDS = SAID.split()
names = st.sampled_from(
    ["dana", "Dana (user)", "user", "the user", "", "Diane", "Diane Ortiz", "Tom", "memo", "the CFO"]
)
spans = st.tuples(st.integers(0, len(WORDS) - 1), st.integers(1, 12)).map(
    lambda span: " ".join(WORDS[span[0] : span[0] + span[1]]).strip(".,")
)
claims = st.sampled_from(["Approvals are slow", "Approvals take nine days", "The log is slow", "Approvals are fraud"])
told = st.builds(
    lambda quote, line, source, stance, strength, target: {
        **piece(quote, stance=stance, strength=strength),
        "line": line or f"Said: {quote}",
        "source": source,
        "hypothesis": target,
    },
    spans,
    st.one_of(st.just(""), st.just(""), spans),
    names,
    stances,
    strengths,
    claims,
)
formed = st.builds(lambda says, held: claim(says, *held), claims, st.lists(told, max_size=6))
answers = st.fixed_dictionaries(
    {
        "form": st.lists(
            st.builds(lambda says, held: claim(says, *held), claims, st.lists(told, max_size=6)), max_size=3
        ),
        "evidence": st.lists(told, max_size=8),
    }
)


SOME = settings(max_examples=60, deadline=None)


THREE_NAMES = claim(
    "Approvals take nine days",
    piece("Approvals take nine days", strength="strong"),
    piece("approvals take nine days", strength="strong", source="Diane"),
    piece("the log shows nine days too", strength="strong", source="Tom"),
)


@SOME
@example([{"form": [THREE_NAMES]}])
@given(st.lists(answers, min_size=1, max_size=4))
def test_no_answers_promote_a_claim_whose_evidence_comes_from_one_source_in_one_turn(given_: list[Any]) -> None:
    """However often one person's turn is reflected: a strong piece for each whom they cite, and no finding."""
    room = Room()
    said = turn(SAID)
    for each in given_:
        room.take(said, **each)
    assert room.state.findings == ()
    for held in room.state.hypotheses:
        cited = {line.identity for line in held.evidence}
        assert cited <= {"dana", "diane", "tom"}
        assert confidence_of(held) <= compute_confidence([(Stance.SUPPORTS, Strength.STRONG)] * len(cited))


@SOME
@given(st.lists(answers, min_size=1, max_size=4))
def test_nor_do_many_turns_of_one_person_on_one_day(given_: list[Any]) -> None:
    room = Room()
    for place, each in enumerate(given_):
        room.say(SAID, at=START + timedelta(minutes=place), **each)
    assert room.state.findings == ()
