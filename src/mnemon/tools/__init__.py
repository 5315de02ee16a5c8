"""Each tool that an agent can call, once: chat, runs and MCP serve them.

A tool calls one room's function and holds no rule.
"""
