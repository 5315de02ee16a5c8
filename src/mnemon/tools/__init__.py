"""The tools that an agent can call, each defined once; chat, runs and MCP serve them.

A tool calls one room's function and holds no rule. The docstrings of argument classes and the descriptions are part
of what models read: changing one changes a prompt.
"""
