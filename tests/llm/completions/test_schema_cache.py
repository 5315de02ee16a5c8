"""What is made of a schema is kept for that schema, under that name, and not for ever."""

from mnemon.llm.completions.request import SchemaCache
from mnemon.llm.protocol import Json


def test_the_same_schema_is_encoded_once_and_another_name_is_another_thing() -> None:
    asked: list[str] = []

    def encode(name: str, description: str, schema: Json) -> bytes:
        asked.append(name)
        return f"{name} {description} {len(schema)}".encode()

    once, schema, equal = SchemaCache(encode), {"a": 1}, {"a": 1}
    assert once("x", "d", schema) == once("x", "d", schema) == b"x d 1"
    assert asked == ["x"]
    assert once("x", "d", equal) == b"x d 1"
    assert once("y", "d", schema) == b"y d 1"
    assert once("y", "e", schema) == b"y e 1"
    assert asked == ["x", "x", "y", "y"]


def test_callers_who_bring_their_own_do_not_fill_the_memory() -> None:
    once = SchemaCache(lambda name, description, schema: str(schema["n"]).encode())
    assert [once("t", "", {"n": n}) for n in range(1000)] == [str(n).encode() for n in range(1000)]
    assert len(once._kept) <= 256
