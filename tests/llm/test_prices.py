"""List prices: known models cost something, the offline one nothing, an unknown one is not guessed."""

import pytest

from mnemon.llm.meter import cost_usd
from mnemon.llm.protocol import Usage


def test_a_known_model_costs_more_for_more() -> None:
    few = cost_usd(Usage(input_tokens=1000, output_tokens=100, model="openai:gpt-4o-mini"))
    many = cost_usd(Usage(input_tokens=2000, output_tokens=200, model="openai:gpt-4o-mini"))
    assert few is not None
    assert many == pytest.approx(2 * few)


def test_offline_is_free() -> None:
    assert cost_usd(Usage(input_tokens=10, model="offline")) == 0.0


@pytest.mark.parametrize("model", ["ollama:qwen3", "openai:no-such-model", "", "openai:"])
def test_a_price_nobody_knows_is_none(model: str) -> None:
    assert cost_usd(Usage(input_tokens=10, model=model)) is None
