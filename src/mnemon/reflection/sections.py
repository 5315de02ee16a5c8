"""The sections of a reflection, one or more per room, in the order they are asked for."""

from mnemon.agentstate.reflect import SECTIONS as AGENT_STATE
from mnemon.section import Section


def sections() -> tuple[Section, ...]:
    """Every section there is."""
    return (*AGENT_STATE,)
