"""Vectors of the texts that rooms keep: made outside any transaction, later where the embedder is down, and moved to
another model while serving. Which texts those are and where their vectors stand, the rooms know; the models that make
them are in `embedding`, and how nearness is weighed is `memory`'s."""
