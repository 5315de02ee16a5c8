"""What calls cost in money, at the providers' list prices as they ship with us; no network is asked."""

from mnemon.llm.offline import NAME as OFFLINE
from mnemon.llm.protocol import Usage

PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "google": "google"}


def cost_usd(usage: Usage) -> float | None:
    """Dollars for these tokens; None when no price is known for the model, which a local one's never is."""
    if usage.model == OFFLINE:
        return 0.0
    provider, _, model = usage.model.partition(":")
    if provider not in PROVIDERS or not model:
        return None
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cached_tokens
    )
    try:
        return float(calc_price(tokens, model, provider_id=PROVIDERS[provider]).total_price)
    except LookupError:
        return None
