"""The console: web pages that show what agents remember, believe and decided.

A handler calls functions of a room and never runs SQL itself. A page and its `.json` twin have the same values.
"""
