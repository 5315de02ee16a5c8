"""The slug: a name written so that its spellings by case, spacing and punctuation are one."""

import hashlib
import unicodedata

from mnemon.outside import normal_form, reads_outside_text

_SEPARATORS = {"Zs", "Zl", "Zp", "Pd", "Pc"}
_VARIATION = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


@reads_outside_text
def slug(name: str) -> str:
    """Lowercase, punctuation removed, spaces and hyphens as single underscores; letters of every script stay.

    A name without a letter or digit ("🚀") gets a hash, so that two such names do not become one.
    """
    if name.isascii() and (plain := "_".join(filter(None, name.lower().translate(_ASCII).split("_")))):
        return plain
    text = normal_form("NFKC", name).lower()
    words = "".join(_kept(character) for character in text).split("_")
    joined = normal_form("NFKC", "_".join(filter(None, map(_without_stray_marks, words))))
    if joined or not name.strip():
        return joined
    digest = hashlib.sha256(normal_form("NFKC", name.strip()).encode("utf-8", "surrogatepass"))
    return f"x{digest.hexdigest()[:12]}"


def _kept(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] in "LN":
        return character
    if category in _SEPARATORS or character.isspace():
        return "_"
    # Accents and vowel signs belong to the letter before them; emoji style selectors are marks only by category.
    if category[0] == "M" and not any(ord(character) in span for span in _VARIATION):
        return character
    return ""


def _without_stray_marks(word: str) -> str:
    start = 0
    while start < len(word) and unicodedata.category(word[start])[0] == "M":
        start += 1
    return word[start:]


_ASCII = {number: _kept(chr(number)) for number in range(128)}
"""What stays of each plain character: most names are made of these alone."""
