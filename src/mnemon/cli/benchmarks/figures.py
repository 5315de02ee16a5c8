"""One run of everything that was asked for."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mnemon.basement import Basement
from mnemon.cli.benchmarks import doors, peers, plain, speed
from mnemon.cli.benchmarks.locomo import Asked, Conversation, Quality, by_category
from mnemon.cli.benchmarks.speed import Speed, Timing, timing

Say = Callable[[str], None]
RANKINGS = ("similarity", "blended", "hybrid")


@dataclass(kw_only=True)
class Figures:
    """What was measured."""

    quality: dict[str, dict[str, Quality]] = field(default_factory=dict)
    """By way and category."""
    asking: dict[str, Timing] = field(default_factory=dict)
    """One answer to a LoCoMo question, embedding included; through HTTP for Mnemon, by a call for the others."""
    turns_per_s: float = 0.0
    memories_per_s: float = 0.0
    bytes_per_1000_turns: float = 0.0
    speeds: list[Speed] = field(default_factory=list)
    rows: int = 0
    """Memories in the database while speeds were taken."""
    peer_speeds: dict[str, dict[int, Timing]] = field(default_factory=dict)
    """By peer and number of texts."""
    peers: dict[str, str] = field(default_factory=dict)
    """Version of each, or why it did not run."""


async def measure_quality(basement: Basement, talks: Sequence[Conversation], figures: Figures, say: Say) -> None:
    """Every ranking through the doors, and the plain ways beside them."""
    asked: list[Asked] = []
    found: dict[str, list[list[str]]] = {}
    took: dict[str, list[float]] = {}
    turns, written, turns_s, written_s = 0, 0, 0.0, 0.0
    async with doors.answering(basement) as client:
        size = await _size(basement)
        for talk in talks:
            say(f"{talk.name}: {len(talk.lines)} turns in, {len(talk.questions)} questions")
            done = await doors.ingest(client, basement, talk)
            turns, turns_s = turns + done.turns, turns_s + done.turns_s
            written, written_s = written + done.memories, written_s + done.memories_s
            asked += talk.questions
            for ranking, kind in [(one, "messages") for one in RANKINGS] + [("hybrid", "memories")]:
                name = f"Mnemon {ranking}" + (", as memories" if kind == "memories" else "")
                for question in talk.questions:
                    ids, seconds = await doors.found(client, talk, question.text, ranking=ranking, kind=kind)
                    found.setdefault(name, []).append(ids)
                    took.setdefault(name, []).append(seconds)
            texts = [f"{line.speaker}: {line.text}" for line in talk.lines]
            ways = await plain.rankings(basement.embedder, texts, [one.text for one in talk.questions])
            for name, places in ways.items():
                found.setdefault(name, []).extend([talk.lines[one].id for one in some[:50]] for some in places)
        figures.bytes_per_1000_turns = 1000 * (await _size(basement) - size) / max(1, turns)
    figures.turns_per_s, figures.memories_per_s = turns / turns_s, written / written_s
    figures.quality |= {name: by_category(asked, ids) for name, ids in found.items()}
    figures.asking |= {name: timing(seconds) for name, seconds in took.items()}


async def measure_speed(basement: Basement, sizes: Sequence[int], rows: int, figures: Figures, say: Say) -> None:
    """Recall of people with so many memories, in a database of so many rows."""
    filler = max(0, rows - sum(sizes))
    for number in range(0, filler, 1000):
        if number % 20_000 == 0:
            say(f"{number:,} of {filler:,} memories of other people")
        await speed.fill(basement, doors.ORG, f"other-{number}", min(1000, filler - number), seed=number + 1)
    for size in sizes:
        say(f"a person with {size:,} memories")
        await speed.fill(basement, doors.ORG, f"person-{size}", size, seed=size)
        async with basement.db.owner_tx() as tx:
            await tx.run("analyze memories, embeddings")
        figures.speeds.append(await speed.measure(basement, doors.ORG, f"person-{size}", size))
    figures.rows = filler + sum(sizes)


async def measure_peers(
    basement: Basement, talks: Sequence[Conversation], sizes: Sequence[int], figures: Figures, say: Say
) -> None:
    """The peers on the same lines and on as many texts as Mnemon's people had."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> np.ndarray:
        return asyncio.run_coroutine_threadsafe(basement.embedder.embed(list(texts)), loop).result()

    for name in peers.PEERS:
        say(f"{name} …")
        await asyncio.to_thread(_peer, name, embed, basement.db.url, talks, sizes, figures)


def _peer(
    name: str, embed: peers.Embed, url: str, talks: Sequence[Conversation], sizes: Sequence[int], figures: Figures
) -> None:
    with peers.opened(name, embed, url) as (peer, known):
        figures.peers[name] = known
        if peer is None:
            return
        asked, found, took = [], [], []
        for talk in talks:
            texts = [f"{line.speaker}: {line.text}" for line in talk.lines]
            peer.add(talk.name, [line.id for line in talk.lines], texts)
            for question in talk.questions:
                began = time.perf_counter()
                found.append(peer.search(talk.name, question.text, doors.DEEPEST))
                took.append(time.perf_counter() - began)
                asked.append(question)
        if asked:
            figures.quality[name], figures.asking[name] = by_category(asked, found), timing(took)
        for size in sizes:
            texts = speed.sentences(size, seed=size)
            peer.add(f"person-{size}", [str(place) for place in range(size)], texts)
            figures.peer_speeds.setdefault(name, {})[size] = timing(_searches(peer, size))


def _searches(peer: peers.Peer, size: int) -> list[float]:
    took = []
    for text in speed.sentences(60, seed=-size):
        began = time.perf_counter()
        peer.search(f"person-{size}", text, 10)
        took.append(time.perf_counter() - began)
    return took


async def _size(basement: Basement) -> int:
    async with basement.db.owner_tx() as tx:
        return int((await tx.one("select pg_database_size(current_database()) as size"))["size"])
