"""Tables about names: spellings of one name, names that differ despite similar sound, and words to leave out."""

from importlib import resources


def _read_table(name: str) -> str:
    """Return the text of a word list that is shipped beside this file."""
    return (resources.files(__package__) / "tables" / name).read_text(encoding="utf-8")


NAME_VARIANTS: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split()) for line in _read_table("one_name.txt").splitlines()
)
"""Spellings and short forms of one name; a short form may be in several groups."""
KNOWN_NAMES: frozenset[str] = frozenset(_read_table("other_names.txt").split()).union(*NAME_VARIANTS)
"""Known names: two of them that share no group above are different names, however similar they sound."""

MALE_TITLES = frozenset({"mr", "herr", "monsieur", "senor", "sir", "lord", "mister"})
FEMALE_TITLES = frozenset({"mrs", "ms", "miss", "frau", "madame", "mme", "senora", "lady", "dame"})
TITLES = MALE_TITLES | FEMALE_TITLES | frozenset({"dr", "doctor", "prof", "professor", "rev", "capt", "captain", "hon"})
GENERATION_SUFFIXES = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv", "v"})
NAME_PARTICLES = frozenset(
    {"de", "del", "della", "di", "da", "dos", "van", "von", "der", "den", "la", "le", "el", "al", "bin", "ibn"}
)

LEGAL_FORMS = frozenset({
    "inc", "incorporated", "corp", "corporation", "co", "company", "ltd", "limited", "llc", "llp", "plc", "gmbh", "ag",
    "sa", "sas", "sarl", "srl", "spa", "bv", "nv", "ab", "as", "oy", "oyj", "aps", "pty", "kk", "kg", "sp", "z", "oo",
    "zoo", "sl", "lda", "holdings", "group",
})  # fmt: skip
PROJECT_WORDS = frozenset({"project", "the"})
GENERIC_WORDS = frozenset({"app", "platform", "initiative", "programme", "program", "effort"})
"""Words that usually only name the kind of thing; without them a name is clear only in context."""

PLACE_ABBREVIATIONS = {
    "al": "alabama", "ak": "alaska", "az": "arizona", "ar": "arkansas", "ca": "california", "co": "colorado",
    "ct": "connecticut", "de": "delaware", "fl": "florida", "ga": "georgia", "hi": "hawaii", "id": "idaho",
    "il": "illinois", "in": "indiana", "ia": "iowa", "ks": "kansas", "ky": "kentucky", "la": "louisiana", "me": "maine",
    "md": "maryland", "ma": "massachusetts", "mi": "michigan", "mn": "minnesota", "ms": "mississippi", "mo": "missouri",
    "mt": "montana", "ne": "nebraska", "nv": "nevada", "nh": "new hampshire", "nj": "new jersey", "nm": "new mexico",
    "ny": "new york", "nc": "north carolina", "nd": "north dakota", "oh": "ohio", "ok": "oklahoma", "or": "oregon",
    "pa": "pennsylvania", "ri": "rhode island", "sc": "south carolina", "sd": "south dakota", "tn": "tennessee",
    "tx": "texas", "ut": "utah", "vt": "vermont", "va": "virginia", "wa": "washington", "wv": "west virginia",
    "wi": "wisconsin", "wy": "wyoming", "dc": "district of columbia", "uk": "united kingdom", "gb": "united kingdom",
    "us": "united states", "usa": "united states", "uae": "united arab emirates",
}  # fmt: skip
PLACE_WORD_EXPANSIONS = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort"}

KINSHIP_WORDS = frozenset({
    "mother", "mom", "mum", "father", "dad", "sister", "brother", "son", "daughter", "aunt", "uncle", "niece", "nephew",
    "cousin", "wife", "husband", "spouse", "partner", "grandmother", "grandfather", "grandma", "grandpa",
    "granddaughter", "grandson", "twin",
})  # fmt: skip
MALE_PRONOUNS = frozenset({"he", "him", "his", "himself"})
FEMALE_PRONOUNS = frozenset({"she", "her", "hers", "herself"})


COMMON_CONTEXT_WORDS: frozenset[str] = frozenset(_read_table("common_words.txt").split())
"""Words that two entities may share without being one."""
