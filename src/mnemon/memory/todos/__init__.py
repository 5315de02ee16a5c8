"""Todos: what a person promised, does regularly, left open or struggles with, per persona. Not memories: a todo
ends."""
