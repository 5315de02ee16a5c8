"""Assemble what the model is given before it answers: the layers of all rooms, cut to a budget and fenced.

This package reads and never writes.
"""
