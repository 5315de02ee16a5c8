"""Mnemon: a memory and state server for AI agents.

Rooms are the packages that hold a kind of data, doors are those that translate a protocol, and below both are the
mechanisms, which know nothing of either. ARCHITECTURE.md is the map.
"""
