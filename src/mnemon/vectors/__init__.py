"""Vectors of stored texts: made outside any transaction, later when the embedder is down, moved to another model.

The other rooms know which texts have vectors and store them. The models that make vectors are in `embedding`, and how
similarity counts in a search is up to `memory`.
"""
