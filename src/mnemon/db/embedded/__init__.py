"""An embedded PostgreSQL in the data directory: created, started, shared by several processes, recovered and stopped.

It deals with files, locks, signals and operating system users, and knows no table. Nothing outside `db` needs to know
whether the database is this one or one that `MNEMON_DATABASE_URL` names.
"""
