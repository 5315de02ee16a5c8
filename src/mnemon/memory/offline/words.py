"""Words the rules know; the long lists stand in `tables/`, one word after the other."""

from importlib import resources


def _table(name: str) -> frozenset[str]:
    text = (resources.files(__package__) / "tables" / f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


KIN = _table("kin")
"""Who someone can be to the person."""
LOOSE_KIN = _table("loose_kin")
"""Kin that coffee, time and work are said to be too."""
BARE_KIN = ("Mom", "Mum", "Dad", "Mama", "Papa", "Grandma", "Grandpa", "Granny", "Nana", "Mother", "Father")
"""Kin that go without "my"."""
OCCUPATIONS = _table("occupations")
"""Heads of what someone can be by trade."""
CONDITIONS = _table("conditions")
"""What one has for long."""
PETS = _table("pets")
NOT_NAMES = _table("not_names")
"""Lower-case; words that open a sentence with a capital, or name something that is no person."""
WORDS_TOO = _table("words_too")
"""Names that, without a capital, are mostly words."""
NOT_PLACES = _table("not_places")
"""What one also lives in."""
SHORT_PLACES = frozenset(
    {"UK", "USA", "US", "UAE", "NYC", "LA", "SF", "DC", "NZ", "EU", "KL", "HK", "D.C", "U.S", "U.K"}
)
"""Places that are all capitals; departments and teams are too."""
NOT_ALLERGENS = _table("not_allergens")
"""What one is allergic to in jest."""
NOT_OWN_NAMES = _table("not_own_names")
"""What one is called that is no name."""
ACTIONS = _table("actions")
"""What one says one will do and can then have done."""
NOT_MADE = _table("not_made")
"""What one works on or builds that is no project."""

DIETS = ("vegetarian", "vegan", "pescatarian", "pescetarian", "flexitarian", "gluten-free", "keto", "kosher", "halal")
TRAITS = (
    "left-handed", "right-handed", "ambidextrous", "color-blind", "colorblind", "colour-blind", "lactose intolerant",
    "diabetic", "pregnant", "bilingual", "dyslexic", "autistic", "deaf", "blind", "an introvert", "an extrovert",
    "introverted", "extroverted", "retired", "an only child", "a parent", "a single mom", "a single dad",
)  # fmt: skip
"""What someone is for long and says in so many words."""
