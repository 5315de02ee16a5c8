"""A statement as patterns expect it: one sentence, without contractions and opening words."""

import re

from mnemon.untrusted_text import reads_outside_text_up_to, strip_invisible

LONGEST_READ = 300
"""Characters of a statement that is read; longer ones are kept apart by their content."""

_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), put)
    for pattern, put in (
        (r"\bcan't\b", "can not"), (r"\bcannot\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"),
        (r"\bdont\b", "do not"), (r"\b(i)['’]?m\b", r"\1 am"), (r"\b(we|they|you)'re\b", r"\1 are"),
        (r"\b(i|we|they|you)'ve\b", r"\1 have"), (r"\b(he|she|it|that|who|where)'s\b", r"\1 is"),
        (r"(?<=\w)'s (?=(?:an?|not|no|now|still|called|named|allergic|vegan|vegetarian|my|our|in|at|from)\b)", " is "),
    )
)  # fmt: skip
_OPENERS = re.compile(
    r"^(?:(?:actually|well|ok|okay|so|and|but|also|fyi|btw|by the way|just so you know|note that|remember that|remember"
    r"|please remember that|please remember|update|correction|i mean|sorry|oh|hey|hi|yes|yeah|no|good news|news|sadly"
    r"|unfortunately|finally)\b[\s,:.!–-]*)+",
    re.IGNORECASE,
)
_SENTENCE_BREAK = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bInc)(?<!\bProf)[.!?]\s+(?=[A-Z])|\n")


@reads_outside_text_up_to(LONGEST_READ)
def plain_statement(content: str) -> str | None:
    """Return a one-sentence statement without contractions and opening words; None for a question or longer text."""
    if len(content) > LONGEST_READ:
        return None
    visible = strip_invisible(content).replace("’", "'").replace("‘", "'").replace("\x00", " ")
    text = " ".join(visible.split("\n"))
    text = " ".join(text.split())
    if text.endswith("?") or _SENTENCE_BREAK.search(text):
        return None
    for pattern, put in _CONTRACTIONS:
        text = pattern.sub(put, text)
    return _OPENERS.sub("", text).rstrip(" .!…;,")
