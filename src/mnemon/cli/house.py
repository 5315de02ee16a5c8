"""Opens the house for a command: finds or starts the database, migrates it where asked, gives the basement."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import structlog

from mnemon.access import store as access
from mnemon.access.organizations import check_name
from mnemon.basement import Basement
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import err
from mnemon.db.connecting import connect
from mnemon.db.explain import explain
from mnemon.db.migrate import migrate, pending
from mnemon.db.role import unusable_tables
from mnemon.errors import DatabaseDown, Misconfigured, NotFound
from mnemon.logs import default_logs, logs_are_json
from mnemon.scope import Scope
from mnemon.settings import Settings
from mnemon.supervisor import supervise

log = structlog.get_logger(__name__)


@asynccontextmanager
async def database_url(settings: Settings, *, create: bool = False) -> AsyncIterator[str]:
    """The URL of the database in force; the embedded one runs at least until the block ends.

    Without `create`, a data directory that has no database is refused and left as it is: a command in the wrong
    directory would otherwise answer from a new, empty one.
    """
    default_logs()
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    from mnemon.db.embedded.cluster import ensure_running
    from mnemon.db.embedded.layout import has_database

    if not create and not has_database(settings.data_dir):
        folder = settings.data_dir.expanduser().absolute()
        raise Misconfigured(
            f"There is no Mnemon data in {folder}. Set MNEMON_DATA_DIR (or --data-dir, where the command has it) to the"
            " directory that holds it, or begin here with `mnemon serve`."
        )
    cluster = await ensure_running(settings.data_dir, bin_dir=settings.postgres_bin_dir, report=_say)
    try:
        async with supervise("embedded_database", cluster.watch):
            yield cluster.url
    finally:
        await cluster.stop()


def session_url(settings: Settings, url: str) -> str:
    """Give the owner's URL for pg_dump and psql, which change their session: a pooler would hand that to others."""
    if settings.migration_url is not None:
        return settings.migration_url.get_secret_value()
    if not settings.prepared_statements:
        raise Misconfigured(
            "MNEMON_PREPARED_STATEMENTS is off, as for a pooler in transaction mode, and a backup needs its own "
            "session. Set MNEMON_MIGRATION_URL to a URL of the tables' owner that goes past the pooler."
        )
    return url


@asynccontextmanager
async def opened_house(settings: Settings, *, migrated: bool = False, create: bool = False) -> AsyncIterator[Basement]:
    """The basement over a database of this version: `migrated` brings it there, otherwise an old one is refused.

    `create` makes the embedded database where there is none.
    """
    from mnemon.app import check_models, clock_of, opened

    clock_of(settings)  # these two before a database is started, or even migrated, for nothing
    await check_models(settings)
    async with database_url(settings, create=create) as url:
        if migrated:
            await bring_up_to_date(settings, url)
        else:
            await _refuse_another_version(settings, url)
        async with opened(settings, url) as basement:
            yield basement


@asynccontextmanager
async def opened_beside(settings: Settings, url: str) -> AsyncIterator[Basement]:
    """The basement over a database that another process of ours runs: none is started, migrated or stopped."""
    from mnemon.app import opened

    await _refuse_another_version(settings, url)
    async with opened(settings, url) as basement:
        yield basement


async def bring_up_to_date(settings: Settings, url: str) -> int:
    """The database has this version's schema; how many migrations that took."""
    from mnemon.app import clock_of

    owner = settings.migration_url.get_secret_value() if settings.migration_url else url
    try:
        login = psycopg.conninfo.conninfo_to_dict(url).get("user") if settings.migration_url else None
        done = await migrate(owner, clock_of(settings).now(), login=str(login) if login else None)
    except psycopg.Error as error:
        raise DatabaseDown(explain(error, owner, embedded=settings.database_url is None)) from error
    return len(done)


async def tables_without_rights(settings: Settings, url: str) -> list[str]:
    """The tables that the server's role may not use, as the tables' owner sees it."""
    owner = settings.migration_url.get_secret_value() if settings.migration_url else url
    try:
        async with await connect(owner) as connection:
            return await unusable_tables(connection)
    except psycopg.Error as error:
        raise DatabaseDown(explain(error, owner, embedded=settings.database_url is None)) from error


async def _refuse_another_version(settings: Settings, url: str) -> None:
    try:
        if not await pending(url):
            return
    except psycopg.Error as error:
        raise DatabaseDown(explain(error, url, embedded=settings.database_url is None)) from error
    raise Misconfigured("The database is not at this version. Run `mnemon migrate` or `mnemon serve` first.")


async def organization(basement: Basement, name: str) -> Scope:
    """The organization of that name, which must exist."""
    scope = Scope(org_id=check_name(name))
    async with basement.db.tx(scope.org_id) as tx:
        if not await access.organization_exists(scope, tx):
            raise NotFound(f"organization as {name!r}; `mnemon orgs create {name}` makes it")
    return scope


def _say(message: str) -> None:
    """Tell how the embedded database gets on, in the form that everything else on stderr has."""
    if logs_are_json():
        log.info("embedded_database", said=message)
    else:
        err.print(f"[dim]{safe_markup(message)}[/]")
