"""The council: a lead's specialists are asked by the server, each for itself, before the lead begins.

The server asks, and not the lead, so that during a re-examination nothing the lead knows can reach a specialist.
"""

import asyncio
from collections.abc import Mapping, Sequence

from mnemon.errors import MnemonError
from mnemon.runs.adapter import Driver, Emit, Event, EventType, RunFailed, Task
from mnemon.runs.agent import Adapter, Agent
from mnemon.runs.prompt import Report, system_prompt
from mnemon.runs.run import RunUsage


async def convene(
    drivers: Mapping[Adapter, Driver],
    org_id: str,
    asked: Sequence[tuple[Agent, str]],
    emit: Emit,
    *,
    blind: bool,
) -> tuple[list[Report], RunUsage]:
    """What each specialist reports to its prompt, in order, and what it cost together. One that fails says so."""
    made = await asyncio.gather(*(_consult(drivers, org_id, agent, prompt, emit, blind) for agent, prompt in asked))
    usage = RunUsage()
    for _, spent in made:
        usage = usage.plus(spent)
    return [report for report, _ in made], usage


async def _consult(
    drivers: Mapping[Adapter, Driver], org_id: str, agent: Agent, prompt: str, emit: Emit, blind: bool
) -> tuple[Report, RunUsage]:
    named = {"agentId": agent.id, "name": agent.name}
    await emit(Event(type=EventType.CONSULTATION, data={**named, "prompt": prompt, "blind": blind}))
    task = Task(org_id=org_id, agent=agent, system=system_prompt(agent, ()), prompt=prompt, card=None, blind=blind)
    try:
        outcome = await drivers[agent.adapter].perform(task, _unheard)
    except MnemonError as error:
        await emit(Event(type=EventType.CONSULTATION, data={**named, "error": error.detail}))
        usage = error.usage if isinstance(error, RunFailed) else RunUsage()
        return Report(name=agent.name, text=f"(no report: {error.detail})"), usage
    await emit(Event(type=EventType.CONSULTATION, data={**named, "report": outcome.reply}))
    return Report(name=agent.name, text=outcome.reply), outcome.usage


async def _unheard(event: Event) -> None:
    """A specialist's own steps are not the lead's."""
