"""What the person said about themselves, found by rule: the memories and todos of offline mode.

Tables of patterns that a reader can extend (`profile.py`, `people.py`, `projects.py`, `promises.py`), and of what
makes a sentence no statement at all (`guards.py`). Precision before recall: what is not clearly said is not
remembered. Everything found is a quote; nothing is inferred, and the gates apply to it as to any model's answer.
"""
