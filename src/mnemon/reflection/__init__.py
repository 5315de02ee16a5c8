"""What follows a turn: one model call, one section per room, each applied under its room's own rules.

It knows no room's rule.
"""
