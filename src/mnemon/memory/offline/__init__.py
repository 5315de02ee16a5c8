"""Offline mode: memories and todos that are extracted from the person's messages by rules, without a model.

Tables of patterns that a reader can extend (`profile.py`, `people.py`, `projects.py`, `promises.py`), and of phrases
that make a sentence no statement (`guards.py`). Precision comes before recall: what is not clearly said is not
remembered. Everything found is a quote; nothing is inferred, and the gates apply as they do to a model's answer.
"""
