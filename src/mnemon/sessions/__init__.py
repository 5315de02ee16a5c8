"""People, personas, sessions, turns, messages, and the summaries made from them.

This package records what was said, by whom and when. Packages above it decide what the words mean.
"""
