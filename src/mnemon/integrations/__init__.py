"""Adapters for frameworks people already use, each thin, each an optional extra. Their data lives in our rooms."""
