"""Sources: who said what is known about a person, and the withdrawal of everything that one source said.

A withdrawal is not forgetting: the text stays on record as a withdrawn version or an archived memory, and messages are
not touched.
"""
