"""The steps of a reflection: brief the sections, ask the model once, apply its answer section by section."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, Protocol, runtime_checkable

import psycopg
import structlog
from pydantic import BaseModel, ValidationError

from mnemon.db.tx import Tx
from mnemon.errors import MnemonError, ModelDown, ModelOverrun, Unavailable
from mnemon.event_loop import run_off_loop
from mnemon.evidence.privacy import is_confidential_turn
from mnemon.input_checks import describe_validation_error, storable_json
from mnemon.jobs.work import LeaseLost
from mnemon.llm.protocol import Json, Llm, Usage
from mnemon.reflection.prompt import DEFAULT_BUDGET, Correction, DueSection
from mnemon.reflection.question import QUESTION_TITLE, ParsedAnswer, build_question, parse_answer, resolve_answer
from mnemon.reflection.repair import RefusedEntry, find_refused_entries, join_entries
from mnemon.reflection.report import Reflection, ReflectionStatus
from mnemon.reflection.sight import Sight
from mnemon.section import Section, SectionResult
from mnemon.turn import Turn

log = structlog.get_logger(__name__)

LAST_APPLIED_SECTION = "engagement"
"""The section applied last: it takes the organization's lock, which is then held for the shortest time."""
_INFRASTRUCTURE_ERRORS = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,
    psycopg.errors.InsufficientPrivilege,
    Unavailable,
    LeaseLost,
)
"""Errors that end the whole attempt: the database, a right in it or the lease is lost, which no section can cause."""
_ANSWER_ERRORS = (MnemonError, ValidationError)
"""Errors that rooms raise on purpose about an answer. Texts, numbers and times were limited when it was validated, so
nothing in it can make PostgreSQL or Python raise anything else: any other error is a bug of Mnemon."""


@runtime_checkable
class FailureListener(Protocol):
    """A section that is notified when there was no usable answer."""

    async def record_failure(self, tx: Tx, turn: Turn, reason: str, detail: str) -> None:
        """Record in the section's own tables that the turn got no answer for it."""


@dataclass(frozen=True, kw_only=True)
class SectionAnswers:
    """What the model returned."""

    raw: Mapping[str, Any]
    """The parts by section name, as received."""
    answers: Mapping[str, BaseModel]
    """The usable parts by section name."""
    faults: Mapping[str, str]
    """Why the other parts are unusable, by section name."""
    usage: Usage | None
    repaired: Mapping[str, int] = field(default_factory=dict)
    """How many refused entries the model mended, by section name."""

    def plus(self, other: "SectionAnswers") -> "SectionAnswers":
        """Return these answers joined with those of a second call for other sections."""
        usages = [one.usage for one in (self, other) if one.usage is not None]
        return SectionAnswers(
            raw={**self.raw, **other.raw},
            answers={**self.answers, **other.answers},
            faults={**self.faults, **other.faults},
            usage=reduce(Usage.plus, usages) if usages else None,
            repaired={**self.repaired, **other.repaired},
        )


@dataclass(frozen=True, kw_only=True)
class AppliedAnswers:
    """The result of applying the answers."""

    reflection: Reflection
    errors: tuple[Exception, ...]
    """Internal errors in order: one for each section that raised what no answer can cause."""


async def brief_sections(
    tx: Tx, turn: Turn, sections: Sequence[Section], reflection: Reflection
) -> tuple[list[DueSection], Reflection]:
    """Return the open sections that have something to ask, and the reflection with the others reported as empty."""
    due: list[DueSection] = []
    # Computed once here, in a thread for a long turn, and cached: the sections' statements are gathered below, and none
    # may wait for a thread then.
    await run_off_loop(turn.size, partial(is_confidential_turn, turn))
    open_ones = [section for section in sections if not reflection.is_applied(section.label)]
    briefs = await tx.gather(*(section.prepare_brief(tx, turn) for section in open_ones))
    for section, brief in zip(open_ones, briefs, strict=True):
        if brief is None:
            reflection = reflection.with_section(section.label, SectionResult(), due=False)
        else:
            due.append(DueSection(section=section, brief=brief))
    return due, reflection


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How the model is asked."""

    sight: Sight = field(default_factory=Sight)
    budget: int = DEFAULT_BUDGET
    """Tokens that a prompt may take, the turn itself apart."""
    one_by_one: bool = False
    """Whether each section is asked in a call of its own, for small models."""


async def ask_model(
    model: Llm, turn: Turn, due: Sequence[DueSection], kept: Mapping[str, Any], options: AskOptions | None = None
) -> SectionAnswers:
    """Return the model's answers for the due sections, asking once more for what is unusable or refused.

    They are asked for in one call, or each in its own: by the options, or where one call is too long for the model.
    Parts in `kept`, from an earlier attempt, are not asked for again.
    """
    options = options or AskOptions()
    earlier = [one for one in due if one.section.name in kept]
    known = parse_answer(earlier, dict(kept))
    fresh = [one for one in due if one.section.name not in kept]
    if not fresh:
        return SectionAnswers(raw=kept, answers=known.valid, faults={}, usage=None)
    given = await _ask_in_calls(model, turn, fresh, options)
    if given.faults:
        log.warning("answer_rejected", model=model.name, title=QUESTION_TITLE, sections=sorted(given.faults))
    # An unusable part is not kept, so that the next attempt asks for it again.
    raw = {name: value for name, value in {**kept, **given.raw}.items() if name not in given.faults}
    return replace(given, raw=raw, answers={**known.valid, **given.answers})


async def _ask_in_calls(model: Llm, turn: Turn, due: Sequence[DueSection], options: AskOptions) -> SectionAnswers:
    """Return the answers for the sections, asked together or one by one; raise ModelDown when there is none at all."""
    if model.offline or not options.one_by_one:
        try:
            return await _ask_together(model, turn, due, options)
        except ModelOverrun:
            log.info("question_split", model=model.name, title=QUESTION_TITLE, sections=len(due))
    joined = SectionAnswers(raw={}, answers={}, faults={}, usage=None)
    failure: ModelDown | None = None
    for one in due:
        if failure is None or failure.code != ModelDown.code:
            try:
                joined = joined.plus(await _ask_alone(model, turn, one, options))
                continue
            except ModelDown as error:
                failure = error
        # A section that fails leaves the others applied; a model that is away is not asked for the rest.
        joined = joined.plus(SectionAnswers(raw={}, answers={}, faults={one.section.name: failure.detail}, usage=None))
    if failure is not None and not joined.answers:
        raise failure
    return joined


async def _ask_alone(model: Llm, turn: Turn, one: DueSection, options: AskOptions) -> SectionAnswers:
    """Return the answer for one section; if it is too long, ask again with long messages cut and no limit."""
    with suppress(ModelOverrun):
        return await _ask_together(model, turn, [one], options)
    return await _ask_together(model, turn, [one], replace(options, budget=options.budget // 2), whole=False)


async def _ask_together(
    model: Llm, turn: Turn, due: Sequence[DueSection], options: AskOptions, *, whole: bool = True
) -> SectionAnswers:
    """Return the model's answers for the sections, in one call, with a second one for what is unusable or refused."""
    ask = partial(build_question, turn, due, sight=options.sight, budget=options.budget, whole=whole, limited=whole)
    first = await model.answer(await run_off_loop(turn.size, ask))
    value = resolve_answer(turn, due, storable_json(first.value))
    taken = parse_answer(due, value)
    raw, usage, mended_counts = _section_parts(due, value), first.usage, dict[str, int]()
    # Rules have no better words to offer.
    refused = (
        {} if model.offline else await run_off_loop(turn.size, partial(find_refused_entries, turn, due, value, taken))
    )
    if taken.faults or refused:
        _log_second_call(model, taken, refused)
        # Only what was wrong: asking for all again would pay twice for the others (decision 10).
        again = [one for one in due if one.section.name in taken.faults or one.section.name in refused]
        entries = {name: [(one.entry, one.why) for one in some] for name, some in refused.items()}
        correction = Correction(faults=taken.faults, refused=entries)
        question = await run_off_loop(turn.size, partial(ask, correction))
        try:
            second = await model.answer(question)
        except ModelDown:
            pass  # keep the usable parts of the first answer; the rest stays open, with its faults
        else:
            usage = usage.plus(second.usage)
            mended = resolve_answer(turn, again, storable_json(second.value))
            joined = await run_off_loop(turn.size, partial(_join_answers, turn, again, raw, refused, mended))
            raw, mended_counts = joined.raw, joined.repaired
            faults = {name: why for name, why in joined.parsed.faults.items() if name not in refused}
            taken = ParsedAnswer(valid={**taken.valid, **joined.parsed.valid}, faults=faults)
    return SectionAnswers(raw=raw, answers=taken.valid, faults=taken.faults, usage=usage, repaired=mended_counts)


def _log_second_call(model: Llm, taken: ParsedAnswer, refused: Mapping[str, Sequence[RefusedEntry]]) -> None:
    """Log why the model is asked a second time: unusable sections, or how many entries the gates refuse."""
    if taken.faults:
        log.info("answer_rejected", model=model.name, title=QUESTION_TITLE, sections=sorted(taken.faults))
    if refused:
        counts = {name: len(some) for name, some in refused.items()}
        log.info("entries_offered_back", model=model.name, title=QUESTION_TITLE, sections=counts)


@dataclass(frozen=True, kw_only=True)
class _JoinedAnswers:
    """The parts of two answers as one."""

    raw: dict[str, Any]
    parsed: ParsedAnswer
    """What the second call was asked for."""
    repaired: dict[str, int]
    """How many refused entries were mended, by section name."""


def _join_answers(
    turn: Turn,
    again: Sequence[DueSection],
    raw: Mapping[str, Any],
    refused: Mapping[str, Sequence[RefusedEntry]],
    second: Json,
) -> _JoinedAnswers:
    """Return the parts of both answers, those of the second call parsed, and how many entries it mended.

    An unusable second part of a section whose first part was usable changes nothing.
    """
    taken = parse_answer(again, second)
    still = find_refused_entries(turn, again, second, taken)
    parts, repaired = _section_parts(again, second), dict[str, int]()
    for name, entries in refused.items():
        if name in taken.faults or name not in parts:
            parts[name] = raw[name]
            continue
        new = parts[name] or []
        bad = {one.place for one in still.get(name, ())}
        mended = [one for place, one in enumerate(new) if place not in bad]
        parts[name] = join_entries(raw[name] or [], entries, new, mended)
        repaired[name] = min(len(mended), len(entries))
    joined = parse_answer(again, {name: parts[name] for name in parts if name not in taken.faults or name in refused})
    faults = {name: why for name, why in taken.faults.items() if name not in refused}
    parsed = ParsedAnswer(valid=joined.valid, faults=faults)
    return _JoinedAnswers(raw={**raw, **parts}, parsed=parsed, repaired=repaired)


async def apply_answers(
    tx: Tx, turn: Turn, due: Sequence[DueSection], given: SectionAnswers, reflection: Reflection
) -> AppliedAnswers:
    """Apply each section's answer in its own savepoint, so that one that fails affects no other."""
    errors: list[Exception] = []
    in_order = sorted(due, key=lambda one: one.section.name == LAST_APPLIED_SECTION)
    for one in in_order:
        section = one.section
        if fault := given.faults.get(section.name):
            reflection = reflection.with_fault(section.label, f"The model's answer cannot be used: {fault}")
            await _notify_section(tx, section, turn, "invalid_answer", fault)
        elif section.name not in given.answers:
            reflection = reflection.with_section(section.label, SectionResult())
        else:
            reflection = await _apply_section(tx, turn, section, given, reflection, errors)
    return AppliedAnswers(reflection=_with_final_status(reflection), errors=tuple(errors))


def _with_final_status(reflection: Reflection) -> Reflection:
    """Return the reflection marked as done, or as failed with the reasons of its open sections."""
    still_open = reflection.open_sections
    if not still_open:
        return replace(reflection, status=ReflectionStatus.DONE, error=None)
    reasons = "; ".join(f"{label}: {why}" for label, why in still_open.items())
    return replace(reflection, status=ReflectionStatus.FAILED, error=reasons)


async def _apply_section(
    tx: Tx, turn: Turn, section: Section, given: SectionAnswers, reflection: Reflection, errors: list[Exception]
) -> Reflection:
    """Apply one section's answer in a savepoint and return the reflection; an internal error goes into `errors`."""
    # An internal error is raised by the job only once the other sections are stored.
    internal = False
    try:
        async with tx.savepoint():
            report = await section.apply_answer(tx, turn, given.answers[section.name])
    # First, because some of them are MnemonErrors as well.
    except _INFRASTRUCTURE_ERRORS:
        raise
    except _ANSWER_ERRORS as error:
        # Not the text of a ValidationError, which quotes the answer.
        detail = error.detail if isinstance(error, MnemonError) else describe_validation_error(error)
    except Exception as error:  # the section's boundary: raised by the job once the other sections are stored
        errors.append(error)
        internal, detail = True, f"internal: {type(error).__name__}"
    else:
        return reflection.with_section(section.label, report, repaired=given.repaired.get(section.name, 0))
    await _notify_section(tx, section, turn, "not_applied", detail)
    return reflection.with_fault(section.label, detail, internal=internal)


async def notify_sections(tx: Tx, turn: Turn, due: Sequence[DueSection], reason: str, detail: str) -> None:
    """Tell every section that listens for failures that the model gave no answer for the turn."""
    for one in due:
        await _notify_section(tx, one.section, turn, reason, detail)


async def _notify_section(tx: Tx, section: Section, turn: Turn, reason: str, detail: str) -> None:
    """Notify a section that listens for failures that the model gave no usable answer for the turn."""
    if isinstance(section, FailureListener):
        await section.record_failure(tx, turn, reason, detail)


def reusable_answers(reflection: Reflection, due: Sequence[DueSection]) -> dict[str, Any]:
    """Return the sections' answers that an earlier attempt kept but did not apply, by section name.

    A part that was unusable is asked for again. One that an internal error kept from being applied is not: asking the
    model again would cost tokens and help nothing.
    """
    tried = {label for label in reflection.open_sections if not reflection.sections[label].internal}
    names = [one.section.name for one in due if one.section.label not in tried]
    return {name: reflection.raw[name] for name in names if name in reflection.raw}


def _section_parts(due: Sequence[DueSection], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return each section's part of the answer; a part that was left out counts as an empty answer."""
    return {one.section.name: answer.get(one.section.name) for one in due}
