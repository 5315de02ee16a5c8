"""What does not fit a shape, in words that whoever sent it can mend it by: a model, most of the time."""

from pydantic import ValidationError

_MOST = 5


def in_words(error: ValidationError) -> str:
    """Where it is wrong and how, the first few places."""
    return "; ".join(
        f"{'.'.join(str(part) for part in one['loc']) or 'it'}: {one['msg']}"
        for one in error.errors(include_url=False)[:_MOST]
    )
