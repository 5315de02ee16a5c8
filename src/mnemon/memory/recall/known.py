"""Things that were found lately, as they stood at a revision: most questions find what others have found."""

from mnemon.memory.recall.query import Thing

MOST = 2_000
FEW = 1_500
"""Memories up to which all of them are read with the first that are found."""
THING_BYTES = 2_000
"""About how much memory one takes."""


class Known:
    """The latest things found of one person. One that has changed since is not given."""

    def __init__(self) -> None:
        self._held: dict[str, Thing] = {}
        self.read_ahead = False
        """All of the person's memories were read: they are so few that the next questions will want them too."""

    def at(self, thing_id: str, revision: int) -> Thing | None:
        """The thing as its row stands at this revision."""
        thing = self._held.get(thing_id)
        return thing if thing is not None and thing.revision == revision else None

    def keep(self, thing: Thing) -> None:
        """It was read from a committed row."""
        self._held.pop(thing.id, None)
        self._held[thing.id] = thing
        if len(self._held) > MOST:
            del self._held[next(iter(self._held))]
