"""PostgreSQL access: connections, transactions under row-level security, named statements, migrations, embedded server.

This package knows nothing of the packages that use it.
"""
