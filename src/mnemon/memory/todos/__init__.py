"""Todos: what a person promised, does regularly, left open or struggles with, per persona.

Unlike a memory, a todo ends.
"""
