"""Trust as an order: whose statements may replace whose, and the trust of each declared source.

    operator > person > agent > tool > document > unknown

A statement of lower trust never replaces, rewords, unpins or archives one of higher trust: it is kept beside that one
as a claim.
"""

from enum import StrEnum
from typing import Literal


class Trust(StrEnum):
    """Who vouches for a statement, highest first."""

    OPERATOR = "operator"
    """Whoever runs the application; only a key that is bound to no person may speak for them."""
    PERSON = "person"
    """The person's own words, or the application that speaks for them."""
    AGENT = "agent"
    """A model or agent that speaks for itself."""
    TOOL = "tool"
    """What a tool returned: it may contain anything, even instructions."""
    DOCUMENT = "document"
    """A text that someone else wrote: a file, a page, a mail."""
    UNKNOWN = "unknown"
    """Any source that is not in the tables below."""


CoarseTrust = Literal["person", "external"]
"""The API's field `trust`; `trustLevel` says which of the six levels it is."""
_RANKS = {level: -place for place, level in enumerate(Trust)}
_TRUST_BY_NAME: dict[str, Trust] = {
    **dict.fromkeys(("operator",), Trust.OPERATOR),
    **dict.fromkeys(
        ("api", "app", "application", "chat", "cli", "console", "person", "self", "user", "shadow_extraction",
         "seeded_profile", "curated_fold"),
        Trust.PERSON,
    ),
    **dict.fromkeys(("agent", "ai", "assistant", "llm", "model", "persona"), Trust.AGENT),
}  # fmt: skip
"""Sources that must match exactly, alone or before a colon: `user:ann`, never `user_upload`."""
_TRUST_BY_FAMILY: dict[str, Trust] = {
    **dict.fromkeys(("function", "mcp", "plugin", "tool"), Trust.TOOL),
    **dict.fromkeys(
        ("attachment", "document", "email", "file", "page", "pdf", "rag", "url", "web", "website"), Trust.DOCUMENT
    ),
}
"""Sources that match by their first word: `tool`, `tools:crm`, `document-upload`."""
_LONGEST_NAME = 60


def outranks(one: Trust, other: Trust) -> bool:
    """Say whether the first level of trust is higher than the second."""
    return _RANKS[one] > _RANKS[other]


def trust_rank(level: Trust) -> int:
    """Return a number that is higher the more the level is trusted."""
    return _RANKS[level]


def less_trusted(one: Trust, other: Trust) -> Trust:
    """Return the lower of two levels of trust."""
    return other if outranks(one, other) else one


def highest_trust(levels: list[Trust]) -> Trust:
    """Return the highest of the levels of trust; unknown if there is none."""
    return max(levels, key=_RANKS.__getitem__, default=Trust.UNKNOWN)


def speaks_for_person(level: Trust) -> bool:
    """Say whether a statement of this trust counts as the person's and needs no source mark."""
    return not outranks(Trust.PERSON, level)


def coarse_trust(level: Trust) -> CoarseTrust:
    """Return the API's coarse word for the level of trust: `person` or `external`."""
    return "person" if speaks_for_person(level) else "external"


def trust_of(source: str) -> Trust:
    """Return the trust of a declared source; a source that is not in the tables is unknown, never the person."""
    # `document-upload` and `document_upload` are one name; `toolcrm` and `user_upload` are unknown words.
    name = source.strip().lower().replace("-", "_")
    head = name.partition(":")[0]
    if head in _TRUST_BY_NAME:
        return _TRUST_BY_NAME[head]
    return _TRUST_BY_FAMILY.get(head.partition("_")[0].removesuffix("s"), Trust.UNKNOWN)


def legacy_trust_of(source: str, coarse: str) -> Trust:
    """Return the trust of a row stored before trust had levels, from its source and its coarse trust."""
    level = trust_of(source)
    if coarse == "external":
        return Trust.TOOL if speaks_for_person(level) else level
    return Trust.PERSON if level is Trust.AGENT else level


def source_mark(level: Trust, origin: str) -> str:
    """Return a source's name for a prompt: the word for its trust, then its own name in plain letters and digits."""
    # The trust word replaces the first word of the source only if that word gave the trust; otherwise it would hide it.
    known = level is not Trust.UNKNOWN and trust_of(origin) is level
    name = origin.partition(":")[2] if known and ":" in origin else origin
    plain = "".join(sign if sign.isalnum() or sign in "._-/" else " " for sign in name[: 4 * _LONGEST_NAME])
    words = " ".join(plain.split())[:_LONGEST_NAME].strip()
    kind = "unknown source" if level is Trust.UNKNOWN else level.value
    return kind if words.lower() in {"", level.value} else f"{kind} {words}"


def mark_of(level: Trust, origin: str, *, is_claim: bool) -> str | None:
    """Return a mark that names a statement's source for a reader; None if it needs no mark."""
    if speaks_for_person(level):
        return f"the {level}" if is_claim else None
    return source_mark(level, origin)


def marked_text(content: str, level: Trust, origin: str, *, is_claim: bool, further_claims: int = 0) -> str:
    """Return the text with its source's mark, and the number of further claims that contradict the same memory."""
    mark = mark_of(level, origin, is_claim=is_claim)
    if mark is None:
        return content
    more = f", and {further_claims} further claim{'s' if further_claims > 1 else ''}" if further_claims else ""
    if speaks_for_person(level):
        return f"{content} (claim: {mark} says otherwise{more})"
    return f"{content} ({'external claim' if is_claim else 'external'}: {mark}{more})"


def source_mark_in(text: str) -> str:
    """Return the mark that `marked_text` has put at the end of a text, "" if there is none."""
    start = text.rfind(" (")
    return text[start:] if start >= 0 and text[start:].startswith(_MARKS) and text.endswith(")") else ""


_MARKS = (" (external: ", " (external claim: ", " (claim: ")
