"""Two thousand audit logs, each changed in one place by the tables' owner: every one is found out."""

from collections import Counter

import psycopg
import pytest

from mnemon.db.database import Database
from support.soak.figures import Figures
from support.soak.options import Part
from support.tampering import Tampered, breaks, write_log


@pytest.mark.soak("audit-chain", count=2_000, unit="tampered logs")
@pytest.mark.timeout(1_800)
async def test_two_thousand_tampered_logs_are_found(db: Database, database_url: str, soak_part: Part) -> None:
    await write_log(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        log = Tampered(connection=connection)
        log.keep()
        kinds, missed, accused = Counter[str](), 0, 0
        for seed in range(soak_part.count):
            accused += len(await breaks(db, page=1_000))
            kinds[log.change(1_000_000 + seed)] += 1
            missed += not await breaks(db, page=1_000)
            log.put_back()
    figures = Figures(count=soak_part.count, acknowledged=0, lost=missed, twice=accused, summed=dict(kinds))
    soak_part.record(figures)
