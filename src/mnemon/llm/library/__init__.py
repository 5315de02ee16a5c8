"""Anthropic's and Google's models, by way of pydantic-ai: its direct requests only, none of its agents or retries.

Importing what is in here takes seconds, so nothing does before such a model is named.
"""
