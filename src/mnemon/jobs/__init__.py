"""Work: rows that say what is due, and the runner that takes them.

A mechanism: it knows kinds and keys as words, never what they mean. Rows hold ids and times only.
"""
