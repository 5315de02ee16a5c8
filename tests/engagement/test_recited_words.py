from hypothesis import given
from hypothesis import strategies as st

from mnemon.engagement.reading import document_texts, find_recited_words
from support.engaged import Room, claim, piece

STATE = "The largest dollar lever is in Sales→Ops handoffs, not inside Manufacturing."


def test_eight_words_in_a_row_are_a_recital_whatever_the_punctuation() -> None:
    reply = "As you know, the largest dollar lever is in sales-ops handoffs; that much is clear."
    assert find_recited_words(reply, [STATE]) == "the largest dollar lever is in sales-ops"


def test_seven_words_are_none() -> None:
    assert find_recited_words("I think the largest dollar lever is in sales and marketing.", [STATE]) is None


def test_a_run_does_not_cross_two_sentences_of_the_state() -> None:
    assert (
        find_recited_words("one two three four five six seven eight", ["one two three four", "five six seven eight"])
        is None
    )


def test_every_text_of_the_state_counts() -> None:
    room = Room()
    room.say(
        "there is a gap",
        form=[claim("The gap costs us time", piece("there is a gap", line="There is a gap."), falsified_by="no gap")],
        unknowns=[{"question": "Who owns it?", "whyItMatters": "Decides the fix."}],
    )
    texts = list(document_texts(room.state))
    assert {"The gap costs us time", "no gap", "There is a gap.", "Who owns it?", "Decides the fix."} <= set(texts)


words = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]),
    max_size=30,
)


@given(words, words)
def test_flagged_exactly_when_a_run_of_eight_is_shared(state: list[str], reply: list[str]) -> None:
    runs = {tuple(state[i : i + 8]) for i in range(len(state) - 7)}
    shared = any(tuple(reply[i : i + 8]) in runs for i in range(len(reply) - 7))
    assert (find_recited_words(" ".join(reply), [" ".join(state)]) is not None) == shared
