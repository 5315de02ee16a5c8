"""Words the rules know; the long lists stand in `tables/`, one word after the other.

Phrases from a table a person can read: several a line, divided by `/`.
"""

from importlib import resources


def _read_table(name: str) -> frozenset[str]:
    text = (resources.files(__package__) / "tables" / f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


KINSHIP_WORDS = _read_table("kin")
"""Who someone can be to the person."""
LOOSE_KINSHIP_WORDS = _read_table("loose_kin")
"""Kin that coffee, time and work are said to be too."""
BARE_KINSHIP_WORDS = ("Mom", "Mum", "Dad", "Mama", "Papa", "Grandma", "Grandpa", "Granny", "Nana", "Mother", "Father")
"""Kin that go without "my"."""
OCCUPATIONS = _read_table("occupations")
"""Heads of what someone can be by trade."""
CONDITIONS = _read_table("conditions")
"""What one has for long."""
PETS = _read_table("pets")
NOT_NAMES = _read_table("not_names")
"""Lower-case; words that open a sentence with a capital, or name something that is no person."""
NAMES_ALSO_WORDS = _read_table("words_too")
"""Names that, without a capital, are mostly words."""
NOT_PLACES = _read_table("not_places")
"""What one also lives in."""
SHORT_PLACES = frozenset(
    {"UK", "USA", "US", "UAE", "NYC", "LA", "SF", "DC", "NZ", "EU", "KL", "HK", "D.C", "U.S", "U.K"}
)
"""Places that are all capitals; departments and teams are too."""
NOT_ALLERGENS = _read_table("not_allergens")
"""What one is allergic to in jest."""
NOT_OWN_NAMES = _read_table("not_own_names")
"""What one is called that is no name."""
ACTIONS = _read_table("actions")
"""What one says one will do and can then have done."""
NOT_PROJECTS = _read_table("not_made")
"""What one works on or builds that is no project."""

DIETS = ("vegetarian", "vegan", "pescatarian", "pescetarian", "flexitarian", "gluten-free", "keto", "kosher", "halal")
TRAITS = (
    "left-handed", "right-handed", "ambidextrous", "color-blind", "colorblind", "colour-blind", "lactose intolerant",
    "diabetic", "pregnant", "bilingual", "dyslexic", "autistic", "deaf", "blind", "an introvert", "an extrovert",
    "introverted", "extroverted", "retired", "an only child", "a parent", "a single mom", "a single dad",
)  # fmt: skip
"""What someone is for long and says in so many words."""


def phrase_alternatives(entries: str) -> str:
    """The alternatives of a pattern, in the order of the table."""
    lines = filter(None, map(str.strip, entries.splitlines()))
    return "|".join(phrase.strip() for line in lines for phrase in line.split(" / "))
