"""What follows a turn: one model call with one section per room; each room applies its part by its own rules.

None of those rules is here.
"""
