"""JSON that other programs store for a person, under a namespace and a key, with an optional expiry and vectors.

Frameworks keep their state here (LangGraph's items and checkpoints, sessions of agent SDKs, files of a memory tool), so
that it has the same API keys, scopes, export and forgetting as everything else. Notes are not interpreted, reflected on
or recalled as memories (decision 14).
"""
