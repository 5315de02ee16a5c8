"""Adapters for agent frameworks, each thin and an optional extra. Their data are notes, stored through the client."""
