"""Kinship words: which of them mean the same person, so that mom, mother and mum are one entity."""

KINSHIP_SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("mother", "mom", "mum", "mama", "mommy", "mummy", "ma", "mam"),
    ("father", "dad", "papa", "daddy", "pa", "pop"),
    ("grandmother", "grandma", "granny", "nana", "gran"),
    ("grandfather", "grandpa", "granddad", "grandad"),
    ("wife", "spouse_wife", "wifey"),
    ("husband", "hubby"),
    ("mother_in_law", "mil"),
    ("father_in_law", "fil"),
    ("manager", "boss", "line_manager", "supervisor"),
    ("cofounder", "co_founder"),
    ("coworker", "co_worker", "colleague"),
    ("neighbour", "neighbor"),
    ("roommate", "flatmate", "housemate"),
    ("fiance", "fiancé", "fiancee", "fiancée"),
)
"""Words for one and the same person, the first of each group standing for it."""
_BY_WORD = {word: group[0] for group in KINSHIP_SYNONYMS for word in group}
SINGLE_ROLES = frozenset({
    "mother", "father", "wife", "husband", "manager", "girlfriend", "boyfriend", "fiance", "partner", "spouse",
    "grandmother", "grandfather", "landlord", "landlady", "doctor", "dentist", "therapist", "mother_in_law",
    "father_in_law",
})  # fmt: skip
"""Roles that one person at a time has: "my wife" means somebody, "my friend" does not."""


def kinship_slug(slug: str) -> str:
    """Return the slug that stands for all words of the same kinship: `mother` for `mum`; any other slug as it is."""
    bare = slug.removeprefix("my_").removeprefix("our_")
    return _BY_WORD.get(bare, bare if bare in SINGLE_ROLES else slug)
