"""An agent's career: its settings, when it runs, what it carries between runs, its decisions and how they turned out.

The room holds agents, their active memory, the heartbeat, the adapters that drive a model or the Claude CLI, card
types, decisions, re-examination, resolution by prices and calibration. It does not know a person's memories, an
engagement or a session's state, and it serves no wire: tools and doors call it.
"""
