"""A model that says what a script tells it, in process (`ScriptedLlm`) or over HTTP (`ScriptedServer`).

Tests and demos play any conversation, answer or fault with it; `script.py` shows how. It has no wits of its
own: unscripted, it replies with one fixed line and fills every schema with the emptiest valid answer.
"""
