"""What changed between two texts, word by word."""

import re
from difflib import SequenceMatcher


def words_changed(before: str, after: str) -> list[tuple[str, str]]:
    """Pieces of both texts in order, each `same`, `del` or `ins`; a change is one piece, not one per word."""
    old, new = re.findall(r"\s+|\S+", before), re.findall(r"\s+|\S+", after)
    changes = [
        (kind, "".join(old[i1:i2]), "".join(new[j1:j2]))
        for kind, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    ]
    pieces: list[tuple[str, str]] = []
    gone = come = ""
    for place, (kind, was, now) in enumerate(changes):
        bridge = was.isspace() and 0 < place < len(changes) - 1  # a blank between two changes belongs to both
        if kind != "equal" or bridge:
            gone, come = gone + was, come + now
            continue
        pieces += _told(gone, come)
        pieces.append(("same", was))
        gone = come = ""
    return pieces + _told(gone, come)


def _told(gone: str, come: str) -> list[tuple[str, str]]:
    return [piece for piece in (("del", gone), ("ins", come)) if piece[1]]
