"""A PostgreSQL of our own under the data directory: made, started, shared by several processes, recovered and
stopped. It knows files, locks, signals and operating system users; it knows no table, and nothing outside `db`
needs to know whether the database is this one or one that `MNEMON_DATABASE_URL` names.
"""
