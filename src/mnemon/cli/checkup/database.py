"""Check the database, embedded or by URL: programs, server, schema, privileges, isolation, work, organizations."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg

from mnemon.access.organizations import list_organizations
from mnemon.cli.checkup.check import Check, fail, fail_from_error, ok, warn
from mnemon.cli.checkup.ledger_file import check_ledger_file
from mnemon.clock import Clock, SystemClock
from mnemon.db.connect import check_server, describe_target, explain_error, open_connection
from mnemon.db.database import Database
from mnemon.db.embedded.creation import check_cluster
from mnemon.db.embedded.data_dir import ClusterPaths
from mnemon.db.embedded.programs import Binaries, choose_account, find_binaries
from mnemon.db.embedded.server import pid_in_file, read_postmaster, suspended_processes
from mnemon.db.migrate import applied_migrations, check_applied, check_role, shipped_migrations, unusable_tables
from mnemon.db.pending_restore import PENDING_DETAIL, is_pending
from mnemon.errors import Misconfigured, MnemonError
from mnemon.jobs import store as jobs
from mnemon.jobs.presence import OVERDUE_AFTER, SILENT_AFTER, judge_workers
from mnemon.scope import org_option
from mnemon.settings import Settings
from mnemon.vectors.active_model import assert_active


def check_programs(settings: Settings) -> tuple[Check, Binaries | None]:
    """Check that the PostgreSQL programs exist and run; return the check and the programs, or None if they do not."""
    try:
        found = find_binaries(settings.postgres_bin_dir)
    except MnemonError as error:
        return fail_from_error("programs", error), None
    return ok("programs", f"PostgreSQL {found.version} in {found.folder}."), found


def check_embedded_cluster(settings: Settings, binaries: Binaries) -> tuple[Check, bool]:
    """Check the embedded cluster without starting it; also say whether it can be connected to."""
    layout = ClusterPaths(data_dir=settings.data_dir.expanduser().resolve())
    if not layout.pgdata.exists():
        if layout.created_file.exists():
            return _lost_cluster_failure(layout), False
        return ok("cluster", "There is no embedded database yet; the first start creates it.", "mnemon serve"), False
    try:
        choose_account(layout.data_dir, layout.pgdata)
        check_cluster(layout, binaries)
    except MnemonError as error:
        return fail_from_error("cluster", error), False
    running = read_postmaster(layout.pgdata)
    if running is not None and (suspended := suspended_processes(running.pid)):
        pids = " ".join(map(str, suspended))
        words = f"Processes of the embedded PostgreSQL are suspended by a signal and do not respond: {pids}."
        return fail("cluster", words, f"kill -CONT {pids}"), running.pid not in suspended
    if running is not None:
        return ok("cluster", f"The embedded PostgreSQL runs (process {running.pid}, {running.status})."), True
    if pid_in_file(layout.pgdata) is not None:
        words = "The embedded PostgreSQL was killed. It recovers at the next start, and no committed data is lost."
        return ok("cluster", words), True
    return ok("cluster", "The embedded PostgreSQL is stopped and was shut down cleanly."), True


def _lost_cluster_failure(layout: ClusterPaths) -> Check:
    """Return the failed check for a cluster that was created and whose folder is gone."""
    return fail(
        "cluster",
        f"{layout.data_dir} had a database, and {layout.pgdata} is gone.",
        f"put it back (is a disk not mounted?), or: rm {layout.created_file}  # begins with an empty one",
    )


@asynccontextmanager
async def connect_or_explain(url: str, *, embedded: bool = False) -> AsyncIterator[psycopg.AsyncConnection | Check]:
    """Yield a connection, or the failed check that says why there is none."""
    try:
        connection = await open_connection(url)
    except psycopg.Error as error:
        yield fail("database", explain_error(error, url, embedded=embedded))
        return
    async with connection:
        yield connection


async def check_postgres(connection: psycopg.AsyncConnection, url: str) -> Check:
    """Check that server and pgvector are new enough and the database can be written to."""
    began = time.perf_counter()
    await connection.execute("SELECT 1")
    took = (time.perf_counter() - began) * 1000
    try:
        await check_server(connection)
    except MnemonError as error:
        return fail_from_error("database", error)
    if (refusal := await _check_writable(connection)) is not None:
        return refusal
    version = connection.info.server_version
    target = describe_target(url)
    place = target.place if target else "the URL"
    return ok("database", f"PostgreSQL {version // 10000}.{version % 10000} answers at {place} in {took:.1f} ms.")


async def _check_writable(connection: psycopg.AsyncConnection) -> Check | None:
    """Return a failed check for a database that is read-only, None for one that can be written to."""
    row = await (
        await connection.execute("SELECT current_setting('transaction_read_only') = 'on', pg_is_in_recovery()")
    ).fetchone()
    assert row is not None
    read_only, standby = row
    if not read_only:
        return None
    if standby:
        words = "The database is a standby and read-only: reads work, writes and jobs wait."
        return fail("database", words, "promote it, or point MNEMON_DATABASE_URL at the primary")
    words = "The database is read-only (default_transaction_read_only is on): reads work, writes and jobs wait."
    step = (
        "find where it is set: SELECT source, sourcefile FROM pg_settings WHERE name = 'default_transaction_read_only'"
    )
    return fail("database", words, step)


async def check_privileges(connection: psycopg.AsyncConnection) -> Check:
    """Check that the server's role may read and write every table."""
    lacking = await unusable_tables(connection)
    if lacking:
        words = f"The role mnemon_app may not read and write: {', '.join(lacking)}."
        return fail("privileges", words, "mnemon migrate  # grants them again, with the owner's URL")
    return ok("privileges", "The role mnemon_app may read and write every table.")


async def check_schema(connection: psycopg.AsyncConnection) -> tuple[Check, bool]:
    """Check that all migrations of this version are applied; also say whether the schema is complete."""
    done = await applied_migrations(connection)
    known = shipped_migrations()
    try:
        check_applied(known, done)
    except MnemonError as error:
        return fail_from_error("schema", error), False
    missing = [step for step in known if step.number not in done]
    if missing:
        words = f"{len(missing)} of {len(known)} migrations are still to be applied."
        return warn("schema", words, "mnemon migrate  # `mnemon serve` does it too"), False
    return ok("schema", f"All {len(known)} migrations are applied."), True


async def check_restore(connection: psycopg.AsyncConnection) -> Check | None:
    """Return the failure of a database whose restore was interrupted; None where no restore is unfinished."""
    if not await is_pending(connection):
        return None
    words = f"{PENDING_DETAIL} Until it has, revoked keys and forgotten data are back, and no command uses them."
    return fail("restore", words, "mnemon migrate  # `mnemon serve` does it too; or restore again with --force")


async def check_contents(
    url: str, clock: Clock, *, owns: bool, embedder: str | None, data_dir: Path, prepared: bool = True
) -> AsyncIterator[Check]:
    """Check isolation, work, organizations, vectors and the ledger's file of a database whose schema is complete."""
    db = Database(url, clock, pool_size=2, prepared=prepared, listen_url=url)
    await db.open()
    try:
        yield await _check_isolation(db)
        yield await _check_work(db)
        if owns:  # row-level security hides organizations from any other login
            yield await _check_organizations(db)
            if embedder is not None:
                yield await _check_vectors(db, embedder)
            if (behind := await check_ledger_file(db, data_dir)) is not None:
                yield behind
    except MnemonError as error:
        yield fail_from_error("database", error)
    finally:
        await db.close()


async def _check_isolation(db: Database) -> Check:
    """Check that the server's role is subject to row-level security, so that organizations stay apart."""
    try:
        async with db.tx(None) as tx:
            await check_role(tx)
    except MnemonError as error:
        return fail_from_error("isolation", error)
    return ok("isolation", "The server works as mnemon_app, and row-level security keeps organizations apart.")


async def _check_work(db: Database) -> Check:
    """Check for work that is parked, overdue or failing, by the rules of `/readyz`."""
    wall = SystemClock().now()  # workers report by the machine's time, whatever clock file is set
    async with db.tx(None) as tx:
        parked, (since, _), reported, failing = await tx.gather(
            jobs.parked_by_organization(tx),
            jobs.overdue_since(tx),
            jobs.list_workers(tx, since=wall - SILENT_AFTER),
            jobs.commonest_failure(tx),
        )
    if parked:
        number, org = sum(parked.values()), next(iter(parked))
        them = "it" if number == 1 else "them"
        words = f"{number} {_items_phrase(number)} parked: out of attempts, kept, and not run until you retry {them}."
        return warn(
            "work",
            words,
            f"mnemon jobs list --status parked{org_option(org)}  # then: mnemon jobs retry --parked{org_option(org)}",
        )
    if since is not None and tx.now - since > OVERDUE_AFTER:
        late = int((tx.now - since).total_seconds())
        verdict = judge_workers(reported, now=wall, overdue=tx.now - since)
        if not verdict.claiming:
            words = f"Work has been due for {late} s, and no worker takes it."
            return warn("work", words, "mnemon worker  # or restart the server without --no-worker")
        words = f"Work has been due for {late} s; the workers are busy with {verdict.busy} of {verdict.slots} slots."
        return warn("work", words, "mnemon worker  # one more, or a larger MNEMON_WORKER_CONCURRENCY")
    if failing is not None:
        number, kind, error = failing["number"], failing["kind"], failing["error"]
        words = f"{number} {_items_phrase(number)} being retried (kind {kind}); the last attempt failed with {error}"
        return warn("work", words, "mnemon jobs list  # fix the cause; the items are then retried by themselves")
    return ok("work", "Nothing is overdue, failing or parked.")


def _items_phrase(number: int) -> str:
    """Return "work item is" for one and "work items are" for any other number."""
    return "work item is" if number == 1 else "work items are"


async def _check_vectors(db: Database, embedder: str) -> Check:
    """Check that stored texts are embedded by this model, or are queued for it."""
    try:
        async with db.owner_tx() as tx:
            await assert_active(tx, embedder)
    except Misconfigured as error:
        return fail_from_error("vectors", error)
    return ok("vectors", f"Stored texts are embedded by {embedder}, or are queued for it.")


async def _check_organizations(db: Database) -> Check:
    """Check that there is an organization and that each has a key; warn about the first without one."""
    async with db.owner_tx() as tx:
        found = await list_organizations(tx)
    if not found:
        return ok("organizations", "There is none yet; the first start creates `local` and its key.", "mnemon serve")
    keyless = [one.name for one in found if not one.keys]
    if keyless:
        words = f"{keyless[0]} has no key."
        return warn("organizations", words, f"mnemon keys create --name laptop --org {keyless[0]}")
    keys = sum(one.keys for one in found)
    return ok("organizations", f"{len(found)} with {keys} {'key' if keys == 1 else 'keys'}.")
