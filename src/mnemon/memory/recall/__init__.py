"""Recall: find the memories and messages of a person that answer a query, ranked and explained, with entity cards.

Recall writes nothing except how often it was called. The ranking rules are in the parent package.
"""
