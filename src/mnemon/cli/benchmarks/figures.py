"""What one run measures, and in which order: Mnemon's quality, then its speed, then the peers on the same texts."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx2
import numpy as np
import psycopg

from mnemon.basement import Basement
from mnemon.cli.benchmarks import doors, peers, plain, seed, speed
from mnemon.cli.benchmarks.doors import Written
from mnemon.cli.benchmarks.locomo import Asked, Conversation, Quality, by_category
from mnemon.cli.benchmarks.speed import Speed, Timing, timing

Say = Callable[[str], None]
RANKINGS = ("similarity", "blended", "hybrid")
_QUERIES = 60
_ADDED_AT_ONCE = 250
_THEN = datetime(2026, 1, 1, tzinfo=UTC)
"""When the peers' texts without a time were said."""
PATIENCE_S = 300.0
"""How long a peer may take to be filled with one size of texts."""


@dataclass(kw_only=True)
class Figures:
    """What was measured."""

    quality: dict[str, dict[str, Quality]] = field(default_factory=dict)
    """By way and category."""
    asking: dict[str, Timing] = field(default_factory=dict)
    """One answer to a LoCoMo question, embedding included; through HTTP for Mnemon, by a call for the others."""
    turns: Written = field(default_factory=Written)
    memories: Written = field(default_factory=Written)
    bytes_per_1000_turns: float = 0.0
    rows: int = 0
    """Memories in the database while speeds were taken."""
    filled: Written = field(default_factory=Written)
    """How they came in: copied, not through the doors."""
    speeds: list[Speed] = field(default_factory=list)
    doors: dict[str, dict[int, Timing]] = field(default_factory=dict)
    """The same through HTTP, with the embedding, by path and number of memories."""
    peers: dict[str, str] = field(default_factory=dict)
    """Version of each, or why it did not run."""
    peer_speeds: dict[str, dict[int, Timing]] = field(default_factory=dict)
    """By peer and number of texts."""
    peer_written: dict[str, dict[int, Written]] = field(default_factory=dict)


async def measure_quality(
    basement: Basement, client: httpx2.AsyncClient, talks: Sequence[Conversation], figures: Figures, say: Say
) -> None:
    """Conversations in as messages and as memories, then every ranking through the doors and the plain ways beside."""
    before = await _size(basement)
    for talk in talks:
        say(f"{talk.name}: {len(talk.lines)} lines as messages")
        figures.turns += await doors.tell(client, talk)
    await doors.embedded(basement)
    figures.bytes_per_1000_turns = 1000 * (await _size(basement) - before) / max(1, figures.turns.number)
    for talk in talks:
        say(f"{talk.name}: the same as memories")
        figures.memories += await doors.remember(client, talk)
    await doors.embedded(basement)
    asked: list[Asked] = []
    found: dict[str, list[list[str]]] = {}
    took: dict[str, list[float]] = {}
    for talk in talks:
        say(f"{talk.name}: {len(talk.questions)} questions")
        asked += talk.questions
        for ranking, kind in [(one, "messages") for one in RANKINGS] + [("hybrid", "memories")]:
            name = f"Mnemon {ranking}" + (", as memories" if kind == "memories" else "")
            for question in talk.questions:
                ids, seconds = await doors.found(client, talk, question.text, ranking=ranking, kind=kind)
                found.setdefault(name, []).append(ids)
                took.setdefault(name, []).append(seconds)
        ways = await plain.rankings(basement.embedder, _texts(talk), [one.text for one in talk.questions])
        for name, places in ways.items():
            best = ([talk.lines[one].id for one in some[: doors.DEEPEST]] for some in places)
            found.setdefault(name, []).extend(best)
    figures.quality |= {name: by_category(asked, ids) for name, ids in found.items()}
    figures.asking |= {name: timing(seconds) for name, seconds in took.items()}


async def measure_speed(
    basement: Basement, client: httpx2.AsyncClient, sizes: Sequence[int], rows: int, figures: Figures, say: Say
) -> None:
    """Recall of people with so many memories, in a database of so many rows."""
    began = time.perf_counter()
    for size in sizes:
        say(f"a person with {size:,} memories")
        await seed.fill(basement, doors.ORG, f"person-{size}", size, seed=size)
    await _fill_others(basement, max(0, rows - sum(sizes)), say)
    figures.rows = max(rows, sum(sizes))
    figures.filled = Written(number=figures.rows, seconds=time.perf_counter() - began)
    for size in sizes:
        await doors.live(client, f"person-{size}", basement.clock.now())
    await doors.embedded(basement)
    await seed.settle(basement.db.url)
    for size in sizes:
        say(f"recall among {size:,} memories")
        figures.speeds.append(await speed.measure(basement, doors.ORG, f"person-{size}", size))
        texts = seed.sentences(_QUERIES, seed=-size - 2)
        bodies = [{"userId": f"person-{size}", "query": text} for text in texts]
        for path in ("/api/memories/search", "/api/context"):
            figures.doors.setdefault(path, {})[size] = timing(await doors.asked(client, path, bodies))


async def measure_peers(
    basement: Basement,
    database_url: str,
    talks: Sequence[Conversation],
    sizes: Sequence[int],
    figures: Figures,
    say: Say,
) -> None:
    """The peers on the same lines and on as many texts as Mnemon's people had; one that fails is told as such."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> np.ndarray:
        return asyncio.run_coroutine_threadsafe(basement.embedder.embed(list(texts)), loop).result()

    for name in peers.PEERS:
        say(f"{name} …")
        work = asyncio.to_thread(_peer, name, embed, database_url, talks, sizes, figures)
        failed = (await asyncio.gather(work, return_exceptions=True))[0]
        if failed is not None:
            figures.peers[name] = f"failed: {type(failed).__name__}: {failed}"
        say(f"{name}: {figures.peers[name]}")


def _peer(
    name: str, embed: peers.Embed, url: str, talks: Sequence[Conversation], sizes: Sequence[int], figures: Figures
) -> None:
    with peers.opened(name, embed, url) as (peer, known):
        figures.peers[name] = known
        if peer is None:
            return
        for talk in talks:
            lines = talk.lines
            written = _added(peer, talk.name, [line.id for line in lines], _texts(talk), [line.at for line in lines])
            if written.number < len(lines):
                figures.peers[name] += f"; the conversations were not in after {PATIENCE_S:.0f} s each"
                return
        _settle(url)
        _ask(name, peer, talks, figures)
        for size in sizes:
            names = [str(place) for place in range(size)]
            written = _added(peer, f"person-{size}", names, seed.sentences(size, seed=size), [_THEN] * size)
            figures.peer_written.setdefault(name, {})[size] = written
            if written.number < size:
                figures.peers[name] += f"; of {size:,} texts {written.number:,} were in after {PATIENCE_S:.0f} s"
                return
            _settle(url)
            figures.peer_speeds.setdefault(name, {})[size] = timing(_searches(peer, size))


def _ask(name: str, peer: peers.Peer, talks: Sequence[Conversation], figures: Figures) -> None:
    asked, found, took = [], [], []
    for talk in talks:
        for question in talk.questions:
            began = time.perf_counter()
            found.append(peer.search(talk.name, question.text, doors.DEEPEST))
            took.append(time.perf_counter() - began)
            asked.append(question)
    if asked:
        figures.quality[name], figures.asking[name] = by_category(asked, found), timing(took)


def _added(peer: peers.Peer, user: str, ids: Sequence[str], texts: Sequence[str], times: Sequence[datetime]) -> Written:
    """The texts are in, or as many as fit into the time there is."""
    began = time.perf_counter()
    for start in range(0, len(ids), _ADDED_AT_ONCE):
        if time.perf_counter() - began > PATIENCE_S:
            return Written(number=start, seconds=time.perf_counter() - began)
        some = slice(start, start + _ADDED_AT_ONCE)
        peer.add(user, ids[some], texts[some], times[some])
    return Written(number=len(ids), seconds=time.perf_counter() - began)


def _searches(peer: peers.Peer, size: int) -> list[float]:
    took = []
    for place, text in enumerate(seed.sentences(_QUERIES + speed.WARM_UP, seed=-size)):
        began = time.perf_counter()
        peer.search(f"person-{size}", text, 10)
        if place >= speed.WARM_UP:
            took.append(time.perf_counter() - began)
    return took


def _settle(url: str) -> None:
    """The peers' tables are vacuumed and analyzed, as Mnemon's are."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


async def _fill_others(basement: Basement, filler: int, say: Say) -> None:
    """So many memories of other people, a thousand each."""
    each = 1000
    names = [f"other-{number}" for number in range(filler // each)]
    if not names:
        return
    await seed.fill(basement, doors.ORG, names[0], each, seed=1)
    for start in range(1, len(names), seed.OTHERS_AT_ONCE):
        if start % 200 == 1:
            say(f"{start * each:,} of {filler:,} memories of other people")
        await seed.fill_others(basement, doors.ORG, names[start : start + seed.OTHERS_AT_ONCE], like=names[0])


def _texts(talk: Conversation) -> list[str]:
    return [f"{line.speaker}: {line.text}" for line in talk.lines]


async def _size(basement: Basement) -> int:
    async with basement.db.owner_tx() as tx:
        return int((await tx.one("select pg_database_size(current_database()) as size"))["size"])
