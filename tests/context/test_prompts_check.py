"""The check that runs on every prompt of the tests finds what it is for."""

from support.prompts import prompt_faults


def prompt(*lines: str) -> str:
    return "\n".join(("## Relevant memories", "<memory layer=L5>", *lines, "</memory>"))


def test_a_prompt_that_says_each_thing_once_passes() -> None:
    assert prompt_faults(prompt("- I live in Boston", "- [person:john]: John is vegan; John lives in Rome")) == []


def test_a_sentence_in_two_layers_is_found() -> None:
    card = "- [person:john]: John is vegan; John lives in Rome"
    for again in (
        "- John is vegan",
        "- user said at 2026-04-12T15:22:00.000Z: Hello. John is vegan.",
        "- Last session: Hello there.\n  What mattered: John is vegan.",
        "- People over time: Works a lot; John is vegan",
        "- Summary so far: Said: John is vegan.",
    ):
        assert prompt_faults(f"{prompt(card)}\n\n{prompt(again)}") == [
            "twice: John is vegan" + "." * again.endswith(".")
        ]


def test_two_homes_are_found_and_a_claim_is_none() -> None:
    home = "- I live in Boston"
    assert prompt_faults(prompt(home, "- Profile over time: Lives in Austin"))
    assert prompt_faults(prompt(home, "- user said at 2026-04-12T15:22:00.000Z: My city is Austin."))
    assert prompt_faults(prompt(home, "- Lives in Austin (external claim: document email)")) == []
    assert prompt_faults(prompt(home, "- John lives in Austin")) == []
