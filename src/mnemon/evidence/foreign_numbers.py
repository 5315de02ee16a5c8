"""Number words of languages other than English, which are recognized and not converted.

A statement may use one only if its source does. The tables have German, French, Spanish, Italian, Portuguese and Dutch;
words that are also common English or grammatical words ("six", "once", "seis" is none) are left to the other gates.
"""

import re

from mnemon.evidence.vocabulary import word_list
from mnemon.untrusted_text import reads_outside_text

_GERMAN_UNITS = "ein|eins|zwei|drei|vier|fünf|fuenf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwoelf"
_GERMAN_TENS = "zwanzig|dreißig|dreissig|vierzig|fünfzig|fuenfzig|sechzig|siebzig|achtzig|neunzig"
_DUTCH_UNITS = "een|twee|drie|vier|vijf|zes|zeven|acht|negen|tien|elf|twaalf"
_DUTCH_TENS = "twintig|dertig|veertig|vijftig|zestig|zeventig|tachtig|negentig"
_COMPOUND = re.compile(
    rf"(?:(?:{_GERMAN_UNITS}|{_GERMAN_TENS}|und|hundert|tausend|zehn)+|(?:{_DUTCH_UNITS}|{_DUTCH_TENS}|en|ën|honderd|duizend)+"
    r"|venti\w{0,8}|trenta\w{0,8}|quaranta\w{0,8}|cinquanta\w{0,8}|sessanta\w{0,8}|settanta\w{0,8}|ottanta\w{0,8}|novanta\w{0,8}"
    r"|veinti\w{2,8}|\w{2,8}cientos|\w{2,8}cientas|\w{2,12}cento|\w{2,12}mila|quatre-vingts?(?:-\w{2,8})?|soixante(?:-\w{2,8})?)"
)
_WORDS = word_list("foreign_number")
_NOT_NUMBERS = frozenset({"en", "und", "een", "ein", "eins", "elf", "acht", "zehn"})
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LONGEST_WORD = 60


@reads_outside_text
def foreign_number_words(text: str) -> frozenset[str]:
    """Return the number words of other languages than English in the text, case-folded."""
    found = set()
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if len(word) <= _LONGEST_WORD and (word in _WORDS or (word not in _NOT_NUMBERS and _is_compound(word))):
            found.add(word)
    return frozenset(found)


def _is_compound(word: str) -> bool:
    """Say whether a word is a compound of number words, as German, Dutch, Italian and Spanish form them."""
    return len(word) > 6 and _COMPOUND.fullmatch(word) is not None
