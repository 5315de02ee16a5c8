"""What a model says, without what no database takes: NUL and halves of surrogate pairs."""

from typing import Any


def storable(text: str) -> str:
    """The text with NUL left out and lone surrogates replaced; nearly always the text itself."""
    if "\x00" not in text and text.isascii():
        return text
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def storable_json(value: Any) -> Any:
    """The same for every text within a JSON value."""
    match value:
        case str():
            return storable(value)
        case list():
            return [storable_json(item) for item in value]
        case dict():
            return {storable(name): storable_json(item) for name, item in value.items()}
        case _:
            return value
