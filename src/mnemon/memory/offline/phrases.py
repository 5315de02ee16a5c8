"""Phrases from a table a person can read: several a line, divided by `/`."""


def phrases(entries: str) -> str:
    """The alternatives of a pattern, in the order of the table."""
    lines = filter(None, map(str.strip, entries.splitlines()))
    return "|".join(phrase.strip() for line in lines for phrase in line.split(" / "))
