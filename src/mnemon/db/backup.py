"""Back up a database into an archive file, and restore one from it, with PostgreSQL's own pg_dump, pg_restore and psql.

Also here: counting what a database holds before it is replaced, and the table `restore_gaps`. A restore that replaces a
database carries over what that one knew: what was forgotten, revoked keys, withdrawn sources. A restore into an empty
database cannot. The gap is therefore recorded in the restored database, since the next restore would find a database to
replace and trust it, although it knows as little.
"""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemon.db.connect import explain_error, open_connection
from mnemon.db.embedded.programs import Binaries, find_binaries, major_version, read_version
from mnemon.db.tx import Tx
from mnemon.errors import DatabaseDown, Invalid, Misconfigured
from mnemon.event_loop import write_to_program

ReportProgress = Callable[[str], None]

# Servers before 17 do not know this setting, which newer programs write at the top of every script.
UNSUPPORTED_SETTING = b"SET transaction_timeout"
DROP_OWN_OBJECTS_SQL = """
DO $$
DECLARE one record;
BEGIN
  FOR one IN SELECT c.oid::regclass AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
    AND c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
  LOOP EXECUTE format('DROP TABLE IF EXISTS %s CASCADE', one.name); END LOOP;
  FOR one IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP EXECUTE format('DROP ROUTINE IF EXISTS %s CASCADE', one.name); END LOOP;
END $$;
"""


@dataclass(frozen=True, kw_only=True)
class BackupArchive:
    """What an archive file says about itself."""

    tables: tuple[str, ...]
    """The tables whose rows it holds."""
    migrations: tuple[tuple[int, str], ...]
    """Number and digest of every migration its database had."""


async def find_tools(url: str, bin_dir: Path | None) -> Binaries:
    """Return the PostgreSQL programs (pg_dump, …) for this server: the bundled ones, or newer ones on the PATH.

    Raises Misconfigured where neither are new enough.
    """
    try:
        async with await open_connection(url) as connection:
            server = connection.info.server_version // 10000
    except psycopg.Error as error:
        raise DatabaseDown(explain_error(error, url)) from error
    bundled = find_binaries(bin_dir)
    if bundled.major >= server:
        return bundled
    found = shutil.which("pg_dump")
    version = read_version(Path(found)) if found else None
    if found is None or version is None or major_version(version) < server:
        raise Misconfigured(
            f"The server is PostgreSQL {server}, and pg_dump here is {version or bundled.version}. Install the client "
            f"programs of PostgreSQL {server}, or point MNEMON_POSTGRES_BIN_DIR at their bin directory."
        )
    return Binaries(folder=Path(found).parent, version=version)


async def dump_database(url: str, file: Path, tools: Binaries, report: ReportProgress) -> None:
    """Write the whole database, as of one moment, into the file; a failed attempt leaves no file."""
    # Beside the file, so that the rename below stays on one disk and is atomic.
    draft = file.with_name(f".{file.name}.partial")
    try:
        # Create the file before pg_dump opens it, so that its permissions are right at every moment.
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        # Without owners and grants: the database that it is restored into has its own.
        options = ("--format=custom", "--no-owner", "--no-acl", "--verbose", f"--file={draft}")
        await _run_program(tools, "pg_dump", (*options, "--schema=public", "--extension=vector"), url, report)
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(file)
    except OSError as error:
        raise Misconfigured(
            f"{file} cannot be written ({error.strerror}). Name a file in a directory that exists, is writable "
            "for this user and has room."
        ) from error
    finally:
        draft.unlink(missing_ok=True)


async def read_archive(file: Path, tools: Binaries) -> BackupArchive:
    """Return an archive file's table of contents; raise Invalid for a file that `mnemon backup` did not write."""
    listed = await _pg_restore_output(tools, file, "--list")
    tables = tuple(re.findall(r"^\d+; \d+ \d+ TABLE DATA public (\S+)", listed, re.MULTILINE))
    if "schema_migrations" not in tables:
        raise Invalid(f"{file} is not a backup of a Mnemon database. Name a file that `mnemon backup` wrote.")
    rows = await _pg_restore_output(tools, file, "--data-only", "--table=schema_migrations", "--file=-")
    done = re.findall(r"^(\d+)\t[^\t]*\t([0-9a-f]{64})\t", rows, re.MULTILINE)
    return BackupArchive(tables=tables, migrations=tuple((int(number), digest) for number, digest in done))


async def load_archive(
    url: str, file: Path, tools: Binaries, report: ReportProgress, *, total: int, addition: bytes = b""
) -> None:
    """Replace the database's contents with those of the file in one transaction: on failure nothing is changed.

    `addition` is a script that runs in the same transaction, after the file.
    """
    # psql and not pg_restore, so that dropping the old tables is in the same transaction as loading.
    loading = await _start_program(tools, "psql", ("-X", "-q", "-v", "ON_ERROR_STOP=1"), url)
    assert loading.stdin is not None
    assert loading.stderr is not None
    # Read meanwhile: psql would block on a full pipe, and the loop below on psql.
    reading = asyncio.create_task(loading.stderr.read())
    count = 0
    try:
        # Not psql's --single-transaction: it commits at the end of its input, also where that ends because this
        # process was killed in the middle of the file.
        write_to_program(loading.stdin, b"BEGIN;\n")
        # Drops every table of this database, also those that the archive lacks, in the transaction of the load.
        write_to_program(loading.stdin, DROP_OWN_OBJECTS_SQL.encode())
        async for line in _archive_lines(tools, file):
            write_to_program(loading.stdin, line)
            if line.startswith(b"COPY public."):
                count += 1
                report(f"{count} of {total} tables")
            await loading.stdin.drain()
        write_to_program(loading.stdin, addition + b"COMMIT;\n")
        await loading.stdin.drain()
        loading.stdin.close()
    except (BrokenPipeError, ConnectionResetError):
        pass  # psql ended early; its stderr says why
    except BaseException:
        loading.kill()
        raise
    finally:
        code = await loading.wait()
        message = (await reading).decode(errors="replace")
    if code != 0:
        raise DatabaseDown(f"{explain_error(psycopg.OperationalError(message), url)} Nothing was changed.")


async def _archive_lines(tools: Binaries, file: Path) -> AsyncIterator[bytes]:
    """Yield the backup archive as SQL, line by line."""
    process = await asyncio.create_subprocess_exec(
        *(tools.program_path("pg_restore"), "--no-owner", "--no-acl", "--no-comments", "--file=-", str(file)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # A row of a COPY is one line; asyncio's default limit of 64 KB would break on a long one.
        limit=2**30,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    settings = True
    try:
        async for line in process.stdout:
            # Only above the schema's first statement: a row of a COPY may begin with the same words.
            settings = settings and not line.startswith((b"CREATE ", b"COPY "))
            # The schema exists and is not dropped: another role may own it.
            if (settings and line.startswith(UNSUPPORTED_SETTING)) or line.startswith(b"CREATE SCHEMA public"):
                continue
            yield line
        message = (await process.stderr.read()).decode(errors="replace")
        if await process.wait() != 0:
            raise Invalid(
                f"{file} cannot be read to its end: {_last_line(message)}. Use another backup; nothing was changed."
            )
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _pg_restore_output(tools: Binaries, file: Path, *options: str) -> str:
    """Return what pg_restore prints about the archive file; raise Invalid where it cannot read it."""
    process = await asyncio.create_subprocess_exec(
        *(tools.program_path("pg_restore"), *options, str(file)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, message = await process.communicate()
    if process.returncode != 0:
        raise Invalid(
            f"{file} is not a backup that this version can read: {_last_line(message.decode(errors='replace'))}. "
            "Name a file that `mnemon backup` wrote."
        )
    return out.decode(errors="replace")


async def _run_program(tools: Binaries, program: str, options: Sequence[str], url: str, report: ReportProgress) -> None:
    """Run pg_dump or the like to its end and report each table; raise DatabaseDown with its errors if it fails."""
    process = await _start_program(tools, program, options, url)
    assert process.stderr is not None
    kept: list[str] = []
    count = 0
    async for line in process.stderr:
        text = line.decode(errors="replace").strip()
        if "dumping contents of table" in text:
            count += 1
            report(f"{count} tables")
        elif re.search(r"\b(error|detail|hint)\b", text):
            kept.append(text)
    if await process.wait() != 0:
        raise DatabaseDown(explain_error(psycopg.OperationalError("\n".join(kept)), url))


async def _start_program(tools: Binaries, program: str, options: Sequence[str], url: str) -> asyncio.subprocess.Process:
    """Start a PostgreSQL program, the password in its environment: any user may read a command line."""
    parts = conninfo_to_dict(url)
    password = parts.pop("password", None)
    target = make_conninfo(**parts)  # type: ignore[arg-type]
    return await asyncio.create_subprocess_exec(
        *(tools.program_path(program), *options, f"--dbname={target}"),
        stdin=asyncio.subprocess.PIPE if program == "psql" else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **({"PGPASSWORD": str(password)} if password else {})},
    )


def _last_line(output: str) -> str:
    """Return the last line of a program's output without its prefix, as the reason for a failure."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1].removeprefix("pg_restore: ").removeprefix("error: ").rstrip(".") if lines else "no reason given"


_TABLES_SQL = (
    "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') "
    "AND c.relname <> 'schema_migrations' ORDER BY 1"
)
_OTHER_CONNECTIONS_SQL = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)


@dataclass(frozen=True, kw_only=True)
class DatabaseContents:
    """The size of a database in three numbers."""

    tables: int
    """Tables with at least one row, without `schema_migrations`."""
    rows: int
    """All their rows."""
    others: int
    """Connections of other processes."""


async def count_contents(url: str) -> DatabaseContents:
    """Count tables, rows and other connections as of now, as the owner of the tables sees them."""
    try:
        async with await open_connection(url) as connection:
            others = await _fetch_count(connection, sql.SQL(_OTHER_CONNECTIONS_SQL))
            names = [row[0] for row in await (await connection.execute(_TABLES_SQL)).fetchall()]
            rows = [
                await _fetch_count(
                    connection, sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("public", name))
                )
                for name in names
            ]
    except psycopg.Error as error:
        raise DatabaseDown(explain_error(error, url)) from error
    return DatabaseContents(tables=sum(count > 0 for count in rows), rows=sum(rows), others=others)


async def _fetch_count(connection: psycopg.AsyncConnection, query: sql.SQL | sql.Composed) -> int:
    """Return the single number that the query selects."""
    row = await (await connection.execute(query)).fetchone()
    return int(row[0]) if row else 0


GapSubject = Literal["forgettings", "revocations", "withdrawals"]


async def read_gap(connection: psycopg.AsyncConnection, subject: GapSubject) -> datetime | None:
    """Return when the database was restored without its ledger, revocations or withdrawals; None if it has all."""
    there = await (await connection.execute("select to_regclass('restore_gaps')")).fetchone()
    if there is None or there[0] is None:
        return None
    found = await connection.execute("select since from restore_gaps where subject = %s", (subject,))
    row = await found.fetchone()
    return None if row is None else row[0]


async def load_gap(tx: Tx, subject: GapSubject) -> datetime | None:
    """Return since when the restored database lacks its ledger, revocations or withdrawals; None for no gap."""
    row = await tx.fetch_one_or_none("select since from restore_gaps where subject = %(subject)s", subject=subject)
    return None if row is None else row["since"]


async def record_gap(tx: Tx, subject: GapSubject, since: datetime) -> None:
    """Insert into `restore_gaps` that the restored database lacks these records since then; keep an earlier row."""
    await tx.execute(
        "insert into restore_gaps (subject, since) values (%(subject)s, %(since)s) on conflict (subject) do nothing",
        subject=subject,
        since=since,
    )


async def delete_gap(tx: Tx, subject: GapSubject) -> None:
    """Delete the subject's row of `restore_gaps`, because its records were carried over after all."""
    await tx.execute("delete from restore_gaps where subject = %(subject)s", subject=subject)
