"""People, personas, sessions, messages and turns, and the summaries made of them: what was said, by whom and when.

What it means is for the rooms above.
"""
