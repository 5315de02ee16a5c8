"""Wait, before a message is answered without a model, until the person's earlier turns are reflected.

A model reads the last messages in the conversation itself. Without one the reply is made of memory alone, and a message
that overtook the reflection before it would get "nothing is remembered" about what was just said.
"""

import asyncio
import time
from datetime import timedelta

from mnemon.clock import SystemClock
from mnemon.jobs.presence import REPORT_EVERY_S
from mnemon.reflection.job import REFLECTION_KIND
from mnemon.reflection.store import SQL
from mnemon.scope import Scope
from mnemon.services import Services

LONGEST_WAIT_S = 5.0
"""Longest that a message waits. Rules reflect a turn in some hundredths of a second, the first one after a start in one
second; only a backlog takes longer."""
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1
_WORKED_LATELY = timedelta(seconds=3 * REPORT_EVERY_S)
"""How lately a worker must have looked for work: where none does, nothing comes of waiting."""


async def wait_until_reflected(services: Services, scope: Scope, *, longest_s: float = LONGEST_WAIT_S) -> bool:
    """Wait until none of the person's turns is due for reflection; return False if the time limit came first.

    Each look is a transaction of its own, so that nothing is held while a worker, here or elsewhere, does the work.
    """
    end, pause = time.monotonic() + longest_s, _FIRST_PAUSE_S
    while True:
        (row,) = await services.db.read_once(
            scope.org_id,
            SQL["unreflected"],
            org_id=scope.org_id,
            user_id=scope.user,
            kind=REFLECTION_KIND,
            now=services.db.now(),
            # Workers report by the wall clock, whatever the application's clock says.
            lately=SystemClock().now() - _WORKED_LATELY,
        )
        if not row["due"]:
            return True
        if not row["worked"] or time.monotonic() + pause > end:
            return False
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
