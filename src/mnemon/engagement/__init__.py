"""What is believed about an organization's situation, why, and what is not known yet.

It consists of hypotheses with attributed evidence, unknowns, findings and the week of the engagement: one document per
organization, folded from a journal that only reflection writes. Facts about one person belong to memory, facts about
one session to agent state.
"""
