"""What an agent holds true within one session: what it understands, assumes and expects, and the items it carries.

One document per session, the fold of a journal of changes; tool results settle expectations without a model. It knows
nothing beyond its session: what is known about a person is `memory`, about an organization `engagement`.
"""
