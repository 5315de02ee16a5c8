"""The engagement section by rules: questions that a person says are open, with the reason they give. Nothing else.

Precision before recall. A hypothesis, a stance or a strength is a judgement that no rule here can make.
"""

import re

from mnemon.engagement.answer import Proposal, Question
from mnemon.outside import reads_outside_text
from mnemon.turn import Turn

_LONGEST = 1_000
"""Characters of a sentence that is read: more than a question and a reason can have."""
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_UNKNOWN = re.compile(
    r"^\W*(?:honestly,?\s+|but\s+|and\s+|so\s+)?(?:we|i|nobody\s+here|none\s+of\s+us)\s+(?:still\s+|really\s+)?"
    r"(?:(?:don['’]t|do\s+not)\s+know|know[s]?)\s+(?P<question>(?:whether|why|how|who|what|when|where|which)\s+[^,;]{8,200}?)"
    r",?\s+(?:and|which|it|that)\s+(?:it\s+|that\s+)?(?:matters|is\s+important)\s+because\s+(?P<why>.{8,200}?)[.!]?\s*$",
    re.IGNORECASE,
)
_NOBODY = re.compile(r"\b(?:nobody\s+here|none\s+of\s+us)\s+knows?\b", re.IGNORECASE)
_NOT_KNOWN = re.compile(r"\b(?:don['’]t|do\s+not)\s+know\b", re.IGNORECASE)


@reads_outside_text
def read(turn: Turn) -> Proposal:
    """The unknowns that the person stated with their reason, in their words."""
    unknowns = []
    for spoken in _SENTENCE.findall(turn.user_text):
        # White space single and the length bounded: on a run of it the pattern takes the square of its length.
        sentence = " ".join(spoken.split())
        found = _UNKNOWN.match(sentence) if len(sentence) <= _LONGEST else None
        if found is None or sentence.endswith("?"):
            continue
        if not _NOBODY.search(sentence) and not _NOT_KNOWN.search(sentence):
            continue
        question, why = found["question"].strip(), found["why"].strip()
        unknowns.append(
            Question(question=f"{question[0].upper()}{question[1:]}?", why_it_matters=f"{why[0].upper()}{why[1:]}.")
        )
    return Proposal(unknowns=unknowns)
