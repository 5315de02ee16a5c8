"""The reply without a model: what memory knows about the question, said as such."""

from collections.abc import Sequence

from mnemon.layer import Item, Layer
from mnemon.outside import reads_outside_text
from mnemon.sessions.sentences import content_words

_MOST = 5
_KNOWN = ("L4", "L5")


@reads_outside_text
def reply_by_rule(question: str, layers: Sequence[Layer]) -> str:
    """The recalled lines that share a word with the question, word for word; nothing is inferred."""
    wanted = content_words(question)
    items = [item for layer in layers if layer.name in _KNOWN for item in layer.items]
    once = [item for place, item in enumerate(items) if item.text not in {one.text for one in items[:place]}]
    lines = _chosen_lines([item for item in once if wanted & content_words(item.text)])
    if not lines:
        return (
            "No language model is connected, so this is memory alone: nothing is remembered about that. "
            "Your message is kept."
        )
    told = "\n".join(f"- {line}" for line in lines)
    return f"No language model is connected, so this is memory alone. What is remembered about that:\n{told}"


def _chosen_lines(about: Sequence[Item]) -> list[str]:
    """The first lines, as many as are told; one that needs another has only a place that those leave."""
    first = [item for item in about if item.needs is None][:_MOST]
    there = {source for item in first for source in item.sources}
    beside = [item for item in about if item.needs in there][: _MOST - len(first)]
    return [item.text for item in about if item in first or item in beside]
