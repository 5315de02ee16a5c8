"""An organization's agents at work."""

from pathlib import Path

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from support.working import Working


@pytest.fixture
def working(db: Database, org: str, clock: ManualClock, tmp_path: Path) -> Working:
    return Working(db=db, org=org, clock=clock, folder=tmp_path)
