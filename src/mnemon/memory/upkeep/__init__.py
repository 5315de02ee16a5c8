"""Upkeep of memories over time: the curator's runs, the spine's versions, the seed; each a job or a single call.

The rules are beside the memories (`curator.py`, `spine.py`, `importance.py`); the files here read, call the model and
write.
"""
