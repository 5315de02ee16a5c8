"""Who may come in: organizations, their keys and what each key may do, the audit log, and replies kept for a retry.

It knows no HTTP and nothing of what lies behind the door.
"""
