"""Open the services for a command: find or start the database, check or migrate its schema, connect.

Also here: transactions as the tables' owner, which see every organization, and the checks that commands make first.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import structlog

from mnemon.access import store as access
from mnemon.access.local_operator import organization_not_found
from mnemon.access.organizations import check_organization_name
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import err
from mnemon.db.connect import explain_error, open_connection
from mnemon.db.database import Database
from mnemon.db.migrate import migrate_database, pending_migrations, unusable_tables
from mnemon.db.pending_restore import PENDING_DETAIL, PENDING_STEP, claim_pending, restore_is_pending
from mnemon.db.tx import Tx
from mnemon.errors import DatabaseDown, Misconfigured
from mnemon.logs import logs_are_json, use_stdlib_logs
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.settings import Settings
from mnemon.supervisor import supervise

log = structlog.get_logger(__name__)


@asynccontextmanager
async def ensure_database(settings: Settings, *, create: bool = False) -> AsyncIterator[str]:
    """Yield the URL of the configured database; start the embedded one and keep it running until the block ends.

    Without `create`, raises Misconfigured for a data directory without a database and leaves it as it is: a command
    in the wrong directory would otherwise answer from a new, empty database.
    """
    use_stdlib_logs()
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    from mnemon.db.embedded.cluster import ensure_running
    from mnemon.db.embedded.data_dir import has_database

    if not create and not has_database(settings.data_dir):
        folder = settings.data_dir.expanduser().absolute()
        raise Misconfigured(
            f"There is no Mnemon data in {folder}. Set MNEMON_DATA_DIR (or --data-dir, where the command has it) to the"
            " directory that holds it, or create it here with `mnemon serve`."
        )
    cluster = await ensure_running(settings.data_dir, bin_dir=settings.postgres_bin_dir, report=_print_status)
    try:
        async with supervise("embedded_database", cluster.watch_server):
            yield cluster.url
    finally:
        await cluster.stop()


def session_url(settings: Settings, url: str) -> str:
    """Return the owner's URL for pg_dump and psql, which need a session of their own.

    They change session settings, and a pooler in transaction mode would hand that session to other clients. Raises
    Misconfigured when only the URL of such a pooler is known.
    """
    if settings.migration_url is not None:
        return settings.migration_url.get_secret_value()
    if not settings.prepared_statements:
        raise Misconfigured(
            "MNEMON_PREPARED_STATEMENTS is off, as for a pooler in transaction mode, and a backup needs its own "
            "session. Set MNEMON_MIGRATION_URL to a URL of the tables' owner that goes past the pooler."
        )
    return url


@asynccontextmanager
async def open_services(settings: Settings, *, migrated: bool = False, create: bool = False) -> AsyncIterator[Services]:
    """Yield the services (database, models, clock) over a database with this version's schema.

    `migrated` applies pending migrations; without it, a database that lacks some is refused. `create` makes the
    embedded database where there is none.
    """
    from mnemon.app import check_models, make_clock, make_services

    # Check clock and models first: a setting that is wrong must not leave a database started or migrated.
    make_clock(settings)
    await check_models(settings)
    async with ensure_database(settings, create=create) as url:
        if migrated:
            await migrate_to_current(settings, url)
            print_finished_restore(await finish_restore(settings, url))
        else:
            await _refuse_old_schema(settings, url)
        async with make_services(settings, url) as services:
            yield services


@asynccontextmanager
async def open_services_at(settings: Settings, url: str) -> AsyncIterator[Services]:
    """Yield the services over a database that another Mnemon process runs; start nothing, and refuse an old schema."""
    from mnemon.app import make_services

    await _refuse_old_schema(settings, url)
    async with make_services(settings, url) as services:
        yield services


async def migrate_to_current(settings: Settings, url: str) -> int:
    """Apply pending migrations as the tables' owner; return how many were applied."""
    from mnemon.app import make_clock

    owner = _owner_url(settings, url)
    try:
        # With an owner of its own, the server's login is granted the role that row-level security binds.
        login = psycopg.conninfo.conninfo_to_dict(url).get("user") if settings.migration_url else None
        done = await migrate_database(owner, make_clock(settings).now(), login=str(login) if login else None)
    except psycopg.Error as error:
        raise DatabaseDown(explain_error(error, owner, embedded=settings.database_url is None)) from error
    return len(done)


def _owner_url(settings: Settings, url: str) -> str:
    """Return the URL of the tables' owner: MNEMON_MIGRATION_URL where that is set, else the server's own."""
    return settings.migration_url.get_secret_value() if settings.migration_url else url


async def finish_restore(settings: Settings, url: str) -> list[str]:
    """Apply the records of an unfinished restore to a migrated database; return what was done, in sentences.

    The table of it exists until all is applied, so this continues a restore that was killed at any moment.
    """
    from mnemon.app import make_services
    from mnemon.cli.survivors import apply_survivors

    owner = _owner_url(settings, url)
    try:
        # After the migrations: they wait for a load that is about to commit although its restore was killed.
        if not await restore_is_pending(owner):
            return []
        async with make_services(settings, url) as services, claim_pending(owner) as carried:
            if not carried:
                return []
            notes = await apply_survivors(services, carried)
            await _record_restore(services)
            return notes
    except psycopg.Error as error:
        raise DatabaseDown(explain_error(error, owner, embedded=settings.database_url is None)) from error


def print_finished_restore(notes: list[str]) -> None:
    """Say on stderr, or in the log where it is JSON, that an interrupted restore was finished; nothing without notes.

    The notes have the warnings that the restore itself would have printed.
    """
    if not notes:
        return
    if logs_are_json():
        step = "Read `said`: what may be back is named there, with the command that shows it."
        log.warning("interrupted_restore_finished", said=notes, next_step=step)
        return
    err.print("A restore had been interrupted; it is finished now.")
    for note in notes:
        err.print(note, markup=False, soft_wrap=True)


async def _record_restore(services: Services) -> None:
    """Append an entry to every organization's audit log that says a backup was restored."""
    from mnemon.access.audit import record_command
    from mnemon.access.organizations import list_organizations

    async with operator_tx(services) as tx:
        names = [organization.name for organization in await list_organizations(tx)]
    for name in names:
        async with services.db.tx(name) as tx:
            record_command(tx, Scope(org_id=name), "restore")


async def refuse_pending_restore(settings: Settings, url: str) -> None:
    """Raise Misconfigured if a restore of this database was interrupted: revoked keys would be valid in it."""
    try:
        if not await restore_is_pending(url):
            return
    except psycopg.Error as error:
        raise DatabaseDown(explain_error(error, url, embedded=settings.database_url is None)) from error
    raise Misconfigured(f"{PENDING_DETAIL} {PENDING_STEP}")


async def tables_without_rights(settings: Settings, url: str) -> list[str]:
    """Return the tables that the server's role lacks privileges on, looked up as their owner."""
    owner = _owner_url(settings, url)
    try:
        async with await open_connection(owner) as connection:
            return await unusable_tables(connection)
    except psycopg.Error as error:
        raise DatabaseDown(explain_error(error, owner, embedded=settings.database_url is None)) from error


async def _refuse_old_schema(settings: Settings, url: str) -> None:
    """Raise Misconfigured if migrations or the end of a restore are pending.

    Raises DatabaseDown if the database does not answer.
    """
    try:
        if not await pending_migrations(url):
            await refuse_pending_restore(settings, url)
            return
    except psycopg.Error as error:
        raise DatabaseDown(explain_error(error, url, embedded=settings.database_url is None)) from error
    raise Misconfigured("The database is not at this version. Run `mnemon migrate` or `mnemon serve` first.")


async def require_organization(services: Services, name: str) -> Scope:
    """Return the scope of the organization; raise NotFound when there is none of that name.

    Says that MNEMON_URL is not used where it is set, since whoever set it may expect another server's data.
    """
    if os.environ.get("MNEMON_URL"):
        err.print("[dim]MNEMON_URL is not used: this command works on the local database.[/]")
    scope = Scope(org_id=check_organization_name(name))
    async with services.db.tx(scope.org_id) as tx:
        if not await access.organization_exists(tx, scope):
            raise organization_not_found(name)
    return scope


def _print_status(message: str) -> None:
    """Report progress of the embedded database on stderr, as a log line where logs are JSON."""
    if logs_are_json():
        log.info("embedded_database", said=message)
    else:
        err.print(f"[dim]{safe_markup(message)}[/]")


@asynccontextmanager
async def operator_tx(services: Services) -> AsyncIterator[Tx]:
    """Open a transaction as the tables' owner, which sees every organization.

    The owner is the login of MNEMON_MIGRATION_URL where that is set, else the server's own login.
    """
    owner = services.settings.migration_url
    if owner is None:
        async with services.db.owner_tx() as tx:
            yield tx
        return
    url = owner.get_secret_value()
    prepared = services.settings.prepared_statements
    db = Database(url, services.clock, pool_size=1, prepared=prepared, listen_url=url)
    await db.open()
    try:
        async with db.owner_tx() as tx:
            yield tx
    finally:
        await db.close()


async def assert_embedder(services: Services) -> None:
    """Refuse to go on when stored vectors are of another embedder or dimension.

    Also enqueues the embedding of texts that a server of the old embedder wrote after `mnemon reembed` was done.
    """
    from mnemon.vectors.active_model import assert_active, assert_dimension, enqueue_unsettled, list_unsettled_orgs
    from mnemon.vectors.text_vectors import probe_dimension

    dimension = await probe_dimension(services.embedder)
    async with operator_tx(services) as tx:
        await assert_active(tx, services.embedder.model)
        if dimension:
            await assert_dimension(tx, services.embedder.model, dimension)
        waiting = await list_unsettled_orgs(tx, services.embedder.model)
    await enqueue_unsettled(services, waiting)
