"""Writes `docs/schema.sql`, the schema of a fresh database: `python scripts/write_schema.py DATABASE_URL`.

A test loads it into an empty database and finds it equal to a migrated one.
"""

import asyncio
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from mnemon.db.embedded.programs import find_binaries
from mnemon.db.migrate import migrate_database

TARGET = Path(__file__).parents[1] / "docs" / "schema.sql"
HEADER = "-- The schema as migrations leave it, for reading. Written by scripts/write_schema.py.\n\n"


def dumped(url: str) -> str:
    """The schema of the database at this URL, without what differs from dump to dump."""
    command = [find_binaries(None).program_path("pg_dump"), "--schema-only", "--no-owner", url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"^(--.*|SET .*|SELECT pg_catalog.*|\\(un)?restrict.*)\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(CREATE EXTENSION|COMMENT ON EXTENSION).*\n", "", text, flags=re.MULTILINE)
    return HEADER + re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


if __name__ == "__main__":
    asyncio.run(migrate_database(sys.argv[1], datetime.now(UTC)))
    TARGET.write_text(dumped(sys.argv[1]), encoding="utf-8")
