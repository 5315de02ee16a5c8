"""What is believed about an organization's situation, why, and what is not known yet: hypotheses with attributed
evidence, unknowns, findings and the week of the engagement. One document per organization, folded from a journal that
only reflection writes. It is not about one person (that is memory) nor about one session (that is agent state)."""
