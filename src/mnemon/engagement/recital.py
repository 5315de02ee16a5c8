"""Whether a reply recites the engagement instead of reasoning with it."""

import re
from collections.abc import Iterable, Iterator

from mnemon.engagement.document import Engagement
from mnemon.outside import reads_outside_text

RUN = 8
"""Words in a row that make a recital."""
_LONGEST_READ = 20_000
"""Characters of a reply that are looked through, on the event loop."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@reads_outside_text
def recited(reply: str, texts: Iterable[str], run: int = RUN) -> str | None:
    """The first run of that many words that the reply has in common with one of the texts, as in the reply."""
    known: set[tuple[str, ...]] = set()
    for text in texts:
        words = [match.group().casefold().replace("’", "'") for match in _WORD.finditer(text)]
        known.update(zip(*(words[place:] for place in range(run)), strict=False))
    if not known:
        return None
    found = list(_WORD.finditer(reply[:_LONGEST_READ]))
    words = [match.group().casefold().replace("’", "'") for match in found]
    for place in range(len(words) - run + 1):
        if tuple(words[place : place + run]) in known:
            return reply[found[place].start() : found[place + run - 1].end()]
    return None


def texts_of(document: Engagement) -> Iterator[str]:
    """Every sentence of the state that a reply could recite."""
    for hypothesis in document.hypotheses:
        yield from (hypothesis.statement, hypothesis.falsified_by)
        yield from (text for text in (hypothesis.would_resolve, hypothesis.note) if text)
        yield from (line.line for line in hypothesis.evidence)
    for unknown in document.unknowns:
        yield from (unknown.question, unknown.why_it_matters)
