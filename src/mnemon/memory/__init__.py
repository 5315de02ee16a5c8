"""Memory: everything known about a person.

Memories with their keys, versions and sources, the entities they mention, recall and ranking, cards, todos, and
their upkeep. The conversation itself is in `sessions`, beliefs about an organization are in `engagement`, and work
that reaches across rooms is in `custody`.
"""
