"""What a reflection sees besides the turn: the messages before it in the session, the rolling summary, today's date.

All of it is there to understand the turn ("yes, that one") and is no source: a quote is never found in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.evidence.privacy import is_confidential_text
from mnemon.reflection.handles import shown_messages
from mnemon.sessions.messages import list_messages_before, list_said_before
from mnemon.sessions.state import list_rolling_summaries
from mnemon.tokens import estimate_tokens
from mnemon.turn import Role, Turn, TurnMessage
from mnemon.untrusted_text import reads_outside_text

MOST_EARLIER = 8
"""The most earlier messages that are read."""
LONGEST_EARLIER = 1_200
"""The most characters of an earlier message that are shown: its first and its last, where a question stands."""
_GAP = " […] "
_ALWAYS = 2
"""The last messages before the turn, a message and its reply, that are shown whatever room there is."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """The context of a turn."""

    today: datetime | None = None
    """When the reflection is made: a turn of old history is not of today."""
    earlier: tuple[TurnMessage, ...] = ()
    """The latest messages of the session before the turn, oldest first."""
    summary: str = ""
    """The rolling summary of the conversation with this persona before the turn."""


async def load_sight(tx: Tx, turn: Turn) -> tuple[Turn, Sight]:
    """Load what the session held before the turn; return the turn with the person's earlier words, and the rest."""
    said_before, earlier, versions = await tx.gather(
        # A confidence may have been announced in an earlier turn.
        list_said_before(tx, turn),
        list_messages_before(tx, turn, most=MOST_EARLIER),
        list_rolling_summaries(tx, turn.scope, most=1, before=turn.message_count),
    )
    summary = versions[0].text if versions else ""
    return replace(turn, said_before=said_before), Sight(today=tx.now, earlier=earlier, summary=summary)


@reads_outside_text
def choose_earlier(turn: Turn, earlier: Sequence[TurnMessage], room: int, *, confidential: bool) -> list[TurnMessage]:
    """Return the latest messages that fit into `room` tokens, oldest first; always including the last exchange.

    Without `confidential`, what was said in confidence is left out with the replies to it: it must not reach what a
    whole organization shares. Results of tools are left out: a reply says what matters of them.
    """
    chosen: list[TurnMessage] = []
    told = frozenset(said.message_id for said in shown_messages(turn))
    for said in reversed(_open_messages(earlier) if not confidential else list(earlier)):
        if said.role is Role.TOOL or said.message_id in told or not said.content.strip():
            continue
        cost = estimate_tokens(cut_middle(said.content, LONGEST_EARLIER)) + 5
        if len(chosen) >= _ALWAYS and cost > room:
            break
        room -= cost
        chosen.append(said)
    return chosen[::-1]


def _open_messages(earlier: Sequence[TurnMessage]) -> list[TurnMessage]:
    """Return the messages without those said in confidence and the replies to them."""
    kept: list[TurnMessage] = []
    hidden = False
    for said in earlier:
        if said.role is Role.USER:
            hidden = is_confidential_text(said.content)
        if not hidden:
            kept.append(said)
    return kept


@reads_outside_text
def cut_middle(text: str, most: int) -> str:
    """Return a text of at most about `most` characters: its beginning and its end."""
    if len(text) <= most:
        return text
    half = (most - len(_GAP)) // 2
    return text[:half] + _GAP + text[-half:]
