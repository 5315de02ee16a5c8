"""The gates: what a proposed text must satisfy before it enters the state. Each gate returns the reason it rejects."""

import re
from collections.abc import Iterable
from datetime import UTC

from mnemon.engagement.proposal import EvidenceProposal, HypothesisProposal
from mnemon.evidence.confidence import EvidenceLine
from mnemon.evidence.number_gate import number_fault
from mnemon.evidence.quote_gate import Passage, find_quote
from mnemon.scope import NewId
from mnemon.turn import Turn
from mnemon.untrusted_text import reads_outside_text

MAX_TEXT_CHARS = 400
"""The most characters of any sentence in the state."""
MAX_SOURCE_CHARS = 120
"""The most characters of a source's name."""
MAX_QUOTE_CHARS = 1_000
"""The most characters of a quote."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WHITESPACE = re.compile(r"\s+")
_WORD_PATTERN = re.compile(r"\w+")
_TRAILING_DATE = re.compile(r",?\s?\(?\d{4}-\d{2}-\d{2}\)?$")
# What models write in place of a falsifier: it must not pass for one.
_NO_FALSIFIER = re.compile(
    r"(?:n/?a|none|nothing(?:\s+(?:would|could|can))?|unknown|not\s+applicable|it\s+can(?:not|['’]t)\s+be|unfalsifiable)\b.*",
    re.IGNORECASE,
)


@reads_outside_text
def collapse_spaces(text: str) -> str:
    """Return the text on one line, each run of white space as one space."""
    return _WHITESPACE.sub(" ", text).strip()


@reads_outside_text
def storable_line(text: str) -> str:
    """Return the text on one line, without characters that PostgreSQL cannot store."""
    return _UNSTORABLE.sub("", collapse_spaces(text))


@reads_outside_text
def normalize_words(text: str) -> str:
    """Return the text's words alone, case folded, so that two texts can be compared for repetition."""
    return " ".join(_WORD_PATTERN.findall(text.casefold()))


@reads_outside_text
def text_fault(field: str, text: str, sources: Iterable[str], longest: int = MAX_TEXT_CHARS) -> str | None:
    """Return why a sentence is rejected: empty, too long, not storable, or with an unsourced figure; else None."""
    if not _WORD_PATTERN.search(text):
        return f"{field} is empty"
    if len(text) > longest:
        return f"{field} has {len(text)} characters; at most {longest} are kept: say it shorter"
    if _UNSTORABLE.search(text):
        return f"{field} has characters that cannot be stored"
    fault = number_fault(text, sources)
    return None if fault is None else f"{field}: {fault}"


def hypothesis_fault(form: HypothesisProposal, sources: Iterable[str]) -> str | None:
    """Return why a proposed hypothesis is rejected; None when it is a claim and says what would show it wrong."""
    statement, falsified_by = collapse_spaces(form.statement), collapse_spaces(form.falsified_by)
    shared = tuple(sources)
    if fault := text_fault("statement", statement, shared):
        return fault
    if statement.endswith("?") or len(statement.split()) < 3:
        return "statement is not a claim: a hypothesis says something that can be shown wrong"
    if not _WORD_PATTERN.search(falsified_by) or _NO_FALSIFIER.fullmatch(falsified_by):
        return "first-hypothesis gate: falsifiedBy is missing: say what would show the statement wrong"
    if normalize_words(falsified_by) == normalize_words(statement):
        return "first-hypothesis gate: falsifiedBy repeats the statement: say what would show it wrong"
    return text_fault("falsifiedBy", falsified_by, shared)


def evidence_line(
    piece: EvidenceProposal, turn: Turn, sources: tuple[Passage, ...], new_id: NewId, resolves: tuple[str, ...] = ()
) -> EvidenceLine | str:
    """Return proposed evidence as a line with its place in the turn, or as text the reason it is rejected."""
    if len(piece.quote) > MAX_QUOTE_CHARS:
        return (
            f"quote has {len(piece.quote)} characters; at most {MAX_QUOTE_CHARS} are kept: quote what carries the point"
        )
    quotation = find_quote(piece.quote, sources)
    if quotation is None:
        return "quote gate: the quote does not occur in the person's message or a tool result of this turn"
    passage = quotation.passage
    # A model may append the date, which `format_source` would then show twice.
    source = collapse_spaces(_TRAILING_DATE.sub("", collapse_spaces(piece.source))) or passage.who
    line = collapse_spaces(piece.line)
    # Figures are checked against the whole message, not the quote: people give a number in one clause and the reason
    # in the next (decision 6).
    fault = text_fault("line", line, (passage.text,)) or text_fault("source", source, (passage.text,), MAX_SOURCE_CHARS)
    if fault:
        return fault
    return EvidenceLine(
        id=new_id("evd"),
        line=line,
        quote=quotation.text,
        source=source,
        stance=piece.stance,
        strength=piece.strength,
        who=passage.who,
        at=turn.at.astimezone(UTC),
        turn_id=turn.id,
        message_id=passage.message_id,
        start=quotation.start,
        end=quotation.end,
        resolves=resolves,
    )
