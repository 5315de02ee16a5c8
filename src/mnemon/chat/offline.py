"""The reply without a model: what memory knows about the question, said as such."""

from collections.abc import Sequence

from mnemon.layer import Layer
from mnemon.outside import reads_outside_text
from mnemon.sessions.sentences import content_words

_MOST = 5
_KNOWN = ("L4", "L5")


@reads_outside_text
def reply_by_rule(question: str, layers: Sequence[Layer]) -> str:
    """The recalled lines that share a word with the question, word for word; nothing is inferred."""
    wanted = content_words(question)
    lines = [item.text for layer in layers if layer.name in _KNOWN for item in layer.items]
    about = [line for line in dict.fromkeys(lines) if wanted & content_words(line)]
    if not about:
        return (
            "No language model is connected, so this is memory alone: nothing is remembered about that. "
            "Your message is kept."
        )
    told = "\n".join(f"- {line}" for line in about[:_MOST])
    return f"No language model is connected, so this is memory alone. What is remembered about that:\n{told}"
