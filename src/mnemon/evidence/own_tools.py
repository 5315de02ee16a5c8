"""Which tools are Mnemon's own: what they give back came from memory, so it is never a source for a new one.

A program may hand our tools on under names of its own making (`mcp__mnemon__recall`, `mnemon_recall`, `Recall`), so a
name is compared without the server it is named after and without its way of writing.
"""

import re

from mnemon.outside import reads_outside_text_up_to

OWN_TOOLS = frozenset(
    {
        "recall",
        "remember",
        "forget",
        "get_context",
        "get_engagement",
        "get_my_decisions",
        "list_todos",
        "expect",
        "report_result",
        "create_entities",
        "create_relations",
        "add_observations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "read_graph",
        "search_nodes",
        "open_nodes",
        "memory",
    }
)
"""Every tool that chat, runs and MCP serve, and Anthropic's memory tool, which keeps its files with us."""

_SERVERS = frozenset({"mnemon", "orchestrator", "memory", "server", "mcp"})
"""Words that a name may begin with: what the server is called, and what clients put before it."""
_LONGEST_NAME = 200
_PARTS = re.compile(r"__|[./:]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BLANKS = re.compile(r"[\s_-]+")


@reads_outside_text_up_to(_LONGEST_NAME)
def is_own_tool(name: str | None) -> bool:
    """Whether the name means one of our own tools, whatever stands before it and however it is written."""
    if name is None or len(name) > _LONGEST_NAME:
        return False
    words = _BLANKS.split(_HUMP.sub("_", _PARTS.split(name.strip())[-1]).strip("_- ").casefold())
    while len(words) > 1 and words[0] in _SERVERS:
        words = words[1:]
    return "_".join(words) in OWN_TOOLS
