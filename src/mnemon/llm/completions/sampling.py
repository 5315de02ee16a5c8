"""Which of OpenAI's models take options about sampling: one that reasons answers 400 where they are given."""

OPTIONS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")

_TAKES = {
    # Reason only where they are asked to.
    "gpt-5.1-codex": False,
    "gpt-5.1-chat": False,
    "gpt-5.1": True,
    "gpt-5.2-chat": False,
    "gpt-5.2-pro": False,
    "gpt-5.2": True,
    "gpt-5.3-chat": False,
    "gpt-5.3": True,
    "gpt-5.4-pro": False,
    "gpt-5.4": True,
    # Does not reason.
    "gpt-5-chat": True,
    # All others of these families reason.
    "gpt-5": False,
    "gpt-6": False,
    "o1": False,
    "o3": False,
    "o4": False,
}
"""By how the name begins; the first that fits decides."""


def takes_sampling(model: str) -> bool:
    """Whether this model, named as OpenAI names it or as a gateway does, takes them; one nobody knows does."""
    name = model.removeprefix("openai/")
    return next((takes for begins, takes in _TAKES.items() if name.startswith(begins)), True)
