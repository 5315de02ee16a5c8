"""What crosses every room: a person's data taken out, brought in, forgotten. Works from the database's own catalog, so
that a new table is covered by itself. Not backup and restore of a whole database (cli), not who may do it (access)."""
