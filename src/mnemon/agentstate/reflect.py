"""The reflection's section `agent_state`: reconciles what the agent holds true with what the turn showed."""

from dataclasses import replace

from pydantic import BaseModel

from mnemon.agentstate import offline, store
from mnemon.agentstate.change import names, tally
from mnemon.agentstate.delta import AddItem, Delta
from mnemon.agentstate.journal import Source, amend
from mnemon.agentstate.proposal import AgentStateDeltas
from mnemon.agentstate.reading import delta_of, unreadable
from mnemon.agentstate.state import DOCUMENT, AgentState, ExpectationStatus
from mnemon.agentstate.store import Who
from mnemon.db.tx import Tx
from mnemon.section import Brief, Rejection, Report, Section
from mnemon.turn import Turn

INSTRUCTIONS = """\
`agent_state` holds what the agent works with in this session. Read the turn and the state below and return only what \
changes, in `agent_state_updates` and `agent_state_item_updates`; leave out what stays as it is.
- current_understanding: entities and dependencies that the messages or tool results name. Keep the ids they use.
- assumptions: what the agent now takes to be true, with `evidence`: the ids of the messages or tool results that show \
it. A confidence counts only for a new assumption. When something speaks against one that is held, repeat its id and \
put the ids of what speaks against it in `contradicted_by`; how far its confidence falls is computed.
- A tentative hypothesis that has found evidence: an assumption with the same id and that evidence.
- tentative_hypotheses: what may be true but nothing shows yet.
- expectations: what an action still to come should do, as exactly as it can be checked (expected_ids, expected_type, \
expected_count). Leave `status` out: results decide it.
- agent_state_item_updates: {"op": "add", "item": {kind, title, …}} for a task, doc, note, idea or open question; \
{"op": "update", "id", "patch"} with the status resolved or discarded when it is settled; {"op": "remove", "id"} when \
it was a mistake.
Use nothing but the messages, the tool results and the state. Add no fact, number or name they do not contain. \
Return empty lists when nothing changed."""


class AgentStateReflection(BaseModel):
    """The section's answer."""

    agent_state: AgentStateDeltas


class AgentStateSection:
    """Deltas only, applied by the reducer; what they may not do is reported."""

    name = "agent_state"
    label = "agentState"
    answer: type[BaseModel] = AgentStateReflection

    async def brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """The state as it stands, with its ids. Due on every turn."""
        state = (await store.read(tx, turn.scope, turn.session_id)).state
        document = DOCUMENT.dump_json(state, by_alias=True, exclude_none=True).decode()
        return Brief(instructions=INSTRUCTIONS, state=document, facts={"state": state})

    def by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        state = brief.facts["state"]
        assert isinstance(state, AgentState)
        return AgentStateReflection(agent_state=offline.read(turn, state))

    async def apply(self, tx: Tx, turn: Turn, answer: BaseModel) -> Report:
        """The answer is in the journal, as far as the reducer let it; a second time changes nothing."""
        assert isinstance(answer, AgentStateReflection)
        if await store.has_turn(tx, turn.scope, turn.session_id, turn.id, Who.REFLECTION):
            return Report(skipped=1)
        unread = unreadable(answer.agent_state)
        held = await store.lock(tx, turn.scope, turn.session_id)
        delta, refused = gated(held.state, delta_of(answer.agent_state, now=tx.now, new_id=tx.new_id))
        skipped = 0
        if await store.reflected_after(tx, turn.scope, turn.session_id, turn.at):
            delta, skipped = only_new(held.state, delta)
        source = Source(who=Who.REFLECTION, reason="reflection on the turn", turn_id=turn.id, at=turn.at)
        amended = await amend(tx, turn.scope, turn.session_id, delta, source)
        stored, updated = tally(held.state, amended.held.state)
        return Report(stored=stored, updated=updated, skipped=skipped, rejected=(*unread, *refused, *amended.reported))


SECTIONS: tuple[Section, ...] = (AgentStateSection(),)


def gated(state: AgentState, delta: Delta) -> tuple[Delta, tuple[Rejection, ...]]:
    """The delta without what a model may not decide: how an expectation turned out, or one that is pending already."""
    pending = {(e.action, e.expected_outcome) for e in state.expectations if e.status is ExpectationStatus.PENDING}
    kept, refused = [], []
    for proposal in delta.expectations:
        if proposal.status not in (None, ExpectationStatus.PENDING):
            why = "whether an expectation came true is decided by its tool result, not by a model"
            refused.append(
                Rejection(what=f"status {proposal.status} of expectation {proposal.id or ''}".rstrip(), why=why)
            )
        if proposal.id is None and (proposal.action, proposal.expected_outcome) in pending:
            refused.append(Rejection(what=f"expectation of {proposal.action}", why="it is pending already"))
            continue
        kept.append(replace(proposal, status=None, last_checked_at=None))
    return replace(delta, expectations=tuple(kept), summarizes=True), tuple(refused)


def only_new(state: AgentState, delta: Delta) -> tuple[Delta, int]:
    """What an older turn, reflected late, may still add, and how much of it is passed over.

    What later turns hold stays as they left it; evidence counts whenever it comes.
    """
    held = {id_ for _, id_ in names(state)}
    assumptions = tuple(
        replace(proposal, hypothesis=None, confidence=None) if proposal.id in held else proposal
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
