"""How many tokens a text takes, without any provider's tokenizer."""

import math

from mnemon.untrusted_text import reads_outside_text


@reads_outside_text
def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text takes: a quarter per character, and more for what is not ASCII.

    English prose has 4 to 4.5 characters a token, Chinese about one, so the estimate is slightly above what common
    tokenizers count.
    """
    # `surrogatepass`: a lone surrogate, which a model or client may send, must not raise here.
    extra_bytes = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return math.ceil(len(text) / 4 + extra_bytes / 3)
