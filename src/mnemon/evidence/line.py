"""The evidence line: a short attributed sentence with the quote behind it."""

from dataclasses import dataclass
from datetime import datetime

from mnemon.evidence.confidence import Stance, Strength
from mnemon.evidence.quote import fold


@dataclass(frozen=True, kw_only=True)
class EvidenceLine:
    """One distinct piece of evidence."""

    id: str
    """`evd_…`."""
    line: str
    """The sentence that is shown."""
    quote: str
    """The words it rests on, as they stand in the source."""
    source: str
    """Whose words they are, as named: a person, a document, a tool."""
    stance: Stance
    strength: Strength
    who: str
    """Who brought it into the turn: the person who spoke, or the tool."""
    at: datetime
    """When it was said."""
    turn_id: str
    message_id: str
    """The message or tool result the quote stands in."""
    start: int
    end: int
    """The quote's place in that text."""
    resolves: tuple[str, ...] = ()
    """Ids of contradicting lines that it settles."""

    def repeats(self, other: "EvidenceLine") -> bool:
        """Whether both are the same piece: one source, and the same quote or overlapping words of one message."""
        if self.source.casefold() != other.source.casefold():
            return False
        if fold(self.quote).casefold() == fold(other.quote).casefold():
            return True
        return self.message_id == other.message_id and self.start < other.end and other.start < self.end
