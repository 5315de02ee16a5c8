"""The rules that decide whether a claim is supported: the quote gate, the number gate, computed confidence, the
attributed evidence line, and the rule for what was said in confidence.

Pure functions for every package; nothing here stores anything, calls a model or imports a room.
"""
