"""Vectors of memories, their versions and messages: made outside any transaction, kept beside what they stand for.
Not the models that make them (embedding) and not how nearness is weighed (ranking)."""
