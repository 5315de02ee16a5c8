"""Batches of memories that collide: few people, several of them in each batch, in random order, under repeated keys."""

import random
import uuid

from support.soak.writing import Write

PEOPLE = 12
SIZE = 40
ATTRIBUTES = 60
ENTITIES = ("Ann", "Bob", "Cleo", "Anne", "Bobby")
"""Some alike, so that entities are compared and merged."""


def batch(_number: int) -> Write:
    """The next batch of whichever writer."""
    memories = [_memory() for _ in range(SIZE)]
    contents = tuple(str(one["content"]) for one in memories)
    return Write(route="/api/memories/batch", body=memories, contents=contents)


def _memory() -> dict[str, object]:
    about = random.choice((None, None, *ENTITIES))
    memory: dict[str, object] = {
        "userId": f"person-{random.randrange(PEOPLE)}",
        "type": "PEOPLE" if about else "PROFILE",
        "content": f"Note {uuid.uuid4().hex} about {about or 'the person'}",
    }
    if about:
        memory["entity"] = {"type": "person", "label": about}
    if random.random() < 0.7:  # most keys come again, and then a row of another batch is changed
        memory["attribute"] = f"aspect {random.randrange(ATTRIBUTES)}"
    if random.random() < 0.2:
        memory["personaId"] = f"persona-{random.randrange(3)}"
    return memory
