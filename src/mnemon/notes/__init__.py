"""What other programs keep here for a person: JSON under a namespace and a key, with an expiry and vectors if wanted.

Frameworks put their state here (LangGraph's items and checkpoints, sessions of agent SDKs, files of a memory tool), so
that it has the same keys, scopes, export and forgetting as everything else. Nothing in a note is understood, reflected
or recalled as a memory.
"""
