"""The sections of a reflection, one or more per room, in the order they are asked for, and the work that asks."""

from collections.abc import Sequence

from mnemon.agentstate.reflect import SECTIONS as AGENT_STATE
from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.engagement.reflect import sections as engagement
from mnemon.jobs.kind import Kind
from mnemon.memory.reflect import SECTIONS as MEMORY
from mnemon.memory.todos.store import open_todos
from mnemon.reflection import job
from mnemon.scope import Scope
from mnemon.section import Section
from mnemon.sessions.reflect import RollingSection
from mnemon.settings import Settings

LABELS = ("memory", "todos", "engagement", "agentState", "rollingSummary")
"""Their names in a report, due or not."""


def sections(settings: Settings) -> tuple[Section, ...]:
    """Every section there is."""
    return (*MEMORY, *engagement(settings), *AGENT_STATE, RollingSection(_still_to_do))


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """The work of reflecting turns."""
    return job.kinds(basement, sections(basement.settings))


async def _still_to_do(tx: Tx, scope: Scope) -> Sequence[str]:
    return [todo.content for todo in await open_todos(tx, scope)]
