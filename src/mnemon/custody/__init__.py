"""Custody of a person's data across all packages: export, import and forgetting.

It works from the database's own catalog, so that a new table is covered without being named. Backup and restore of a
whole database are in `cli` and `db`; who may do what is in `access`.
"""
