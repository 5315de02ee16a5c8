"""The demo's story with script in its words: every text field the pipeline fills holds some of it."""

import itertools
import re
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from mnemon.cli.story.steps import DemoStory

COUNT = 200
CARD = 1
"""Payloads in a field of a card, whose length is bounded."""
SENTENCE = 3
"""Payloads in a sentence of the engagement, which has 400 characters at most."""
_SENTENCES = {"statement", "falsifiedBy", "line", "hypothesis", "resolves"}
_SHAPES = (
    "<script>executed.push('{0}')</script>",
    "<img src=x onerror=executed.push('{0}')>",
    "<svg onload=executed.push('{0}')>",
    "\"><script>executed.push('{0}')</script>",
    "'><img src=x onerror=executed.push('{0}')>",
    "</textarea><script>executed.push('{0}')</script>",
    "</title><script>executed.push('{0}')</script>",
    "</option></select><script>executed.push('{0}')</script>",
    "<iframe srcdoc=\"<script>parent.executed.push('{0}')</script>\"></iframe>",
    "<details open ontoggle=executed.push('{0}')>",
    "<input autofocus onfocus=executed.push('{0}')>",
    "<a href=javascript:executed.push('{0}') autofocus onfocus=executed.push('{0}')>",
    '" autofocus onfocus="executed.push(\'{0}\')" x="',
    "<body onload=executed.push('{0}')>",
    "<!--><script>executed.push('{0}')</script>-->",
    "</svg><svg><script>executed.push('{0}')</script></svg>",
    "<div hx-get=/jobs hx-trigger=load hx-on::after-request=executed.push('{0}')>",
    "<style onload=executed.push('{0}')></style>",
    "{{{{executed.push('{0}')}}}}",
    "<video><source onerror=executed.push('{0}')></video>",
)
_TEXTS = {
    "says",
    "reply",
    "gist",
    "content",
    "quote",
    "label",
    "statement",
    "falsifiedBy",
    "line",
    "source",
    "question",
    "whyItMatters",
    "hypothesis",
    "title",
    "details",
    "expected_outcome",
    "name",
    "skill",
    "prompt",
    "note",
    "reason",
    "topic",
    "thesis",
    "evidence",
    "overturned_by",
    "reports",
    "resolves",
    "rationale",
    "notes",
    "setup",
    "unknown",
    "answer",
    "output",
    "summary",
    "text",
    "watch_for",
    "attribute",
}
_WORD = re.compile(r"[A-Za-z]{4,}")


def payloads() -> dict[str, str]:
    """Script by its name: short names without digits, for a figure without a source would be refused."""
    names = ("".join(letters) for letters in itertools.product(ascii_lowercase[:15], repeat=2))
    shapes = itertools.cycle(_SHAPES)
    return {f"q{name}": next(shapes).format(f"q{name}") for name in itertools.islice(names, COUNT)}


def spoiled(story: DemoStory) -> DemoStory:
    """The story with a payload behind its words, the same wherever a word stands, so that quotes still hold."""
    words = sorted(
        {word for text in _texts(_whole(story)) for word in _WORD.findall(text)}, key=lambda one: (-len(one), one)
    )
    behind = dict(zip(words, payloads().values(), strict=False))
    assert len(behind) == COUNT, f"the story has only {len(words)} words"
    return DemoStory(
        personas=tuple(_spoil(one, behind) for one in story.personas),
        agents=tuple(_spoil(one, behind) for one in story.agents),
        steps=tuple(replace(step, told=_spoil(step.told, behind)) for step in story.steps),
    )


def _whole(story: DemoStory) -> list[Any]:
    return [*story.personas, *story.agents, *(step.told for step in story.steps)]


def _texts(value: Any, name: str = "") -> list[str]:
    if isinstance(value, dict):
        return [text for key, one in value.items() for text in _texts(one, _field(name, key))]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one, name)]
    return [value] if isinstance(value, str) and name in _TEXTS else []


def _field(name: str, key: str) -> str:
    """The name by which a value within a field is judged: a piece of evidence has fields of its own."""
    return key if name == "evidence" or name not in _TEXTS else name


def _spoil(value: Any, behind: dict[str, str], name: str = "", most: int = 0) -> Any:
    if isinstance(value, dict):
        return {
            _marked(key, behind) if name == "reports" else key: _spoil(
                one, behind, _field(name, key), CARD if key == "card" else most
            )
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [_spoil(one, behind, name, most) for one in value]
    if not isinstance(value, str) or name not in _TEXTS:
        return value
    return _marked(value, behind, most or (SENTENCE if name in _SENTENCES else 0))


def _marked(text: str, behind: dict[str, str], most: int = 0) -> str:
    """The text with its words marked, at most so many; 0 for all."""
    words = itertools.count(1)

    def marked(found: re.Match[str]) -> str:
        script = behind.get(found[0], "")
        return found[0] + script if script and (not most or next(words) <= most) else found[0]

    return _WORD.sub(marked, text)
