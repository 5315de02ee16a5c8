"""Words that the rules know, the long lists in `tables/`, and a reader for phrase lists."""

from importlib import resources


def _read_table(name: str) -> frozenset[str]:
    """Return the words of a table that is shipped beside this file."""
    text = (resources.files(__package__) / "tables" / f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


KINSHIP_WORDS = _read_table("kin")
"""What someone can be to the person."""
LOOSE_KINSHIP_WORDS = _read_table("loose_kin")
"""Kinship words that people also use of coffee, time and work."""
BARE_KINSHIP_WORDS = ("Mom", "Mum", "Dad", "Mama", "Papa", "Grandma", "Grandpa", "Granny", "Nana", "Mother", "Father")
"""Kinship words that are used without "my"."""
MALE_KIN = _read_table("male_kin")
"""Kinship words of men."""
FEMALE_KIN = _read_table("female_kin")
"""Kinship words of women."""
MEDICINES = _read_table("medicines")
"""Medicines that people take for long."""
SPORTS_AND_CRAFTS = _read_table("hobbies")
"""What people do in their free time, as verbs."""
FOODS = _read_table("foods")
"""What people cannot have."""
CONDITION_PHRASES = """
    high blood pressure / low blood pressure / high cholesterol / type \\d diabetes
    type (?:one|two) diabetes / diabetes / herniated disc / slipped disc / bad (?:back|knees?|hip|shoulder)
    sickle cell(?: trait| disease| anemia)? / c(?:o)?eliac(?: disease)? / crohn's(?: disease)?
    parkinson's(?: disease)? / alzheimer's / dementia / multiple sclerosis / rheumatoid arthritis / arthritis
    asthma / adhd / ocd / ptsd / autism / depression / anxiety / bipolar disorder / epilepsy / eczema
    psoriasis / migraines? / tinnitus / insomnia / sleep apnea / anemia / hypothyroidism / hyperthyroidism
    a thyroid (?:condition|problem|disorder) / endometriosis / pcos / fibromyalgia / lupus / scoliosis
    sciatica / glaucoma / cataracts / gout / ibs / acid reflux / gerd / hay fever
    a heart (?:condition|murmur) / afib / a pacemaker / hypertension / dyslexia / dyspraxia
    lactose intolerance / kidney (?:disease|problems) / osteoporosis / osteoarthritis / cancer
    a hearing aid / hearing loss / vertigo / raynaud's / hashimoto's / long covid / copd / emphysema / angina
"""
"""Lasting conditions as people name them."""
OCCUPATIONS = _read_table("occupations")
"""Head words of occupations."""
CONDITIONS = _read_table("conditions")
"""Lasting medical conditions."""
PETS = _read_table("pets")
"""Animals that people keep."""
NOT_NAMES = _read_table("not_names")
"""Lower-case words that begin a sentence with a capital, or name something that is not a person."""
NAMES_ALSO_WORDS = _read_table("words_too")
"""Names that are mostly ordinary words when written without a capital."""
NOT_PLACES = _read_table("not_places")
"""What people live in that is not a place."""
SHORT_PLACES = frozenset(
    {"UK", "USA", "US", "UAE", "NYC", "LA", "SF", "DC", "NZ", "EU", "KL", "HK", "D.C", "U.S", "U.K"}
)
"""Places in capitals only; other such words are mostly departments and teams."""
NOT_ALLERGENS = _read_table("not_allergens")
"""What people call themselves allergic to in jest."""
NOT_OWN_NAMES = _read_table("not_own_names")
"""What people are called that is not a name."""
ACTIONS = _read_table("actions")
"""Verbs of things that people say they will do and can later report as done."""
NOT_PROJECTS = _read_table("not_made")
"""What people work on or build that is not a project."""

DIETS = ("vegetarian", "vegan", "pescatarian", "pescetarian", "flexitarian", "gluten-free", "keto", "kosher", "halal")
TRAITS = (
    "left-handed", "right-handed", "ambidextrous", "color-blind", "colorblind", "colour-blind", "lactose intolerant",
    "diabetic", "pregnant", "bilingual", "dyslexic", "autistic", "deaf", "blind", "an introvert", "an extrovert",
    "introverted", "extroverted", "retired", "an only child", "a parent", "a single mom", "a single dad",
)  # fmt: skip
"""Lasting traits that people name explicitly."""


def phrase_alternatives(entries: str) -> str:
    """Return the phrases, separated by `/` or line ends, as alternatives of a regular expression, in order."""
    lines = filter(None, map(str.strip, entries.splitlines()))
    return "|".join(phrase.strip() for line in lines for phrase in line.split(" / "))
