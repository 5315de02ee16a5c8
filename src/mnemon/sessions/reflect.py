"""The section `rolling_summary`: due when the count reaches a multiple of four."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from pydantic import BaseModel, Field

from mnemon.aside import read_aside
from mnemon.db.tx import Tx
from mnemon.fence import verbatim
from mnemon.scope import Scope
from mnemon.section import Brief, Report
from mnemon.sessions import messages, state
from mnemon.sessions.rolling import EVERY, LIMIT, is_due, roll, summary_by_rule
from mnemon.sessions.session import RollingError, RollingSummary
from mnemon.sessions.summary import transcript
from mnemon.turn import Role, Said, Turn

OpenTodos = Callable[[Tx, Scope], Awaitable[Sequence[str]]]
"""Tells what the person still has to do with this persona: how a commitment is known to be open."""

_INSTRUCTIONS = (
    f"Summarize the conversation with this person so far in at most {LIMIT} characters, as running text. Begin from "
    "the previous summary below and bring it up to date with what was said since; keep open promises, open questions "
    "and people just met, drop what is settled. Use only what stands there."
)


class RollingAnswer(BaseModel):
    """The section's answer."""

    rolling_summary: str = Field(description=f"The summary, at most {LIMIT} characters.", max_length=20_000)


class RollingSection:
    """Asks for a summary every fourth message and keeps every version."""

    name = "rolling_summary"
    label = "rollingSummary"
    answer: type[BaseModel] = RollingAnswer

    def __init__(self, open_todos: OpenTodos) -> None:
        self._open_todos = open_todos

    async def brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """The previous summary and what was said since; the state says that a summary is being tried."""
        if not is_due(turn.message_count, _said_by_person(turn)):
            return None
        await state.note_rolling_attempt(tx, turn.scope)
        previous = await _previous(tx, turn)
        said = await _since(tx, turn, previous)
        text = previous.text if previous else ""
        shown = f"Previous summary: {text or 'none yet'}\n{verbatim('said since', transcript(said, 12_000))}"
        return Brief(instructions=_INSTRUCTIONS, state=shown, facts={"said": said, "previous": text})

    def by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """The person's own sentences."""
        return RollingAnswer(rolling_summary=summary_by_rule(brief.facts["said"], brief.facts["previous"]))

    async def apply(self, tx: Tx, turn: Turn, answer: BaseModel) -> Report:
        """The summary is the current one, with what it dropped and is open carried over; a late one is skipped."""
        assert isinstance(answer, RollingAnswer)
        if not answer.rolling_summary.strip():
            return Report(skipped=1)
        previous = await _previous(tx, turn)
        said = await _since(tx, turn, previous)
        told = "\n".join(one.content for one in said if one.role is Role.USER)
        rolled = await read_aside(
            len(told),
            partial(
                roll,
                answer.rolling_summary,
                previous=previous.text if previous else "",
                carried_before=previous.carried if previous else (),
                said=told,
                open_todos=await self._open_todos(tx, turn.scope),
            ),
        )
        version = RollingSummary(
            message_count=turn.message_count,
            text=rolled.text,
            carried=rolled.carried,
            turn_id=turn.id,
            at=turn.at,
            sources=_sources(said, previous),
        )
        kept = await state.keep_rolling(tx, turn.scope, version)
        if not kept:
            return Report(skipped=1)
        return Report(updated=1) if previous else Report(stored=1)

    async def failed(self, tx: Tx, turn: Turn, reason: str, detail: str) -> None:
        """The state says why there is no new summary."""
        await state.note_rolling_error(tx, turn.scope, RollingError(reason=reason, detail=detail[:300]))


def _said_by_person(turn: Turn) -> int:
    return sum(1 for said in turn.messages if said.role is Role.USER)


async def _previous(tx: Tx, turn: Turn) -> RollingSummary | None:
    """The newest version that tells of fewer messages than the turn's."""
    versions = await state.rolling_summaries(tx, turn.scope, most=1, before=turn.message_count)
    return versions[0] if versions else None


async def _since(tx: Tx, turn: Turn, previous: RollingSummary | None) -> tuple[Said, ...]:
    after = previous.message_count if previous else turn.message_count - 2 * EVERY
    return await messages.between(tx, turn.scope, after_count=after, up_to_count=turn.message_count)


def _sources(said: Sequence[Said], previous: RollingSummary | None) -> tuple[str, ...]:
    """The messages it tells of; what an earlier version told may live on in it, so its sources do too."""
    earlier = previous.sources if previous else ()
    return tuple(dict.fromkeys([*earlier, *(one.message_id for one in said)]))[-400:]
