"""Vectors of stored texts: computed outside any transaction, later when the embedder is down, and moved to another
model while serving. The other rooms know which texts have vectors and store them; the models are in `embedding`, and
how similarity counts in a search is up to `memory`.
"""
