"""What a proposed text must pass before it may enter the state; each gate gives the reason it stays shut."""

import re
from collections.abc import Iterable
from datetime import UTC

from mnemon.engagement.answer import Form, Piece
from mnemon.evidence.line import EvidenceLine
from mnemon.evidence.number import number_fault
from mnemon.evidence.quote import Passage, find_quote
from mnemon.ids import NewId
from mnemon.outside import reads_outside_text
from mnemon.turn import Turn

LONGEST = 400
"""Characters of any sentence in the state."""
LONGEST_SOURCE = 120
LONGEST_QUOTE = 1_000
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_DATED = re.compile(r",?\s?\(?\d{4}-\d{2}-\d{2}\)?$")
_NO_FALSIFIER = re.compile(
    r"(?:n/?a|none|nothing(?:\s+(?:would|could|can))?|unknown|not\s+applicable|it\s+can(?:not|['’]t)\s+be|unfalsifiable)\b.*",
    re.IGNORECASE,
)


@reads_outside_text
def tidy(text: str) -> str:
    """The text in one line."""
    return _SPACES.sub(" ", text).strip()


@reads_outside_text
def storable(text: str) -> str:
    """The text in one line, without what a database cannot hold."""
    return _UNSTORABLE.sub("", tidy(text))


@reads_outside_text
def normal(text: str) -> str:
    """The text as repeated ones are recognized: its words alone."""
    return " ".join(_WORD.findall(text.casefold()))


@reads_outside_text
def text_fault(field: str, text: str, sources: Iterable[str], longest: int = LONGEST) -> str | None:
    """Why a sentence may not enter: empty, too long, not storable, or with a figure nobody shared."""
    if not _WORD.search(text):
        return f"{field} is empty"
    if len(text) > longest:
        return f"{field} has {len(text)} characters; at most {longest} are kept: say it shorter"
    if _UNSTORABLE.search(text):
        return f"{field} has characters that cannot be stored"
    fault = number_fault(text, sources)
    return None if fault is None else f"{field}: {fault}"


def form_fault(form: Form, sources: Iterable[str]) -> str | None:
    """Why a hypothesis may not be formed: it must be a claim, and say what would show it wrong."""
    statement, falsified_by = tidy(form.statement), tidy(form.falsified_by)
    shared = tuple(sources)
    if fault := text_fault("statement", statement, shared):
        return fault
    if statement.endswith("?") or len(statement.split()) < 3:
        return "statement is no claim: a hypothesis says something that can be shown wrong"
    if not _WORD.search(falsified_by) or _NO_FALSIFIER.fullmatch(falsified_by):
        return "first-hypothesis gate: falsifiedBy is missing: say what would show the statement wrong"
    if normal(falsified_by) == normal(statement):
        return "first-hypothesis gate: falsifiedBy repeats the statement: say what would show it wrong"
    return text_fault("falsifiedBy", falsified_by, shared)


def evidence_line(
    piece: Piece, turn: Turn, sources: tuple[Passage, ...], new_id: NewId, resolves: tuple[str, ...] = ()
) -> EvidenceLine | str:
    """The piece as an evidence line with its place in the turn; or why it is none."""
    if len(piece.quote) > LONGEST_QUOTE:
        return (
            f"quote has {len(piece.quote)} characters; at most {LONGEST_QUOTE} are kept: quote what carries the point"
        )
    quotation = find_quote(piece.quote, sources)
    if quotation is None:
        return "quote gate: the quote does not stand in the person's message or a tool result of this turn"
    passage = quotation.passage
    source = tidy(_DATED.sub("", tidy(piece.source))) or passage.who
    line = tidy(piece.line)
    fault = text_fault("line", line, (passage.text,)) or text_fault("source", source, (passage.text,), LONGEST_SOURCE)
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
