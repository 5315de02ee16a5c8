"""The room's work: waking agents, running runs, answering chats, expiring decisions, clearing away."""

from mnemon.basement import Basement
from mnemon.jobs.kind import Kind
from mnemon.runs.conversation import Conversation
from mnemon.runs.execution import Execution
from mnemon.runs.heartbeat import Heartbeat
from mnemon.runs.removal import Removal
from mnemon.runs.settlement import Expiry


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """Every kind of work this room does."""
    return (
        Conversation(basement).kind(),
        Execution(basement).kind(),
        Expiry(basement).kind(),
        Heartbeat(basement).kind(),
        Removal(basement).kind(),
    )
