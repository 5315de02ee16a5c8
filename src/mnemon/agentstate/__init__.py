"""What an agent holds true within one session: what it understands, assumes and expects, and the items it works on.

One document per session, the fold of a journal of changes; tool results settle expectations without a model. It covers
its session only: facts about a person belong to `memory`, facts about an organization to `engagement`.
"""
