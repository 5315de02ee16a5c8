"""The Python client, async and sync. It imports nothing of the server."""
