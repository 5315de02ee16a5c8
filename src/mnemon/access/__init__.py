"""Access: organizations, their keys and what each key may do, the audit log, and responses stored for retries.

It knows nothing of HTTP, nor of the data that a key gives access to.
"""
