"""Background work: rows that say what is due, and the runner that claims and runs them.

This package treats kinds and keys as opaque strings. Rows hold ids and times only.
"""
