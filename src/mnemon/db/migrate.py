"""Migrations: numbered SQL files of all packages, applied once each, in order, by one process at a time.

After the SQL files, grants and policies are applied to every table there is, so that a new table needs none of its own:
the role `mnemon_app` may read and write every table but the append-only ones, and row-level security covers every table
with a column `org_id`. The server works as that role; `check_role` verifies that row-level security binds it.
"""

import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg
import structlog
from psycopg import sql

from mnemon.db.connect import check_server, open_connection
from mnemon.db.statements import label_statement
from mnemon.db.tx import Tx
from mnemon.errors import Misconfigured

log = structlog.get_logger(__name__)

# Row-level security is not written in migrations: a new table could then be forgotten.
APP_ROLE = "mnemon_app"
_LOCK_ID = 0x6D6E656D  # "mnem" in ASCII
_FILE_PATTERN = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql")

UNSCOPED_TABLES = frozenset({"work", "workers", "restore_gaps"})
"""Tables shared by all organizations; they hold ids and times only."""

READ_ONLY_TABLES = frozenset({"audit", "audit_heads"})
"""Tables that the application's role only reads; a procedure with the owner's rights writes them."""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One numbered migration."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the migration's SQL, by which a changed migration is noticed."""
        return sha256(self.sql.encode()).hexdigest()


def shipped_migrations() -> tuple[Migration, ...]:
    """Return every migration in the package, by number; raise Misconfigured where two have the same number."""
    found = sorted(
        (migration for room in files("mnemon").iterdir() if room.is_dir() for migration in _room_migrations(room)),
        key=lambda migration: migration.number,
    )
    numbers = [migration.number for migration in found]
    if len(set(numbers)) != len(numbers):
        raise Misconfigured("Two migrations have one number; this build of Mnemon is broken. Install it again.")
    return tuple(found)


def _room_migrations(room: Traversable) -> list[Migration]:
    """Return the migrations of one package, from the files `NNNN_name.sql` in its folder."""
    folder = room.joinpath("migrations")
    if not folder.is_dir():
        return []
    return [
        Migration(number=int(match["number"]), name=match["name"], sql=file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if (match := _FILE_PATTERN.fullmatch(file.name))
    ]


async def migrate_database(
    url: str, now: datetime, *, steps: Sequence[Migration] | None = None, login: str | None = None
) -> list[Migration]:
    """Apply the migrations that the database lacks, in order; return those applied now.

    `login` is the role the server signs in with, when it is not the one that owns the tables.
    """
    wanted = shipped_migrations() if steps is None else tuple(steps)
    async with await open_connection(url) as connection:
        await check_server(connection)
        async with _migration_lock(connection):
            await _prepare_database(connection, login)
            check_applied(wanted, await applied_migrations(connection))
        # Each migration takes the lock anew: another process may migrate in between, and the step is then skipped.
        new = [step for step in wanted if await _apply_migration(connection, step, now)]
        async with _migration_lock(connection):
            await _secure_tables(connection)
            await _secure_procedures(connection)
        return new


@asynccontextmanager
async def _migration_lock(connection: psycopg.AsyncConnection) -> AsyncIterator[None]:
    """Run the block in a transaction with the migration lock, which one process at a time holds.

    The lock ends with the transaction: a session's lock would stay with a pooler's connection forever.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_ID,))
        yield


async def pending_migrations(url: str) -> list[Migration]:
    """Return the migrations of this version that the database lacks."""
    async with await open_connection(url) as connection:
        done = await applied_migrations(connection)
        return [step for step in shipped_migrations() if step.number not in done]


async def _prepare_database(connection: psycopg.AsyncConnection, login: str | None) -> None:
    """Create the vector extension, the list of migrations and the role mnemon_app, and grant the role to the logins."""
    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations "
        "(number integer PRIMARY KEY, name text NOT NULL, digest text NOT NULL, applied_at timestamptz NOT NULL)"
    )
    exists = await connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APP_ROLE,))
    if await exists.fetchone() is None:
        await _create_role(connection)
    for member in ("CURRENT_USER", login):
        # The login must be able to SET ROLE mnemon_app; superusers could anyway, others need the grant.
        if member is not None:
            name = sql.SQL("CURRENT_USER") if member == "CURRENT_USER" else sql.Identifier(member)
            await connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(APP_ROLE), name))


async def _create_role(connection: psycopg.AsyncConnection) -> None:
    """Create the role mnemon_app; another database of the same server may be creating it at this moment."""
    try:
        async with connection.transaction():
            await connection.execute(
                sql.SQL("CREATE ROLE {} NOLOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT").format(sql.Identifier(APP_ROLE))
            )
    # Roles belong to the whole server; two that are created at once meet in the catalog's unique index.
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        return


async def applied_migrations(connection: psycopg.AsyncConnection) -> dict[int, str]:
    """Return number and digest of every migration the database has; none before the first."""
    row = await (await connection.execute("SELECT to_regclass('schema_migrations')")).fetchone()
    if row is None or row[0] is None:
        return {}
    rows = await (await connection.execute("SELECT number, digest FROM schema_migrations")).fetchall()
    return {int(number): str(digest) for number, digest in rows}


def check_applied(wanted: Sequence[Migration], done: dict[int, str]) -> None:
    """Raise Misconfigured unless every applied migration is one of this version, unchanged."""
    known = {step.number: step for step in wanted}
    for number, digest in sorted(done.items()):
        step = known.get(number)
        if step is None:
            raise Misconfigured(
                f"The database has migration {number:04}, which this version of Mnemon does not know: it was used by a "
                "newer version. Install that version or a later one."
            )
        if step.digest != digest:
            raise Misconfigured(
                f"Migration {number:04} ({step.name}) was applied with other contents than this version's. "
                "Install the version that made this database, or restore a backup into a new one."
            )


async def _apply_migration(connection: psycopg.AsyncConnection, step: Migration, now: datetime) -> bool:
    """Apply one migration; return False where it was already, perhaps by another process just now."""
    began = time.perf_counter()
    async with _migration_lock(connection):
        if step.number in await applied_migrations(connection):
            return False
        await connection.execute(step.sql)
        await connection.execute(
            "INSERT INTO schema_migrations (number, name, digest, applied_at) VALUES (%s, %s, %s, %s)",
            (step.number, step.name, step.digest, now),
        )
    ms = round((time.perf_counter() - began) * 1000, 1)
    log.info("migration_applied", number=step.number, name=step.name, ms=ms)
    return True


async def _secure_tables(connection: psycopg.AsyncConnection) -> None:
    """Grant mnemon_app its rights, and put row-level security on every table with a column `org_id`."""
    rows = await (
        await connection.execute(
            "SELECT c.relname, c.relrowsecurity, "
            "EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id'), "
            "EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'own_organization') "
            "FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
        )
    ).fetchall()
    role = sql.Identifier(APP_ROLE)
    await connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(role))
    for name, secured, owned, has_policy in rows:
        table = sql.Identifier("public", name)
        if name == "schema_migrations":
            await connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(table, role))
            continue
        # None of Mnemon's: those have `org_id` or are listed.
        if not owned and name not in UNSCOPED_TABLES:
            continue
        if name in READ_ONLY_TABLES:
            await connection.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(table, role))
            await connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(table, role))
        else:
            await connection.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(table, role))
        if name in UNSCOPED_TABLES:
            continue
        if not secured:
            await connection.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table))
        if not has_policy:
            await connection.execute(
                sql.SQL(
                    "CREATE POLICY own_organization ON {} "
                    "USING (org_id = current_setting('mnemon.org', true)) "
                    "WITH CHECK (org_id = current_setting('mnemon.org', true))"
                ).format(table)
            )


async def _secure_procedures(connection: psycopg.AsyncConnection) -> None:
    """Let only the application's role call procedures that run with the owner's rights; by default everybody may."""
    rows = await (
        await connection.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p "
            "WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef AND p.prokind = 'p'"
        )
    ).fetchall()
    for (signature,) in rows:
        procedure, role = sql.SQL(signature), sql.Identifier(APP_ROLE)
        await connection.execute(sql.SQL("REVOKE ALL ON PROCEDURE {} FROM PUBLIC").format(procedure))
        await connection.execute(sql.SQL("GRANT EXECUTE ON PROCEDURE {} TO {}").format(procedure, role))


_ROLE_SQL = label_statement(
    "db:role",
    """
select r.rolsuper or r.rolbypassrls as exempt, r.rolname,
  (select count(*) from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and pg_has_role(r.oid, c.relowner, 'usage')) as owned,
  (select count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and c.relname <> 'work' and not c.relrowsecurity) as open
from pg_roles r where r.rolname = current_user
""",
)


_UNUSABLE_TABLES_SQL = label_statement(
    "db:unusable_tables",
    """
select c.relname::text as name, c.relacl is not null as granted from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  and (c.relname in ('work', 'workers') or exists (
    select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped))
  and not (has_schema_privilege('mnemon_app', 'public', 'usage')
    and has_table_privilege('mnemon_app', c.oid, 'select')
    and case when c.relname in ('audit', 'audit_heads')  -- written by a procedure alone
      then coalesce(has_function_privilege('mnemon_app', to_regproc('public.append_audit'), 'execute'), true)
      else has_table_privilege('mnemon_app', c.oid, 'insert') and has_table_privilege('mnemon_app', c.oid, 'update')
        and has_table_privilege('mnemon_app', c.oid, 'delete') end)
order by 1
""",
)


async def unusable_tables(connection: psycopg.AsyncConnection) -> list[str]:
    """Return the tables that the role mnemon_app may not read and write; none where there is no such role yet."""
    role = await (await connection.execute("select to_regrole('mnemon_app')")).fetchone()
    if role is None or role[0] is None:
        return []
    return [str(name) for name, _ in await (await connection.execute(_UNUSABLE_TABLES_SQL)).fetchall()]


async def revoked_tables(tx: Tx) -> list[str]:
    """Return the tables of which the role mnemon_app has lost a privilege that it had.

    A table without any grant is left out: a migration that runs now has created it and grants at its end.
    """
    return [str(row["name"]) for row in await tx.fetch_all(_UNUSABLE_TABLES_SQL) if row["granted"]]


async def check_role(tx: Tx) -> None:
    """Raise Misconfigured if row-level security does not bind the transaction's role, or a tenant table lacks it."""
    row = await tx.fetch_one(_ROLE_SQL)
    # PostgreSQL exempts a table's owner from row-level security, as it does superusers.
    if row["exempt"] or row["owned"]:
        raise Misconfigured(
            f"The server's role {row['rolname']} is not bound by row-level security, so organizations would not be "
            "kept apart. Run `mnemon migrate` with the owner's URL; it makes the role mnemon_app as it must be."
        )
    if row["open"]:
        raise Misconfigured(f"{row['open']} tables have no row-level security. Run `mnemon migrate`.")
