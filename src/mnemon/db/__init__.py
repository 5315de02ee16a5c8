"""PostgreSQL: connections, transactions under row-level security, named statements, migrations, the embedded server.

A mechanism: it knows no noun of the rooms above it.
"""
