"""The story of `mnemon demo`: its steps as data (TOML), and the player that sends them to the server.

The player uses the HTTP API with a scripted model and a clock of its own. It writes no rows itself: every row comes
from a request or a job.
"""
