"""A model that says what a script tells it, in process (`ScriptedLlm`) or over HTTP (`ScriptedServer`).

Tests and demos use it to play any conversation, answer or fault; `script.py` shows how. Unscripted it replies with one
fixed line and fills every schema with the smallest valid answer.
"""
