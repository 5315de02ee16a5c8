"""The HTTP API: each handler translates a request, calls one function of a room and translates its result back.

The rules are in the rooms; nothing here decides anything.
"""
