"""Text from models and programs, made fit for a database: no NUL, no half of a surrogate pair."""

from typing import Any


def storable(value: Any) -> Any:
    """The JSON value with every text in it made fit; what already fits is unchanged."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {storable(str(name)): storable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable(inner) for inner in value]
    return value
