"""The reply without a model: recalled lines, and no claim without what it contradicts."""

from mnemon.chat.offline_reply import reply_by_rule
from mnemon.layer import Layer, LayerItem


def told(*items: LayerItem) -> list[str]:
    layers = [Layer(name="L5", title="Relevant", items=items)]
    return [line.removeprefix("- ") for line in reply_by_rule("What is my bank account?", layers).splitlines()[1:]]


def fact(number: int, text: str = "Bank account") -> LayerItem:
    return LayerItem(text=f"{text} {number}", sources=(f"mem_{number}",))


def claim(number: int) -> LayerItem:
    return LayerItem(text=f"Bank account claimed {number}", sources=(f"claim_{number}",), needs=f"mem_{number}")


def test_a_claim_has_only_a_place_that_facts_leave() -> None:
    pairs = [item for number in range(4) for item in (fact(number), claim(number))]
    assert told(*pairs) == ["Bank account 0", "Bank account claimed 0", *(f"Bank account {n}" for n in (1, 2, 3))]
    five = [item for number in range(6) for item in (fact(number), claim(number))]
    assert told(*five) == [f"Bank account {number}" for number in range(5)]


def test_a_claim_about_a_fact_that_is_not_told_is_not_told() -> None:
    assert told(fact(1, "Pays in"), claim(1), fact(2)) == ["Bank account 2"]


def test_a_line_that_stands_in_two_layers_is_told_once() -> None:
    assert told(fact(1), fact(2), fact(1), claim(1)) == ["Bank account 1", "Bank account 2", "Bank account claimed 1"]


def found(layer: str, *texts: str) -> Layer:
    return Layer(name=layer, title=layer, items=tuple(LayerItem(text=text, sources=(text,)) for text in texts))


def test_what_recall_found_comes_before_what_is_always_kept() -> None:
    layers = [found("L4", "Keeps a bank account in Rome"), found("L5", "Bank account 2", "Bank account 1")]
    lines = reply_by_rule("What is my bank account?", layers).splitlines()[1:]
    assert lines == ["- Bank account 2", "- Bank account 1", "- Keeps a bank account in Rome"]


def test_another_form_of_a_word_is_the_same_word() -> None:
    assert "I lived in Rome" in reply_by_rule("Where was she living?", [found("L5", "I lived in Rome")])


def test_a_question_in_other_words_gets_the_best_that_was_found() -> None:
    reply = reply_by_rule("What could harm her?", [found("L5", *(f"Fact {n}" for n in range(9)))])
    assert reply.splitlines()[1:] == ["- Fact 0", "- Fact 1", "- Fact 2"]
    assert "nothing is remembered" not in reply


def test_what_was_said_earlier_in_the_session_is_told_unless_a_memory_tells_it() -> None:
    said = ["My boat is called Nora.", "What is my boat called?"]
    assert "you said: My boat is called Nora." in reply_by_rule("Which boat do I have?", [], said)
    told = reply_by_rule("Which boat do I have?", [found("L5", "My boat is called Nora")], said)
    assert "you said" not in told


def test_todos_and_summaries_answer_what_no_memory_does() -> None:
    reply = reply_by_rule("What about the report?", [found("L6", "Open commitment: Send the report")])
    assert "Send the report" in reply


def test_absence_is_claimed_only_of_a_question_and_only_if_nothing_was_found() -> None:
    assert "nothing is remembered about that" in reply_by_rule("Where do I live?", [])
    assert "nothing is remembered" not in reply_by_rule("I live in Rome.", [found("L5", "Has a dog")])
    assert "nothing is remembered" not in reply_by_rule("I live in Rome.", [])
