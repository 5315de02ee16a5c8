"""What rules alone read from a turn: only what is said in so many words, so that it is rarely wrong.

A line that begins `Assumption:`, `Let's assume …`, `I assume …`, `Hypothesis:` or `Open question:` says so itself;
`Resolved: …` and `Dropped: …` close the one open item whose title they name.
"""

import re
from collections.abc import Iterator
from itertools import islice

from mnemon.agentstate.proposal import (
    AddsItem,
    AgentStateDeltas,
    AgentStateUpdate,
    ItemUpdate,
    ProposedAssumption,
    ProposedHypothesis,
    ProposedItem,
    ProposedPatch,
    UpdatesItem,
)
from mnemon.agentstate.state import AgentState, ItemKind, ItemStatus
from mnemon.outside import reads_outside_text
from mnemon.turn import Role, Said, Turn

STATED_ASSUMPTION = 0.5
MOST_LINES = 100
"""Lines of a turn that say what they are: a turn with more of them is a pasted list."""
_LINE = re.compile(
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
def read(turn: Turn, state: AgentState) -> AgentStateDeltas:
    """The deltas the turn's own words spell out."""
    assumptions: list[ProposedAssumption] = []
    guesses: list[ProposedHypothesis] = []
    items: list[ItemUpdate] = []
    for said, kind, rest in islice(_marked(turn), MOST_LINES):
        if kind == "assumption":
            assumptions.append(
                ProposedAssumption(hypothesis=rest, confidence=STATED_ASSUMPTION, evidence=[said.message_id])
            )
        elif kind == "hypothesis":
            guesses.append(ProposedHypothesis(hypothesis=rest))
        elif kind in ("question", "task"):
            items.extend(_added(state, ItemKind(kind), rest))
        else:
            items.extend(_closed(state, rest, kind))
    return AgentStateDeltas(
        agent_state_item_updates=items,
        agent_state_updates=AgentStateUpdate(assumptions=assumptions, tentative_hypotheses=guesses),
    )


def _marked(turn: Turn) -> Iterator[tuple[Said, str, str]]:
    for said in turn.messages:
        if said.role is Role.TOOL:
            continue
        for line in said.content.splitlines():
            found = _LINE.fullmatch(line.strip())
            if found is not None and found.lastgroup is not None:
                kind = next(name for name, text in found.groupdict().items() if text is not None)
                yield said, kind, found["rest"].strip()


def _added(state: AgentState, kind: ItemKind, title: str) -> Iterator[AddsItem]:
    if all(_plain(item.title) != _plain(title) for item in state.items):
        yield AddsItem(op="add", item=ProposedItem(kind=kind, title=title))


def _closed(state: AgentState, title: str, kind: str) -> Iterator[UpdatesItem]:
    status = ItemStatus.RESOLVED if kind == "resolved" else ItemStatus.DISCARDED
    named = [i for i in state.items if i.status is ItemStatus.ACTIVE and _plain(i.title) == _plain(title)]
    if len(named) == 1:
        yield UpdatesItem(op="update", id=named[0].id, patch=ProposedPatch(status=status))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
