"""What the reflection is shown of the agent state: a line for each record that a turn may change, under a handle.

Settled items and confirmed expectations are left out: nothing about them changes any more.
"""

from collections.abc import Iterator, Mapping

from mnemon.agentstate.prompt import INSTRUCTIONS
from mnemon.agentstate.state import AgentState, ExpectationStatus, ItemStatus
from mnemon.section import Brief, BriefItem, number_handles

_NAME_FIELDS = frozenset(
    {
        "claims.id",
        "claims.evidence",
        "claims.contradicted_by",
        "items.id",
        "assumptions.id",
        "assumptions.evidence",
        "assumptions.contradicted_by",
        "tentative_hypotheses.id",
        "agent_state_item_updates.id",
    }
)
"""The fields of the answer, as it is asked for and as the contract has it, that name a record or its evidence."""


def make_brief(state: AgentState) -> Brief:
    """Return the prompt parts of the section: instructions, and the records that may change, each with its handle."""
    active = [item for item in state.items if item.status is ItemStatus.ACTIVE]
    names = {
        **number_handles("A", (one.id for one in state.assumptions), {one.id for one in state.assumptions}),
        **number_handles("G", (one.id for one in state.tentative_hypotheses)),
        **number_handles("I", (one.id for one in active)),
    }
    handles = {meant: handle for handle, meant in names.items()}
    return Brief(
        instructions=INSTRUCTIONS,
        items=tuple(_state_items(state, handles)),
        names=names,
        name_fields=_NAME_FIELDS,
        facts={"state": state},
    )


def _state_items(state: AgentState, handle_of: Mapping[str, str]) -> Iterator[BriefItem]:
    """Yield a prompt item for each record of the agent state but settled ones; failed expectations are urgent.

    `handle_of` gives the short handle that the prompt shows in place of a record's id.
    """
    for expectation in state.expectations:
        if expectation.status is ExpectationStatus.FAILED:
            text = f"failed expectation of {expectation.action}: {expectation.expected_outcome}"
            yield BriefItem(text=text, urgent=True)
        elif expectation.status is ExpectationStatus.PENDING:
            yield BriefItem(text=f"pending expectation of {expectation.action}: {expectation.expected_outcome}")
    for item in state.items:
        if item.status is ItemStatus.ACTIVE:
            details = f": {item.details}" if item.details else ""
            about = f" (about {', '.join(item.related_entity_ids)})" if item.related_entity_ids else ""
            yield BriefItem(text=f"{handle_of[item.id]} {item.kind}: {item.title}{details}{about}")
    for assumption in state.assumptions:
        yield BriefItem(text=f"{handle_of[assumption.id]} ({assumption.confidence:.2f}): {assumption.hypothesis}")
    for guess in state.tentative_hypotheses:
        yield BriefItem(text=f"{handle_of[guess.id]} possibly: {guess.hypothesis}")
    for entity in state.current_understanding.entities:
        name = f" “{entity.name}”" if entity.name else ""
        yield BriefItem(text=f"{entity.kind} {entity.id}{name}")
    for dependency in state.current_understanding.dependencies:
        yield BriefItem(text=f"{dependency.source} {dependency.rel or 'relates to'} {dependency.target}")
