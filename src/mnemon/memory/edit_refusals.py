"""When a change by hand is refused, and what the caller is told to do instead."""

from collections.abc import Sequence

from mnemon.errors import Conflict, Invalid, Stale
from mnemon.memory.importance import CRITICAL
from mnemon.memory.lifecycle import RULE_NOTES, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.trust import Trust, outranks, trust_of


def refuse_if_stale(held: StoredMemory, version: int | None) -> None:
    """Raise Stale if a version is given and the memory's text has another."""
    if version is not None and version != held.version:
        raise Stale(
            f"The memory is at version {held.version}, not {version}. Read it again and send the change with the "
            "version you read in If-Match."
        )


def refuse_rule_note(reason: str | None) -> None:
    """Raise Invalid for a reason that equals a note by which rules mark their own changes."""
    if (reason or "").strip() in RULE_NOTES:
        raise Invalid("This reason is Mnemon's own word for something that it did. Give the reason in other words.")


def refuse_pinned_claim(held: StoredMemory, pinned: bool | None) -> None:
    """Raise Conflict if a claim is to be pinned."""
    if pinned and held.claim_of is not None:
        raise Conflict(
            "A claim cannot be pinned: a more trusted source says otherwise. An operator, or whoever is trusted as "
            "much as that source, has to state it (`source: operator`) or correct the memory that it contradicts; "
            "then pin that memory.",
            code="claim",
        )


def refuse_weight_of_pinned(held: StoredMemory, pinned: bool | None, importance: int | None) -> None:
    """Raise Conflict if a memory that is and stays pinned is to have another importance than a pinned one has."""
    if held.pinned and pinned is not False and importance not in (None, CRITICAL):
        raise Conflict(
            f"A pinned memory has importance {CRITICAL}. Unpin it in the same request (`pinned: false`), or leave "
            "`importance` out.",
            code="pinned",
        )


def refuse_if_outranked(
    held: StoredMemory | MemoryVersion, source: str, *, changes_text: bool = False, acts: Sequence[str] = ()
) -> None:
    """Raise Conflict if the memory, or its version, comes from a more trusted source than the change.

    The next step depends on the change: another text can be stated beside the memory, the `acts` cannot.
    """
    if not outranks(held.trust, trust_of(source)):
        return
    steps = []
    if changes_text:
        steps.append("State the text with `POST /api/memories`: it is kept beside this one as a claim.")
    if acts or not changes_text:
        steps.append(f"To {_joined_acts(acts)}, {_advice_on_trust(held.trust)}.")
    cause = f"This memory comes from a more trusted source ({held.trust}) than the change ({trust_of(source)})."
    raise Conflict(" ".join((cause, *steps)), code="outranked")


def _joined_acts(acts: Sequence[str]) -> str:
    """Return the acts joined as words of a sentence: "a, b and c"."""
    return " and ".join(acts) or "change it"


def _advice_on_trust(level: Trust) -> str:
    """Return the advice how to make a change with at least this trust, for an error message."""
    if level is Trust.OPERATOR:
        return "use a key that is not bound to a person and send `source: operator`, or use the console"
    return f"send a `source` that is trusted at least as much, such as `{level}`"


def refuse_if_replaced(held: StoredMemory, status: ArchiveStatus | None) -> None:
    """Raise Conflict if a withdrawn memory is to become active although another one has its place."""
    if status is ArchiveStatus.ACTIVE and held.is_replaced:
        raise Conflict(
            "The source of this memory was withdrawn, and another memory has its place. State it again with "
            "`POST /api/memories`.",
            code="replaced",
        )
