"""An agent's career: who it is, when it runs, what it carries from run to run, what it decided and whether that still
stands. The room holds agents, their active memory, the heartbeat, the adapters that drive a model or the Claude CLI,
card types, decisions, re-examination, resolution by prices and calibration. It does not know a person's memories, an
engagement or a session's state, and it serves no wire: tools and doors call it.
"""
