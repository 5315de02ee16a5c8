"""A check of every prompt that is made while tests run: each sentence once, and one value of what has one value.

It reads the finished prompt alone, as a model does: its recalled lines, split into sentences.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mnemon.context.pack import ContextPack
from mnemon.memory.attributes import Holds
from mnemon.memory.slots import SlotReading, has_same_value, read_slot

_FENCE = re.compile(r"<memory layer=L[456]>\n(.*?)\n</memory>", re.DOTALL)
"""What memory and the sessions add. Two expectations of L7 may have the same words, and are two."""
_ENTRY = re.compile(r"\n(?=- )")
_LINE = re.compile(r"^(?:- |  )(?P<text>.*)$", re.MULTILINE)
_LEAD = re.compile(
    r"^(?:\[[a-z_]+:[^\]]+\]|(?:Shortly before, )?[\w .()]{1,60}? at 20\d\d-\d\d-\d\dT[\d:.]+Z|Last session"
    r"|What mattered|Left open|Promised|Summary so far|Open (?:commitment|habit|thread|friction)|[A-Z][a-z ]+ over time"
    r"|Said|Asked): "
)
_END = re.compile(r"; |(?<=[.!?…])\s+")
_NAMES = re.compile(r"^(?:People|Tone): ")
_CLAIM = re.compile(r"\(claim: [^)]*\)$")
_EXTERNAL = re.compile(r"^- A tool returned \(external: |\(external(?: claim)?: [^)]*\)$")
"""What a tool or document says stands beside what the person says, marked, and may say otherwise."""
_DAYS = re.compile(r" \([^()]*20\d\d-\d\d-\d\d[^()]*\)$")
"""The days that a sentence's dates mean, which stand behind it."""
_FEWEST_WORDS = 2


@dataclass
class PromptFaults:
    """What was wrong with the prompts of one test."""

    found: list[str] = field(default_factory=list)

    def check(self, pack: ContextPack) -> None:
        """Note each sentence that the prompt says twice, and each attribute of which it has two values."""
        self.found += prompt_faults(pack.system)


def prompt_faults(system: str) -> list[str]:
    """Say what a prompt says twice, and of what it has two values."""
    faults: list[str] = []
    seen: set[str] = set()
    values: dict[str, tuple[SlotReading, str]] = {}
    for sentence in recalled_sentences(system):
        plain = " ".join(_DAYS.sub("", sentence).lower().split()).strip(" .!?;,…")
        if len(plain.split()) < _FEWEST_WORDS:
            continue
        if plain in seen:
            faults.append(f"twice: {sentence}")
        seen.add(plain)
        reading = read_slot(sentence[:300], None, None)
        if reading.attribute is None or reading.attribute.holds is not Holds.ONE or not reading.values:
            continue
        first, words = values.setdefault(reading.slot, (reading, sentence))
        if not has_same_value(reading, first) and not has_same_value(first, reading):
            faults.append(f"two values of {reading.slot}: {words} / {sentence}")
    return faults


def recalled_sentences(system: str) -> Iterator[str]:
    """Each sentence of the lines that were recalled, but for claims and what is external: both say that they are."""
    entries = (entry for fence in _FENCE.finditer(system) for entry in _ENTRY.split(fence[1]))
    for entry in entries:
        if _CLAIM.search(entry) or _EXTERNAL.search(entry):
            continue
        for line in _LINE.finditer(entry):
            text = line["text"]
            if _NAMES.search(text):
                continue
            for sentence in _END.split(_without_leads(text)):
                yield _without_leads(sentence).strip()


def _without_leads(text: str) -> str:
    """A line without what says where it comes from."""
    while bare := _LEAD.match(text):
        text = text[bare.end() :]
    return text
