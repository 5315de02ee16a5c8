"""Word-by-word difference of two texts, in time that grows with their length.

Words that occur once in each text are fixed points (patience sorting, as in `git diff --patience`). What lies between
two of them is compared in the same way, and by the full quadratic algorithm only where it is short. A long stretch
without fixed points is shown as replaced.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from mnemon.untrusted_text import reads_outside_text

_TOKEN = re.compile(r"\s+|\S+")
_MAX_PAIRS = 4_096
"""Pairs of words up to which the quadratic algorithm is used: 64 words with 64."""
_MAX_PAGE_CHARS = 200_000
"""Characters of all versions of a memory that are compared for one page; older versions are shown whole."""
_MAX_DEPTH = 12
"""How deeply stretches between fixed points are searched for further ones."""

EqualBlock = tuple[int, int, int]
"""Where a run of equal words begins in the old and in the new text, and its length."""


@reads_outside_text
def word_diff(before: str, after: str) -> list[tuple[str, str]]:
    """Return the word difference of two texts as (kind, text), kind `same`, `del` or `ins`."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    pieces: list[tuple[str, str]] = []
    gone: list[str] = []
    come: list[str] = []
    at_old = at_new = 0
    for i, j, length in (*_join_blocks(_equal_blocks(old, new, 0, 0, _MAX_DEPTH)), (len(old), len(new), 0)):
        gone += old[at_old:i]
        come += new[at_new:j]
        at_old, at_new = i + length, j + length
        inside = i + j > 0 and (at_old < len(old) or at_new < len(new))
        # A blank between two changes is part of both.
        if length == 1 and inside and old[i].isspace():
            gone.append(old[i])
            come.append(old[i])
            continue
        pieces += [piece for piece in (("del", "".join(gone)), ("ins", "".join(come))) if piece[1]]
        if length:
            pieces.append(("same", "".join(old[i:at_old])))
        gone, come = [], []
    return pieces


def version_diffs(texts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return the word difference from each text to the next.

    Beyond _MAX_PAGE_CHARS, counted from the newest, texts are returned whole; the newest is always compared.
    """
    made: list[list[tuple[str, str]]] = []
    room = _MAX_PAGE_CHARS
    for before, after in zip(reversed(texts[:-1]), reversed(texts[1:]), strict=True):
        room -= len(before) + len(after)
        made.append(word_diff(before, after) if room >= 0 or not made else [("same", after)])
    return made[::-1]


def _join_blocks(blocks: Iterator[EqualBlock]) -> list[EqualBlock]:
    """Return the blocks of equal words with adjacent ones joined."""
    joined: list[EqualBlock] = []
    for i, j, length in blocks:
        if joined and joined[-1][0] + joined[-1][2] == i and joined[-1][1] + joined[-1][2] == j:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + length)
        else:
            joined.append((i, j, length))
    return joined


def _equal_blocks(old: Sequence[str], new: Sequence[str], i: int, j: int, depth: int) -> Iterator[EqualBlock]:
    """Yield the blocks of words that are equal in two stretches, which begin at `i` and `j`, in order."""
    head = _common_prefix(old, new)
    # Of what follows the head, so that the two do not overlap where words repeat.
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    if head:
        yield i, j, head
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    yield from _blocks_between(inner_old, inner_new, i + head, j + head, depth)
    if tail:
        yield i + len(old) - tail, j + len(new) - tail, tail


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words both lists begin with."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _blocks_between(old: Sequence[str], new: Sequence[str], i: int, j: int, depth: int) -> Iterator[EqualBlock]:
    """Yield the blocks of equal words in two stretches that differ at both ends, in order."""
    if len(old) * len(new) <= _MAX_PAIRS:
        yield from _longest_common(old, new, i, j)
        return
    fixed = _fixed_points(old, new) if depth else []
    if not fixed:
        return
    at_old = at_new = 0
    for p, q in fixed:
        yield from _equal_blocks(old[at_old:p], new[at_new:q], i + at_old, j + at_new, depth - 1)
        yield i + p, j + q, 1
        at_old, at_new = p + 1, q + 1
    yield from _equal_blocks(old[at_old:], new[at_new:], i + at_old, j + at_new, depth - 1)


def _fixed_points(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return positions (old, new) of words that occur once in each, as many as have the same order in both.

    That is the longest increasing subsequence of their positions.
    """
    in_old, in_new = Counter(old), Counter(new)
    place = {word: q for q, word in enumerate(new) if in_new[word] == 1}
    pairs = [(p, place[word]) for p, word in enumerate(old) if in_old[word] == 1 and word in place]
    ends: list[int] = []  # the smallest last position of a rising run of each length
    runs: list[int] = []  # the pair at the end of that run
    before: list[int] = []  # for each pair, the one before it in its run
    for n, (_, q) in enumerate(pairs):
        length = bisect_left(ends, q)
        before.append(runs[length - 1] if length else -1)
        ends[length : length + 1] = [q]
        runs[length : length + 1] = [n]
    rising: list[tuple[int, int]] = []
    at = runs[-1] if runs else -1
    while at >= 0:
        rising.append(pairs[at])
        at = before[at]
    return rising[::-1]


def _longest_common(old: Sequence[str], new: Sequence[str], i: int, j: int) -> Iterator[EqualBlock]:
    """Yield the longest common subsequence of two lists, word by word, by dynamic programming."""
    rest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for p in range(len(old) - 1, -1, -1):
        for q in range(len(new) - 1, -1, -1):
            rest[p][q] = rest[p + 1][q + 1] + 1 if old[p] == new[q] else max(rest[p + 1][q], rest[p][q + 1])
    p = q = 0
    while p < len(old) and q < len(new):
        if old[p] == new[q]:
            yield i + p, j + q, 1
            p, q = p + 1, q + 1
        elif rest[p + 1][q] >= rest[p][q + 1]:
            p += 1
        else:
            q += 1
