"""Measure, in this order: Mnemon's quality, Mnemon's speed, and the peers on the same texts."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx2
import numpy as np
import psycopg

from bench.recall import doors, locomo, peers, seed, speed
from bench.recall.doors import WriteThroughput
from bench.recall.locomo import LocomoConversation, LocomoQuestion, RetrievalQuality, quality_by_category
from bench.recall.speed import RecallSpeed, Timing, timing_of
from mnemon.services import Services

ProgressPrinter = Callable[[str], None]
RANKINGS = ("similarity", "blended", "hybrid")
_QUERY_COUNT = 60
_ADD_BATCH = 250
_PEER_TEXT_TIME = datetime(2026, 1, 1, tzinfo=UTC)
"""The time given to made-up texts, for peers that want one."""
FILL_LIMIT_S = 300.0
"""How long filling a peer with one size of texts may take."""


@dataclass(kw_only=True)
class BenchmarkFigures:
    """All figures of a run; what was not measured stays empty."""

    quality: dict[str, dict[str, RetrievalQuality]] = field(default_factory=dict)
    """By method and category."""
    asking: dict[str, Timing] = field(default_factory=dict)
    """One answer to a LoCoMo question, embedding included; through HTTP for Mnemon, by a call for the others."""
    turns: WriteThroughput = field(default_factory=WriteThroughput)
    memories: WriteThroughput = field(default_factory=WriteThroughput)
    bytes_per_1000_turns: float = 0.0
    rows: int = 0
    """Memories in the database while speeds were taken."""
    filled: WriteThroughput = field(default_factory=WriteThroughput)
    """How fast they were written: by COPY, not through the API."""
    speeds: list[RecallSpeed] = field(default_factory=list)
    doors: dict[str, dict[int, Timing]] = field(default_factory=dict)
    """Requests over HTTP, embedding included, by path and number of memories."""
    peers: dict[str, str] = field(default_factory=dict)
    """Version of each peer, or why it did not run."""
    peer_speeds: dict[str, dict[int, Timing]] = field(default_factory=dict)
    """By peer and number of texts."""
    peer_written: dict[str, dict[int, WriteThroughput]] = field(default_factory=dict)


async def measure_quality(
    services: Services,
    client: httpx2.AsyncClient,
    conversations: Sequence[LocomoConversation],
    figures: BenchmarkFigures,
    say: ProgressPrinter,
) -> None:
    """Store the conversations as messages and as memories, then ask every question by each ranking and baseline."""
    before = await _database_size(services)
    for conversation in conversations:
        say(f"{conversation.name}: {len(conversation.lines)} lines as messages")
        figures.turns += await doors.post_turns(client, conversation)
    await doors.embed_pending(services)
    figures.bytes_per_1000_turns = 1000 * (await _database_size(services) - before) / max(1, figures.turns.number)
    for conversation in conversations:
        say(f"{conversation.name}: the same as memories")
        figures.memories += await doors.post_memories(client, conversation)
    await doors.embed_pending(services)
    asked: list[LocomoQuestion] = []
    found: dict[str, list[list[str]]] = {}
    took: dict[str, list[float]] = {}
    for conversation in conversations:
        say(f"{conversation.name}: {len(conversation.questions)} questions")
        asked += conversation.questions
        for ranking, kind in [(one, "messages") for one in RANKINGS] + [("hybrid", "memories")]:
            name = f"Mnemon {ranking}" + (", as memories" if kind == "memories" else "")
            for question in conversation.questions:
                ids, seconds = await doors.search_turns(client, conversation, question.text, ranking=ranking, kind=kind)
                found.setdefault(name, []).append(ids)
                took.setdefault(name, []).append(seconds)
        baselines = await locomo.baseline_rankings(
            services.embedder, _line_texts(conversation), [one.text for one in conversation.questions]
        )
        for name, places in baselines.items():
            best = ([conversation.lines[one].id for one in some[: doors.SEARCH_LIMIT]] for some in places)
            found.setdefault(name, []).extend(best)
    figures.quality |= {name: quality_by_category(asked, ids) for name, ids in found.items()}
    figures.asking |= {name: timing_of(seconds) for name, seconds in took.items()}


async def measure_speed(
    services: Services,
    client: httpx2.AsyncClient,
    sizes: Sequence[int],
    rows: int,
    figures: BenchmarkFigures,
    say: ProgressPrinter,
) -> None:
    """Measure recall for a person of each size, in a database of so many memories."""
    began = time.perf_counter()
    for size in sizes:
        say(f"a person with {size:,} memories")
        await seed.fill_person(services, doors.BENCH_ORG, f"person-{size}", size, seed=size)
    await _fill_others(services, max(0, rows - sum(sizes)), say)
    figures.rows = max(rows, sum(sizes))
    figures.filled = WriteThroughput(number=figures.rows, seconds=time.perf_counter() - began)
    for size in sizes:
        await doors.seed_context(client, f"person-{size}", services.clock.now())
    await doors.embed_pending(services)
    await seed.vacuum_tables(services.db.url)
    for size in sizes:
        say(f"recall among {size:,} memories")
        figures.speeds.append(await speed.measure_recall(services, doors.BENCH_ORG, f"person-{size}", size))
        texts = seed.random_sentences(_QUERY_COUNT, seed=-size - 2)
        bodies = [{"userId": f"person-{size}", "query": text} for text in texts]
        for path in ("/api/memories/search", "/api/context"):
            figures.doors.setdefault(path, {})[size] = timing_of(await doors.time_requests(client, path, bodies))


async def measure_peers(
    services: Services,
    database_url: str,
    conversations: Sequence[LocomoConversation],
    sizes: Sequence[int],
    figures: BenchmarkFigures,
    say: ProgressPrinter,
) -> None:
    """Measure each peer on the conversations and on texts of each size; one that fails is reported with its error."""
    loop = asyncio.get_running_loop()

    # Peers run in a thread and want a synchronous function; the embedder belongs to this event loop.
    def embed_texts(texts: Sequence[str]) -> np.ndarray:
        return asyncio.run_coroutine_threadsafe(services.embedder.embed(list(texts)), loop).result()

    for name in peers.PEERS:
        say(f"{name} …")
        work = asyncio.to_thread(_measure_peer, name, embed_texts, database_url, conversations, sizes, figures)
        # A peer may fail in any way; the others are still measured.
        failed = (await asyncio.gather(work, return_exceptions=True))[0]
        if failed is not None:
            figures.peers[name] = f"failed: {type(failed).__name__}: {failed}"
        say(f"{name}: {figures.peers[name]}")


def _measure_peer(
    name: str,
    embed: peers.EmbedTexts,
    url: str,
    conversations: Sequence[LocomoConversation],
    sizes: Sequence[int],
    figures: BenchmarkFigures,
) -> None:
    with peers.open_peer(name, embed, url) as (peer, known):
        figures.peers[name] = known
        if peer is None:
            return
        for conversation in conversations:
            lines = conversation.lines
            written = _add_texts(
                peer,
                conversation.name,
                [line.id for line in lines],
                _line_texts(conversation),
                [line.at for line in lines],
            )
            if written.number < len(lines):
                figures.peers[name] += f"; the conversations were not in after {FILL_LIMIT_S:.0f} s each"
                return
        _vacuum_tables(url)
        _measure_answers(name, peer, conversations, figures)
        for size in sizes:
            names = [str(place) for place in range(size)]
            written = _add_texts(
                peer, f"person-{size}", names, seed.random_sentences(size, seed=size), [_PEER_TEXT_TIME] * size
            )
            figures.peer_written.setdefault(name, {})[size] = written
            if written.number < size:
                figures.peers[name] += f"; of {size:,} texts {written.number:,} were in after {FILL_LIMIT_S:.0f} s"
                return
            _vacuum_tables(url)
            figures.peer_speeds.setdefault(name, {})[size] = timing_of(_time_searches(peer, size))


def _measure_answers(
    name: str, peer: peers.Peer, conversations: Sequence[LocomoConversation], figures: BenchmarkFigures
) -> None:
    asked, found, took = [], [], []
    for conversation in conversations:
        for question in conversation.questions:
            began = time.perf_counter()
            found.append(peer.search(conversation.name, question.text, doors.SEARCH_LIMIT))
            took.append(time.perf_counter() - began)
            asked.append(question)
    if asked:
        figures.quality[name], figures.asking[name] = quality_by_category(asked, found), timing_of(took)


def _add_texts(
    peer: peers.Peer, user: str, ids: Sequence[str], texts: Sequence[str], times: Sequence[datetime]
) -> WriteThroughput:
    """Add the texts in batches until the time limit; return how many were added."""
    began = time.perf_counter()
    for start in range(0, len(ids), _ADD_BATCH):
        if time.perf_counter() - began > FILL_LIMIT_S:
            return WriteThroughput(number=start, seconds=time.perf_counter() - began)
        some = slice(start, start + _ADD_BATCH)
        peer.add(user, ids[some], texts[some], times[some])
    return WriteThroughput(number=len(ids), seconds=time.perf_counter() - began)


def _time_searches(peer: peers.Peer, size: int) -> list[float]:
    took = []
    for place, text in enumerate(seed.random_sentences(_QUERY_COUNT + speed.WARM_UP_QUERIES, seed=-size)):
        began = time.perf_counter()
        peer.search(f"person-{size}", text, 10)
        if place >= speed.WARM_UP_QUERIES:
            took.append(time.perf_counter() - began)
    return took


def _vacuum_tables(url: str) -> None:
    """Vacuum and analyze the peers' tables, as Mnemon's are."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


async def _fill_others(services: Services, filler: int, say: ProgressPrinter) -> None:
    """Add so many memories of other people, a thousand each."""
    each = 1000
    names = [f"other-{number}" for number in range(filler // each)]
    if not names:
        return
    await seed.fill_person(services, doors.BENCH_ORG, names[0], each, seed=1)
    for start in range(1, len(names), seed.PEOPLE_BATCH):
        if start % 200 == 1:
            say(f"{start * each:,} of {filler:,} memories of other people")
        await seed.copy_to_others(services, doors.BENCH_ORG, names[start : start + seed.PEOPLE_BATCH], like=names[0])


def _line_texts(conversation: LocomoConversation) -> list[str]:
    return [f"{line.speaker}: {line.text}" for line in conversation.lines]


async def _database_size(services: Services) -> int:
    async with services.db.owner_tx() as tx:
        return int((await tx.fetch_one("select pg_database_size(current_database()) as size"))["size"])
