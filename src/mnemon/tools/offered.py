"""Which tools stand where."""

from collections.abc import Collection, Mapping

from mnemon.tool import Tool
from mnemon.tools.expect import Expect

_IN_CHAT: tuple[Tool, ...] = (Expect(),)


def chat_tools(grants: Collection[str]) -> Mapping[str, Tool]:
    """The tools a chat model may call for a key with these scopes."""
    return {tool.name: tool for tool in _IN_CHAT if tool.needs in grants}
