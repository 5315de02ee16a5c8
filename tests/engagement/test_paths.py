"""Whatever models propose, in whatever order: the invariants of the document."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemon.engagement.delta import DELTA
from mnemon.engagement.document import DOCUMENT, Stage
from mnemon.engagement.fold import fold
from mnemon.engagement.lifecycle import confidence_of, outstanding
from mnemon.engagement.settle import mended
from support.engaged import START, Room, claim, piece

STATEMENTS = ("The gap is structural", "The gap is cultural", "The line was not briefed")
QUOTES = tuple(
    f"remark {word}"
    for word in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]
)
TEXT = ". ".join(QUOTES)

stances = st.sampled_from(["supports", "supports", "contradicts"])
strengths = st.sampled_from(["weak", "moderate", "strong"])
moves = st.one_of(
    st.tuples(st.just("form"), st.sampled_from(STATEMENTS), st.sampled_from(QUOTES), stances, strengths),
    st.tuples(st.just("evidence"), st.sampled_from(STATEMENTS), st.sampled_from(QUOTES), stances, strengths),
    st.tuples(st.just("resolve"), st.sampled_from(STATEMENTS), st.sampled_from(QUOTES), st.just("supports"), strengths),
    st.tuples(st.just("archive"), st.sampled_from(STATEMENTS)),
)
paths = st.lists(st.tuples(moves, st.sampled_from(["ann", "bob", "cyd"]), st.integers(0, 20)), max_size=25)


def play(path, check=lambda room: None):
    room = Room()
    for move, who, hour in path:
        room.say(TEXT, who=who, at=START + timedelta(hours=hour), **parts(room, move))
        check(room)
    return room


def parts(room, move):
    kind, statement = move[0], move[1]
    if kind == "archive":
        return {"archive": [{"hypothesis": statement, "note": "Given up."}]}
    made = piece(move[2], stance=move[3], strength=move[4])
    if kind == "form":
        return {"form": [claim(statement, made)]}
    if kind == "resolve" and room.document:
        open_ = [line.id for each in room.state.hypotheses for line in outstanding(each.evidence)]
        made = {**made, "resolves": open_}
    return {"evidence": [{**made, "hypothesis": statement}]}


def sound(document):
    for each in document.hypotheses:
        assert 0 < confidence_of(each) < 1
        if each.stage is Stage.FINDING:
            assert not outstanding(each.evidence)
            assert confidence_of(each) > 0.85
        if each.stage is Stage.ARCHIVED:
            assert each.note


@given(paths)
def test_no_path_reaches_a_finding_with_a_contradiction_outstanding(path):
    play(path, lambda room: sound(room.state))


@given(paths)
def test_the_document_is_the_fold_of_its_journal(path):
    room = play(path)
    assert fold(room.entries) == room.document
    stored = [DELTA.dump_json(entry.delta) for entry in room.entries]
    assert [DELTA.validate_json(delta) for delta in stored] == [entry.delta for entry in room.entries]
    if room.document is not None:
        assert DOCUMENT.validate_json(DOCUMENT.dump_json(room.document)) == room.document


@given(paths, st.integers(0, 20))
def test_no_moment_of_the_past_shows_such_a_finding_either(path, hour):
    room = play(path)
    document = fold(entry for entry in room.entries if entry.at <= START + timedelta(hours=hour))
    for each in document.findings if document else ():
        assert not outstanding(each.evidence)


@settings(max_examples=200)
@given(paths, st.sampled_from(["ann", "bob", "cyd"]))
def test_forgetting_a_person_leaves_nothing_of_theirs_and_no_finding_without_ground(path, who):
    room = play(path)
    left = [entry for entry in room.entries if entry.who != who]
    document = fold(left)
    if document is None:
        assert not left
        return
    seq = room.entries[-1].seq
    document = fold(mended(document, START + timedelta(days=9), seq), document)
    assert document is not None
    sound(document)
    assert all(line.who != who for each in document.hypotheses for line in each.evidence)


evidence_sets = st.lists(st.tuples(st.sampled_from(QUOTES), stances, strengths), unique_by=lambda e: e[0], max_size=12)


@given(evidence_sets, st.randoms())
def test_the_order_of_independent_evidence_does_not_matter(pieces, random):
    shuffled = list(pieces)
    random.shuffle(shuffled)
    ends = []
    for order in (pieces, shuffled):
        room = Room()
        room.say(TEXT, form=[claim(STATEMENTS[0])])
        for quote, stance, strength in order:
            room.say(TEXT, evidence=[piece(quote, stance=stance, strength=strength, hypothesis=STATEMENTS[0])])
        (end,) = room.state.hypotheses
        ends.append((confidence_of(end), len(outstanding(end.evidence)), end.stage))
    assert ends[0] == ends[1]
