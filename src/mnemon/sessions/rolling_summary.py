"""The reflection section `rolling_summary`: a summary of the conversation in at most 600 characters.

It is due whenever the person's messages to a persona reach a multiple of four. Every version is kept. A model that
rewrites a summary loses things; so what the new version drops is appended to it while it is still open: a promise, a
question, a person just met.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from mnemon.db.tx import Tx
from mnemon.event_loop import run_off_loop
from mnemon.evidence.derived import SourceTexts
from mnemon.llm.answer_schema import OPTIONAL_TEXT
from mnemon.scope import Scope
from mnemon.section import Brief, Rejection, SectionResult
from mnemon.sessions import messages, state
from mnemon.sessions.sentences import (
    OpenKind,
    ended_topics,
    has_content_of,
    has_ended_topic,
    open_kind,
    split_sentences,
    truncate_text,
)
from mnemon.sessions.session import RollingError, RollingSummary
from mnemon.sessions.summary import format_transcript
from mnemon.turn import Role, Turn, TurnMessage
from mnemon.untrusted_text import quote_verbatim, reads_outside_text

SUMMARY_INTERVAL = 4
SUMMARY_CHARS = 600
_CARRIED_CHARS = 300
"""The most characters of a summary that carried lines may take."""
_PRIORITY = {OpenKind.COMMITMENT: 0, OpenKind.QUESTION: 1, OpenKind.PERSON: 2}
_SENTENCE_CHARS = 160


@dataclass(frozen=True, kw_only=True)
class RolledSummary:
    """The text of a new version, and the lines in it that were carried over from the previous one."""

    text: str
    carried: tuple[str, ...]


def is_due(message_count: int, said_in_turn: int, every: int = SUMMARY_INTERVAL) -> bool:
    """Say whether a turn brought the person's message count to a multiple of `every`, or past one."""
    # Past one, since a recorded turn may bring several messages and jump over the multiple.
    return said_in_turn > 0 and message_count // every > (message_count - said_in_turn) // every


@reads_outside_text
def roll_summary(
    new: str, *, previous: str, carried_before: Sequence[str], said: str, open_todos: Sequence[str]
) -> RolledSummary:
    """Return the new rolling summary, with open lines that it dropped from the previous one appended.

    `said` is what was said since the previous one: it may report something as over. An open todo that the previous
    summary mentioned is a commitment however it was worded.
    """
    fresh, ended = " ".join(new.split()), ended_topics(said)
    dropped = [
        line
        for line in _summary_lines(previous, carried_before)
        if not has_content_of(fresh, line)
        and not has_ended_topic(ended, line)
        and _is_still_open(line, carried_before, open_todos)
    ]
    # Promises first, for the room may not suffice; the sort is stable and keeps the order within a kind.
    dropped.sort(key=lambda line: _PRIORITY[open_kind(line) or OpenKind.COMMITMENT])
    carried = _fitting_lines(dropped, min(_CARRIED_CHARS, SUMMARY_CHARS))
    room = SUMMARY_CHARS - sum(len(line) + 1 for line in carried)
    # The new text is cut, never what is carried: that was dropped once already.
    body = truncate_text(fresh, room)
    return RolledSummary(text=" ".join(part for part in (body, *carried) if part), carried=tuple(carried))


def _summary_lines(previous: str, carried_before: Sequence[str]) -> list[str]:
    """Return the lines of the previous summary; lines carried over before stay undivided."""
    own = previous
    for line in carried_before:
        own = own.replace(line, "\n")
    return list(dict.fromkeys([*split_sentences(own), *carried_before]))


def _is_still_open(line: str, carried_before: Sequence[str], open_todos: Sequence[str]) -> bool:
    """Say whether a dropped line must be carried over: it has an open promise, question, todo or new person."""
    kind = open_kind(line)
    if kind is OpenKind.PERSON:
        return line not in carried_before  # carried over once; by then the person is in the memories
    return kind is not None or any(has_content_of(line, todo) for todo in open_todos)


def _fitting_lines(lines: Sequence[str], room: int) -> list[str]:
    """Return the lines that fit whole into `room` characters, in order, skipping those that do not."""
    kept: list[str] = []
    for line in lines:
        if len(line) + 1 <= room:
            kept.append(line)
            room -= len(line) + 1
    return kept


@reads_outside_text
def rolling_summary_by_rule(messages: Sequence[TurnMessage], previous: str) -> str:
    """Return a summary of the person's sentences in these messages, newest first; `previous` only if there are none."""
    statements: list[str] = []
    questions: list[str] = []
    for message in reversed(messages):
        if message.role is not Role.USER:
            continue
        for sentence in split_sentences(message.content):
            (questions if sentence.endswith("?") else statements).append(truncate_text(sentence, _SENTENCE_CHARS))
    parts = [
        # 150 characters stay free for questions.
        *(f"Said: {line}" for line in _fitting_lines(statements, SUMMARY_CHARS - 150)),
        *(f"Asked: {line}" for line in questions[:2]),
    ]
    return truncate_text(" ".join(_end_with_period(part) for part in parts) or previous, SUMMARY_CHARS)


def _end_with_period(sentence: str) -> str:
    """Return the sentence with a period, unless it ends with a mark already."""
    return sentence if sentence[-1:] in ".!?…" else sentence + "."


OpenTodos = Callable[[Tx, Scope], Awaitable[Sequence[str]]]
"""Returns the person's open todos with this persona: they show that a commitment is open."""

INSTRUCTIONS = (
    f"Summarize the conversation with this person so far in at most {SUMMARY_CHARS} characters, as running text. "
    "Begin from the previous summary and bring it up to date with what was said since; keep open promises, open "
    "questions and people just met, drop what is settled. Use only what stands there.\n"
    'Example. The previous summary is "Lena plans a bakery in Graz." Since then she said: "I\'ve signed the lease. Mia '
    'asked when we open."\n'
    '{"rolling_summary": "Lena plans a bakery in Graz and has signed the lease. Mia asked when they open."}'
)


class RollingSummaryAnswer(BaseModel):
    """The section's answer."""

    rolling_summary: str = Field(description=f"The summary, at most {SUMMARY_CHARS} characters.", max_length=20_000)


class RollingSummarySection:
    """The section that asks for a summary at every fourth message and keeps every version."""

    name = "rolling_summary"
    label = "rollingSummary"
    answer: type[BaseModel] = RollingSummaryAnswer
    schema = OPTIONAL_TEXT

    def __init__(self, open_todos: OpenTodos) -> None:
        """Make the rolling summary's section with the function that returns a person's open todos."""
        self._open_todos = open_todos

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Return the previous rolling summary and the messages since; None if none is due. Records the attempt."""
        if not is_due(turn.message_count, _count_user_messages(turn)):
            return None
        await state.record_rolling_attempt(tx, turn.scope)
        previous = await _previous_summary(tx, turn)
        said = await _messages_since(tx, turn, previous)
        text = previous.text if previous else ""
        shown = (
            f"Previous summary: {text or 'none yet'}\n{quote_verbatim('said since', format_transcript(said, 12_000))}"
        )
        return Brief(instructions=INSTRUCTIONS, state=shown, facts={"said": said, "previous": text})

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """Return the section's answer without a model: a summary of the person's own sentences."""
        return RollingSummaryAnswer(
            rolling_summary=rolling_summary_by_rule(brief.facts["said"], brief.facts["previous"])
        )

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Store the rolling summary as the current one, with the open lines it dropped carried over.

        An empty summary, or one that is older than the current one, is skipped.
        """
        assert isinstance(answer, RollingSummaryAnswer)
        if not answer.rolling_summary.strip():
            return SectionResult(skipped=1)
        previous = await _previous_summary(tx, turn)
        said = await _messages_since(tx, turn, previous)
        user_text = "\n".join(one.content for one in said if one.role is Role.USER)
        # A long text is read in a thread, so that it does not block the event loop.
        size = sum(len(one.content) for one in said)
        check = partial(_supported_text, answer.rolling_summary, turn, said, previous)
        supported, rejected = await run_off_loop(size, check)
        if not supported:
            return SectionResult(skipped=1, rejected=rejected)
        rolled = await run_off_loop(
            len(user_text),
            partial(
                roll_summary,
                supported,
                previous=previous.text if previous else "",
                carried_before=previous.carried if previous else (),
                said=user_text,
                open_todos=await self._open_todos(tx, turn.scope),
            ),
        )
        version = RollingSummary(
            message_count=turn.message_count,
            text=rolled.text,
            carried=rolled.carried,
            turn_id=turn.id,
            at=turn.at,
            sources=_merge_sources(said, previous),
        )
        stored = await state.store_rolling_summary(tx, turn.scope, version)
        if not stored:
            return SectionResult(skipped=1, rejected=rejected)
        return SectionResult(updated=1, rejected=rejected) if previous else SectionResult(stored=1, rejected=rejected)

    async def record_failure(self, tx: Tx, turn: Turn, reason: str, detail: str) -> None:
        """Record in the session state why there is no new rolling summary."""
        await state.record_rolling_error(tx, turn.scope, RollingError(reason=reason, detail=detail[:300]))


def _supported_text(
    text: str, turn: Turn, said: Sequence[TurnMessage], previous: RollingSummary | None
) -> tuple[str, tuple[Rejection, ...]]:
    """Return the sentences that the messages or the previous summary support, and the others as rejections.

    A sentence may call the person by their name.
    """
    earlier = [turn.user_name, *([previous.text] if previous else [])]
    sources = SourceTexts([*earlier, *(f"{one.speaker}: {one.content}" for one in reversed(said))], turn.at)
    kept, rejected = [], []
    for sentence in split_sentences(text):
        fault = sources.fault(sentence)
        if fault is None:
            kept.append(sentence)
        else:
            rejected.append(Rejection(what=sentence[:_SENTENCE_CHARS], why=fault))
    return " ".join(kept), tuple(rejected)


def _count_user_messages(turn: Turn) -> int:
    """Return how many of the turn's messages are the person's."""
    return sum(1 for said in turn.messages if said.role is Role.USER)


async def _previous_summary(tx: Tx, turn: Turn) -> RollingSummary | None:
    """Return the newest rolling summary that covers fewer messages than the turn's count, or None."""
    versions = await state.list_rolling_summaries(tx, turn.scope, most=1, before=turn.message_count)
    return versions[0] if versions else None


async def _messages_since(tx: Tx, turn: Turn, previous: RollingSummary | None) -> tuple[TurnMessage, ...]:
    """Return the messages after the previous rolling summary; without one, those of the last two intervals."""
    after = previous.message_count if previous else turn.message_count - 2 * SUMMARY_INTERVAL
    return await messages.list_messages_between(tx, turn.scope, after_count=after, up_to_count=turn.message_count)


def _merge_sources(said: Sequence[TurnMessage], previous: RollingSummary | None) -> tuple[str, ...]:
    """Return the ids of the messages that the rolling summary covers, the latest 400.

    Text of an earlier version may live on in it, so that its sources count too: forgetting one of them must find it.
    """
    earlier = previous.sources if previous else ()
    return tuple(dict.fromkeys([*earlier, *(one.message_id for one in said)]))[-400:]
