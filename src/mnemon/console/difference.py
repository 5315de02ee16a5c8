"""What changed between two texts, word by word."""

import re
from difflib import SequenceMatcher


def words_changed(before: str, after: str) -> list[tuple[str, str]]:
    """Pieces of both texts in order, each `same`, `del` or `ins`."""
    old, new = re.findall(r"\s+|\S+", before), re.findall(r"\s+|\S+", after)
    pieces: list[tuple[str, str]] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(("same", "".join(old[i1:i2])))
            continue
        if i2 > i1:
            pieces.append(("del", "".join(old[i1:i2])))
        if j2 > j1:
            pieces.append(("ins", "".join(new[j1:j2])))
    return pieces
