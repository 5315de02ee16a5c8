"""Does a quote take a fact back: does it say that something which was so is no longer so?

"I no longer live in Austin", "Rex died" and "we broke up" do; a question, a wish, a plan and somebody's hearsay do not.
"""

import re

from mnemon.evidence.clause import read_words
from mnemon.evidence.moods import Mood, pattern_of
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.statement import LONGEST_STATEMENT, quoted_sentence
from mnemon.evidence.vocabulary import is_supported_by
from mnemon.evidence.word_support import MOOD_NAMES
from mnemon.untrusted_text import reads_outside_text

ENDING_WORDS = pattern_of(
    r"""
    no longer / not / never / none / \w+n't / cannot / dont / doesnt / isnt / wasnt / arent / any ?more / no more
    used to / stopp(?:ed|ing) / stop / quit / quitting / left / leaving / gave up / given up / giving up / resigned
    retired / laid off / let (?:me|him|her|them|us) go / let go / fired / sacked / made redundant / stepped down
    handed over / died / dead / passed away
    passed on / put (?:him|her|it|them)? ?(?:down|to sleep) / lost / gone / deceased
    broke up / broken up / split(?: up)? / separated / divorced / called off / fell out / cut ties
    moved out / moved away / moved on / moving out / sold / gave away / returned / got rid of / canceled / cancelled
    dropped(?: out)? / ended / over / finished / expired / closed / ex / former / formerly / ceased / cured / outgrew
    outgrown / back(?:ed)? out / deleted / discontinued / graduated / wrapped up / shut down / scrapped / switched from
    """
)
"""Words that say that something is no longer so."""
_PARTING = re.compile(
    r"\b(?:broke up|broken up|split(?: up)?|separated|divorced|quit|resigned|laid off|fired)\b", re.IGNORECASE
)
"""Words that end something without naming it: "we broke up", "I quit"."""
_NOT_ENDED = frozenset({Mood.QUESTION, Mood.HYPOTHETICAL, Mood.WISH, Mood.REPORT, Mood.FUTURE})
NOT_ENDED = "the quote does not say that it is no longer so"


@reads_outside_text
def retraction_fault(content: str, quotation: Quotation) -> str | None:
    """Return why a quote does not retract the fact, in words that help to correct it; None if it does."""
    if len(content) > LONGEST_STATEMENT:
        return f"it has {len(content)} characters; at most {LONGEST_STATEMENT} can be taken back by a quote"
    sentence = quoted_sentence(quotation)
    said = sentence.read[sentence.start : sentence.end]
    sign = ENDING_WORDS.search(said)
    if sign is None:
        return NOT_ENDED
    for word in sentence.words:
        if not sentence.is_quoted(word) or word.start < sentence.start + sign.start():
            continue
        for mood in _NOT_ENDED & word.moods:
            return f"the quote {MOOD_NAMES[mood]}, it does not say that it is over"
        break
    told = {word.stem for word in sentence.words if not word.is_function_word}
    wanted = {word.stem for word in read_words(content) if not word.is_function_word}
    if wanted and not any(is_supported_by(one, other) for one in wanted for other in told):
        return None if _PARTING.search(said) else "the quote does not speak of it"
    return None
