"""What is made of a schema is made once: those of our own tools and questions are the same objects in every request."""

from collections.abc import Callable

from mnemon.llm.protocol import Json

_MOST = 256


class OncePerSchema:
    """Encodes a schema under a name, and keeps what came of it for the schemas that it saw last."""

    def __init__(self, encode: Callable[[str, str, Json], bytes]) -> None:
        self._encode = encode
        self._kept: dict[int, tuple[Json, str, str, bytes]] = {}
        """By the schema's identity; the schema is kept too, so that no other can take its place in memory."""

    def __call__(self, name: str, description: str, schema: Json) -> bytes:
        kept = self._kept.get(id(schema))
        if kept is not None and kept[1] == name and kept[2] == description:
            return kept[3]
        made = self._encode(name, description, schema)
        self._kept.pop(id(schema), None)
        if len(self._kept) >= _MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[id(schema)] = (schema, name, description, made)
        return made
