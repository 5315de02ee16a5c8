"""The reflection's section `agent_state`: reconcile the state with what the turn showed.

Without a model, rules read only lines that say what they are: `Assumption:`, `Let's assume …`, `I assume …`,
`Hypothesis:` and `Open question:` add a record; `Resolved: …` and `Dropped: …` close the one open item whose title they
name.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from pydantic import BaseModel, field_validator

from mnemon.agentstate import store
from mnemon.agentstate.brief import make_brief
from mnemon.agentstate.change import count_changes, record_names
from mnemon.agentstate.cited_evidence import CitedEvidence, cite_texts, cite_turn
from mnemon.agentstate.claim import is_same_claim
from mnemon.agentstate.delta import AddItem, StateDelta, delta_from_proposal, list_unreadable
from mnemon.agentstate.journal import ChangeSource, amend_state
from mnemon.agentstate.prompt import AGENT_STATE_SCHEMA, expand_answer
from mnemon.agentstate.proposal import (
    AgentStateDeltas,
    AgentStateUpdate,
    ItemUpdate,
    ProposedAddItem,
    ProposedAssumption,
    ProposedHypothesis,
    ProposedItem,
    ProposedPatch,
    ProposedUpdateItem,
)
from mnemon.agentstate.state import (
    AgentState,
    ExpectationStatus,
    ItemKind,
    ItemStatus,
    state_texts,
)
from mnemon.agentstate.store import ChangeAuthor
from mnemon.db.tx import Tx
from mnemon.section import Brief, Rejection, Section, SectionResult
from mnemon.sessions.store import find_heir
from mnemon.sessions.turns import find_evidence
from mnemon.turn import Role, Turn, TurnMessage
from mnemon.untrusted_text import reads_outside_text

STATED_CONFIDENCE = 0.5
"""The confidence of an assumption that a line states."""
MAX_LINES = 100
"""The most such lines that are read in a turn: one with more of them is a pasted list."""
_LINE_PATTERN = re.compile(
    r"(?:[-*•]\s+)?(?:"
    r"(?P<assumption>assumption:|assuming that|let(?:'s| us) assume(?: that)?"
    r"|(?:i|we)(?:'ll| will)? assume that|(?:i'm|i am|we're|we are) assuming that)"
    r"|(?P<hypothesis>(?:tentative )?hypothesis:)"
    r"|(?P<question>open question:)"
    r"|(?P<task>open task:|next step:)"
    r"|(?P<resolved>resolved:|answered:)"
    r"|(?P<dropped>dropped:|discarded:)"
    r")\s+(?P<rest>\S.{2,400})",
    re.IGNORECASE,
)


@reads_outside_text
def read_deltas(turn: Turn, state: AgentState) -> AgentStateDeltas:
    """Return the agent state changes that marked lines of the turn ("Open task: …") state, without a model."""
    assumptions: list[ProposedAssumption] = []
    hypotheses: list[ProposedHypothesis] = []
    items: list[ItemUpdate] = []
    for message, kind, rest in islice(_marked_lines(turn), MAX_LINES):
        if kind == "assumption":
            assumptions.append(
                ProposedAssumption(hypothesis=rest, confidence=STATED_CONFIDENCE, evidence=[message.message_id])
            )
        elif kind == "hypothesis":
            hypotheses.append(ProposedHypothesis(hypothesis=rest))
        elif kind in ("question", "task"):
            items.extend(_add_item(state, ItemKind(kind), rest))
        else:
            items.extend(_close_item(state, rest, kind))
    return AgentStateDeltas(
        agent_state_item_updates=items,
        agent_state_updates=AgentStateUpdate(assumptions=assumptions, tentative_hypotheses=hypotheses),
    )


def _marked_lines(turn: Turn) -> Iterator[tuple[TurnMessage, str, str]]:
    """Yield each marked line ("Open task: …") of the turn as message, kind and content; tool messages are skipped."""
    for message in turn.messages:
        if message.role is Role.TOOL:
            continue
        for line in message.content.splitlines():
            found = _LINE_PATTERN.fullmatch(line.strip())
            if found is not None and found.lastgroup is not None:
                kind = next(name for name, text in found.groupdict().items() if text is not None)
                yield message, kind, found["rest"].strip()


def _add_item(state: AgentState, kind: ItemKind, title: str) -> Iterator[ProposedAddItem]:
    """Yield the addition of an item with this title; nothing if the state already has one."""
    if all(_normalize_words(item.title) != _normalize_words(title) for item in state.items):
        yield ProposedAddItem(op="add", item=ProposedItem(kind=kind, title=title))


def _close_item(state: AgentState, title: str, kind: str) -> Iterator[ProposedUpdateItem]:
    """Yield the update that closes the open item with this title; nothing if none or several have it."""
    status = ItemStatus.RESOLVED if kind == "resolved" else ItemStatus.DISCARDED
    named = [
        i for i in state.items if i.status is ItemStatus.ACTIVE and _normalize_words(i.title) == _normalize_words(title)
    ]
    # With several of the same title it is unclear which one is meant.
    if len(named) == 1:
        yield ProposedUpdateItem(op="update", id=named[0].id, patch=ProposedPatch(status=status))


def _normalize_words(text: str) -> str:
    """Return the words of a title in lower case without punctuation, for comparison."""
    return " ".join(re.findall(r"\w+", text.casefold()))


class AgentStateReflection(BaseModel):
    """The section's answer."""

    agent_state: AgentStateDeltas

    @field_validator("agent_state", mode="before")
    @classmethod
    def _expand(cls, given: Any) -> Any:
        """Validate a flat answer, as the model is asked for, like a nested one."""
        return expand_answer(given)


class AgentStateSection:
    """Asks the model for deltas, which the reducer applies; what is not allowed is reported."""

    name = "agent_state"
    label = "agentState"
    answer: type[BaseModel] = AgentStateReflection
    schema = AGENT_STATE_SCHEMA

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Return instructions with the session's agent state; the section is due on every turn."""
        state = (await store.load_state(tx, turn.scope, turn.session_id)).state
        return make_brief(state)

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """Return the agent state changes that marked lines of the turn state, in place of a model's answer."""
        state = brief.facts["state"]
        assert isinstance(state, AgentState)
        return AgentStateReflection(agent_state=read_deltas(turn, state))

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Apply the changes that the reducer accepts and journal them; applying them again changes nothing."""
        assert isinstance(answer, AgentStateReflection)
        # The turn was reflected before: this is a retry.
        if await store.has_turn_entry(tx, turn.scope, turn.session_id, turn.id, ChangeAuthor.REFLECTION):
            return SectionResult(skipped=1)
        result = await self._apply_to_session(tx, turn, answer, turn.session_id)
        # The state went on in the session that resumed this one, perhaps before this turn was reflected.
        heir = await find_heir(tx, turn.scope, turn.session_id)
        if heir is not None:
            await self._apply_to_session(tx, turn, answer, heir)
        return result

    async def _apply_to_session(
        self, tx: Tx, turn: Turn, answer: AgentStateReflection, session_id: str
    ) -> SectionResult:
        """Journal what the reducer allows of the answer in this session's state; return what came of it."""
        unreadable = list_unreadable(answer.agent_state)
        held = await store.lock_state(tx, turn.scope, session_id)
        proposed = delta_from_proposal(answer.agent_state, now=tx.now, new_id=tx.new_id)
        delta, refused = gate_delta(held.state, proposed)
        delta = replace(delta, cited=await _load_cited(tx, turn, held.state, delta))
        skipped = 0
        # Turns may be reflected out of order; an older turn must not overwrite what a later one changed.
        if await store.has_later_reflection(tx, turn.scope, session_id, turn.at):
            delta, skipped = keep_only_new(held.state, delta)
        source = ChangeSource(who=ChangeAuthor.REFLECTION, reason="reflection on the turn", turn_id=turn.id, at=turn.at)
        amended = await amend_state(tx, turn.scope, session_id, delta, source)
        stored, updated = count_changes(held.state, amended.held.state)
        return SectionResult(
            stored=stored, updated=updated, skipped=skipped, rejected=(*unreadable, *refused, *amended.reported)
        )


SECTIONS: tuple[Section, ...] = (AgentStateSection(),)
"""The section, for the reflection."""


async def _load_cited(tx: Tx, turn: Turn, state: AgentState, delta: StateDelta) -> CitedEvidence:
    """Load what the delta may cite: the turn's messages and tool results, and those of the session that it names.

    What the state holds as evidence is read too, so that repeats of one source are recognized.
    """
    sources = cite_turn(turn)
    told = tuple(text for source in sources.values() for text in source.texts)
    named = (id_ for proposal in delta.assumptions for id_ in (*proposal.evidence, *proposal.contradicted_by))
    held = [id_ for assumption in state.assumptions for id_ in assumption.evidence]
    earlier = [id_ for id_ in dict.fromkeys((*named, *held)) if id_ not in sources] if delta.assumptions else []
    said, results = await find_evidence(tx, turn.scope, turn.session_id, earlier, held=held)
    sources = cite_texts(said, results, turn.user_name) | sources
    return CitedEvidence(sources=sources, speaker=turn.user_name, told=(*told, *state_texts(state)))


def gate_delta(state: AgentState, delta: StateDelta) -> tuple[StateDelta, tuple[Rejection, ...]]:
    """Return a model's delta without the parts that no model may decide, and these as rejections.

    A model decides neither how an expectation turned out, nor adds one that is pending already.
    """
    pending = {(e.action, e.expected_outcome) for e in state.expectations if e.status is ExpectationStatus.PENDING}
    kept, refused = [], []
    for proposal in delta.expectations:
        if proposal.status not in (None, ExpectationStatus.PENDING):
            why = "whether an expectation came true is decided by its tool result, not by a model"
            refused.append(
                Rejection(what=f"status {proposal.status} of expectation {proposal.id or ''}".rstrip(), why=why)
            )
        # A result settles one expectation only: of two that are the same, the second would stay pending.
        if proposal.id is None and (proposal.action, proposal.expected_outcome) in pending:
            refused.append(Rejection(what=f"expectation of {proposal.action}", why="it is pending already"))
            continue
        kept.append(replace(proposal, status=None, last_checked_at=None))
    return replace(delta, expectations=tuple(kept), summarizes=True), tuple(refused)


def keep_only_new(state: AgentState, delta: StateDelta) -> tuple[StateDelta, int]:
    """Return what a late delta of an older turn may still add, and how many of its parts were dropped.

    Records that later turns hold stay as they are; evidence counts whenever it comes.
    """
    held = {id_ for _, id_ in record_names(state)}
    claims = {assumption.id: assumption.hypothesis for assumption in state.assumptions}
    assumptions = tuple(
        replace(proposal, hypothesis=None, confidence=None)
        # Another claim under a held id is a record of its own, and its evidence says nothing of the held one.
        if proposal.id in claims and is_same_claim(proposal.hypothesis or claims[proposal.id], claims[proposal.id])
        else proposal
        for proposal in delta.assumptions
    )
    kept = replace(
        delta,
        entities=tuple(e for e in delta.entities if e.id not in held),
        assumptions=assumptions,
        expectations=tuple(e for e in delta.expectations if e.id not in held),
        tentative_hypotheses=tuple(t for t in delta.tentative_hypotheses if t.id not in held),
        items=tuple(i for i in delta.items if isinstance(i, AddItem)),
    )
    lists = ("entities", "expectations", "tentative_hypotheses", "items")
    return kept, sum(len(getattr(delta, name)) - len(getattr(kept, name)) for name in lists)
