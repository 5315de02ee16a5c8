"""Mnemon: a memory and state server for AI agents.

Rooms hold what is remembered, doors translate, the services knows mechanisms and no nouns. ARCHITECTURE.md is the map.
"""
