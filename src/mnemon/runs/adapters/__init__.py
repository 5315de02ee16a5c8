"""What performs an agent's tasks: a model behind Mnemon's own protocol, or the Claude CLI as a program.

Each file knows one vendor and implements the interface in `runs/adapter.py`. None of them opens a transaction or knows
what a run is for.
"""
