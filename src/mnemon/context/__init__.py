"""What the model is given before it answers: the layers of all rooms, cut to a budget and fenced.

It reads and never writes.
"""
