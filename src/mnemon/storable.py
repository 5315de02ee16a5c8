"""Text that a database can hold: no NUL, no half of a surrogate pair. What a model says is mended, what a caller sends
is refused."""

from typing import Any

from mnemon.outside import reads_outside_text


@reads_outside_text
def storable(text: str) -> str:
    """The text with NUL left out and lone surrogates replaced; nearly always the text itself."""
    if "\0" not in text and text.isascii():
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def storable_json(value: Any) -> Any:
    """The same for every text within a JSON value."""
    match value:
        case str():
            return storable(value)
        case list() | tuple():
            return [storable_json(item) for item in value]
        case dict():
            return {storable(str(name)): storable_json(item) for name, item in value.items()}
        case _:
            return value


@reads_outside_text
def as_sent(text: str) -> str:
    """The text, unless it has a character that no database text can hold; the error says which and what to do."""
    if "\0" in text:
        raise ValueError("has a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has half a surrogate pair; send valid Unicode") from None
    return text


def json_as_sent(value: Any) -> Any:
    """The JSON value, unless a text anywhere in it cannot be stored."""
    match value:
        case str():
            as_sent(value)
        case list():
            for item in value:
                json_as_sent(item)
        case dict():
            for name, item in value.items():
                as_sent(str(name))
                json_as_sent(item)
    return value
