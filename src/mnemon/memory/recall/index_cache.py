"""A cache of search indexes for the people recalled recently, exact by revision and bounded in memory.

A read compares the person's revision in its own transaction with that of the index and applies what is newer. Rows
that the reading transaction wrote are applied for this one read and undone afterwards, since it may be rolled back.

Slow work runs in a thread and runs to its end even if the caller is cancelled: other callers wait for it too.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.recall import index_loader
from mnemon.memory.recall.index_loader import ChangedRows, IndexVersion, delta_of
from mnemon.memory.recall.person_index import PersonIndex, apply_delta, build_person_index, use_with_delta
from mnemon.scope import Scope

T = TypeVar("T")
CacheKey = tuple[str, str, str | None, str]
MEGABYTE = 1 << 20
ROWS_BUILT_INLINE = 100
"""About 2 ms of work; a thread would cost 80 µs more, plus the wait for it to be scheduled."""
ROWS_SCORED_INLINE = 16_000
"""About 3 ms of work."""
MAX_IDLE_S = 3_600.0
"""Unused indexes are dropped after this time, so that no data of a person stays in memory indefinitely."""


class IndexCache:
    """The indexes used last in one open database, as many as fit."""

    def __init__(
        self,
        *,
        megabytes: int = 512,
        building: Executor | None = None,
        scoring: Executor | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin an empty cache of search indexes, with a thread each for building and for scoring them."""
        self.megabytes = megabytes
        self._now = now
        # One thread each: Python runs one at a time anyway, and a search must not queue behind a long build.
        self._building = building or ThreadPoolExecutor(1, thread_name_prefix="index")
        self._scoring = scoring or ThreadPoolExecutor(1, thread_name_prefix="recall")
        self._held: OrderedDict[CacheKey, PersonIndex] = OrderedDict()
        self._sizes: dict[CacheKey, int] = {}
        """The bytes of each index when it was put into the cache."""
        self._used_at: dict[CacheKey, float] = {}
        self.bytes = 0
        """About how much memory the indexes take."""
        self._too_large: set[CacheKey] = set()
        self._loading: dict[CacheKey, asyncio.Task[None]] = {}
        self._making: dict[CacheKey, asyncio.Future[PersonIndex]] = {}

    def __len__(self) -> int:
        """Return how many people's indexes are cached."""
        return len(self._held)

    def close(self) -> None:
        """Cancel the loading of indexes and stop the cache's threads."""
        for task in self._loading.values():
            task.cancel()
        for executor in (self._building, self._scoring):
            executor.shutdown(wait=False, cancel_futures=True)

    def clear(self) -> None:
        """Drop all cached indexes."""
        self._held.clear()
        self._sizes.clear()
        self._used_at.clear()
        self._too_large.clear()
        self.bytes = 0

    def forget_person(self, scope: Scope) -> None:
        """Drop the person's cached indexes."""
        for key in [key for key in self._held if key[:2] == (scope.org_id, scope.user)]:
            self._drop_index(key)

    def has_person(self, scope: Scope, model: str) -> bool:
        """Say whether an index of the person is cached, however old."""
        return bool(self.megabytes) and _cache_key(scope, model) in self._held

    async def load_person(self, db: Database, scope: Scope, model: str) -> None:
        """Index the person's rows unless they are cached; concurrent callers wait for the same work."""
        key = _cache_key(scope, model)
        # A size of 0 turns the cache off; too large people are searched in SQL, as if it were off for them.
        if not self.megabytes or key in self._held or key in self._too_large:
            return
        if key not in self._loading:
            self._loading[key] = task = asyncio.create_task(self._load_person(db, scope, model))
            task.add_done_callback(lambda _: self._loading.pop(key, None))
        # A cancelled caller must not cancel the work that others wait for.
        await asyncio.shield(self._loading[key])

    async def read_if_current(
        self, scope: Scope, model: str, version: IndexVersion, use: Callable[[PersonIndex], T]
    ) -> T | None:
        """Call `use` with the person's cached index if that is current, and return its result; else None."""
        key = _cache_key(scope, model)
        index = self._get_up_to_date(key, version)
        return None if index is None else await self._use_index(index, use)

    async def read_fresh(self, tx: Tx, scope: Scope, model: str, use: Callable[[PersonIndex], T]) -> T | None:
        """Call `use` with the person's index as the transaction sees it and return its result; None if too large."""
        key = _cache_key(scope, model)
        while self.megabytes and key not in self._too_large:
            version = await index_loader.load_index_version(tx, scope)
            if (index := self._get_up_to_date(key, version)) is not None:
                return await self._use_index(index, use)
            held = self._get_valid(key, version)
            # -1 loads everything.
            since = -1 if held is None else held.version.revision
            rows, aliases = await tx.gather(
                index_loader.load_rows_since(tx, scope, model, since), load_aliases(tx, scope)
            )
            if self._get_valid(key, version) is not held or (held is not None and held.version.revision != since):
                # Another task updated the index while this one read the rows: start over.
                continue
            # The first revision this transaction wrote; None if it only reads.
            own = tx.revisions.get(scope.user)
            if rows.effort > ROWS_BUILT_INLINE or (own is None and held is not None and held.needs_rebuild):
                index = await self._build_person(key, held, rows, aliases, version, own)
            # A thread is reading this index: wait, then look again whether it is still behind.
            elif held is not None and held.is_being_read:
                await held.wait_until_unread()
            else:
                index = held or PersonIndex(version=replace(version, revision=-1))
                with self._change_in_place(key, index):
                    if own is not None:
                        return use_with_delta(index, delta_of(rows), aliases, version, own, use)
                    apply_delta(index, delta_of(rows), aliases, version)
            if index is not None:
                return await self._use_index(index, use)
        return None

    async def compute_off_loop(self, work: Callable[[], T], *, rows: int) -> T:
        """Return the result of work over rows that nobody changes, run in a thread if there are many."""
        return work() if rows <= ROWS_BUILT_INLINE else await self._run_in_thread(self._building, work, None)

    async def _load_person(self, db: Database, scope: Scope, model: str) -> None:
        """Read all rows of the person in a transaction of its own, and build and cache the index after it."""
        key = _cache_key(scope, model)
        async with db.tx(scope.org_id) as tx:
            version = await index_loader.load_index_version(tx, scope)
            rows, aliases = await tx.gather(index_loader.load_rows_since(tx, scope, model, -1), load_aliases(tx, scope))
        # The transaction has ended: building takes long and must not hold a connection.
        if key not in self._held:
            await self._build_person(key, None, rows, aliases, version, None)

    async def _build_person(
        self,
        key: CacheKey,
        held: PersonIndex | None,
        rows: ChangedRows,
        aliases: Aliases,
        version: IndexVersion,
        own: int | None,
    ) -> PersonIndex | None:
        """Return a new index of the person; None, after a wait, if another task was building it.

        An index with the transaction's own rows (`own`) is for that transaction only and is not cached.
        """
        work = partial(build_person_index, held, rows, aliases, version)
        if own is not None:
            return await asyncio.shield(self._run_in_thread(self._building, work, held))
        if key in self._making:
            await asyncio.wait((self._making[key],))
            return None
        if rows.effort + (0 if held is None else held.row_count) <= ROWS_BUILT_INLINE:
            index = work()
            self._keep_index(key, index)
            return index
        self._making[key] = making = self._run_in_thread(self._building, work, held)
        making.add_done_callback(partial(self._keep_built, key))
        return await asyncio.shield(making)

    def _keep_built(self, key: CacheKey, made: "asyncio.Future[PersonIndex]") -> None:
        """Cache the index that a thread has built, whether or not the caller still waits."""
        del self._making[key]
        if not made.cancelled() and made.exception() is None:
            self._keep_index(key, made.result())

    async def _use_index(self, index: PersonIndex, use: Callable[[PersonIndex], T]) -> T:
        """Return the result of `use` with the index, called in a thread if the index is large."""
        if index.row_count <= ROWS_SCORED_INLINE:
            return use(index)
        return await asyncio.shield(self._run_in_thread(self._scoring, partial(use, index), index))

    def _run_in_thread(
        self, executor: Executor, work: Callable[[], T], index: PersonIndex | None
    ) -> "asyncio.Future[T]":
        """Start the work in a thread and return its future; until it ends the index must not be changed.

        Await the result under `asyncio.shield`: if a cancelled caller cancelled the future, the index would look
        unread.
        """
        running = asyncio.get_running_loop().run_in_executor(executor, work)
        if index is not None:
            index.begin_reading()
            running.add_done_callback(lambda _: index.end_reading())
        return running

    @contextmanager
    def _change_in_place(self, key: CacheKey, index: PersonIndex) -> Iterator[None]:
        """Run the block that changes the index, then cache the index again; drop it if the block fails."""
        try:
            yield
        # Also on cancellation: a half-changed index must never be used again.
        except BaseException:
            self._drop_index(key)
            raise
        if index.version.revision >= 0:
            self._keep_index(key, index)

    def _get_up_to_date(self, key: CacheKey, version: IndexVersion) -> PersonIndex | None:
        """Return the person's cached index if it is complete up to this version, else None."""
        held = self._get_valid(key, version)
        if held is None or held.version.revision < version.revision:
            return None
        self._held.move_to_end(key)
        self._used_at[key] = self._now()
        return held

    def _get_valid(self, key: CacheKey, version: IndexVersion) -> PersonIndex | None:
        """Return the cached index if person and database are the same and nothing was forgotten since; else drop it."""
        held = self._held.get(key)
        # Anything but the revision differs: another database or person, or rows were forgotten, which no revision
        # shows.
        if held is not None and replace(held.version, revision=version.revision) != version:
            self._drop_index(key)
            return None
        return held

    def _keep_index(self, key: CacheKey, index: PersonIndex) -> None:
        """Cache a person's index, and drop the least recently used ones until all fit; remember one that never fits."""
        self._drop_index(key)
        size, room = index.bytes, self.megabytes * MEGABYTE
        if size > room:
            self._too_large.add(key)
            return
        now = self._now()
        self._held[key], self._sizes[key], self._used_at[key] = index, size, now
        self.bytes += size
        # The dict is in order of use, so the first is the least recently used.
        while self.bytes > room or now - self._used_at[next(iter(self._held))] > MAX_IDLE_S:
            self._drop_index(next(iter(self._held)))

    def _drop_index(self, key: CacheKey) -> None:
        """Remove an index from the cache, if it is there, and its size from the total."""
        if self._held.pop(key, None) is not None:
            self.bytes -= self._sizes.pop(key)
            del self._used_at[key]


def _cache_key(scope: Scope, model: str) -> CacheKey:
    """Return the key of a person's index: organization, person, persona and embedding model."""
    return scope.org_id, scope.user, scope.persona_id, model
