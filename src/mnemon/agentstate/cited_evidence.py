"""The evidence that a model cites: which ids exist, whose words they are, and whether they say what is claimed.

A message or tool result is read sentence by sentence: a claim that needs the name of one sentence and the figure of
another is none that was made. A claim of several parts may take each from a sentence of its own.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any

from mnemon.evidence.number_gate import number_fault
from mnemon.evidence.quote_gate import Passage, Quotation, is_own_tool
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.evidence.stems import stem
from mnemon.evidence.support import support_fault
from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage
from mnemon.untrusted_text import reads_outside_text

_LONGEST_READ = 60_000
"""Characters of a message or tool result in which support for a claim is sought."""
_LONGEST_SENTENCE = 2_000
_MOST_SENTENCES = 6
"""Sentences of a source, those that share most words with the claim, that are compared with it."""
_MOST_PARTS = 4
_MOST_RECORDS = 500
"""Records of a tool result that are read."""
_DEEPEST_RECORD = 12
_MOST_SHARED, _LONGEST_SHARED = 20, 200
"""Fields around a record, and the length of each, that are read together with it."""
_SENTENCE = re.compile(r"[^\n.!?…]*(?:[.!?…](?![\s\"')”’]|$)[^\n.!?…]*)*[.!?…]*[\"')”’]*")
_CONTINUES = re.compile(r"\W*(?:it|its|they|their|he|his|she|her|this|that|these|those)\b", re.IGNORECASE)
_PARTS = re.compile(r"(?<=[.!?;])\s+|;\s*|,?\s+and\s+|,\s+but\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
Json = dict[str, Any]
OWN_TOOL = "it is a result of Mnemon's own tools, which repeat what is on record and show nothing new"


@dataclass(frozen=True)
class EvidenceSource:
    """A message or tool result that can be cited."""

    id: str
    texts: tuple[str, ...]
    """The message, or each record of the result with the fields around it."""
    who: str
    role: Role
    at: datetime

    @property
    def key(self) -> str | None:
        """Return the key of the speaker or tool that is the source; None for the assistant, who proves nothing."""
        return None if self.role is Role.ASSISTANT else f"{self.role.value}:{self.who.casefold()}"

    @cached_property
    def sentences(self) -> tuple[tuple[Quotation, frozenset[str]], ...]:
        """Return the source's sentences that can be quoted, each with its stems."""
        found = []
        for text in self.texts:
            passage = Passage(message_id=self.id, text=text, who=self.who, role=self.role, at=self.at)
            spans = list(sentence_spans(text))
            for place, (start, end) in enumerate(spans):
                # "Atlas is late. It ships in May": what "it" is stands in the sentence before.
                begin = spans[place - 1][0] if place and _CONTINUES.match(text, start) else start
                quoted = Quotation(passage=passage, start=begin, end=end)
                found.append((quoted, _word_stems(quoted.text)))
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class CitedEvidence:
    """The messages and tool results that a model's proposals may cite, by id."""

    sources: Mapping[str, EvidenceSource]
    speaker: str
    """The name of the person who speaks."""
    told: tuple[str, ...] = field(default=())
    """The texts whose figures a tentative hypothesis may use: the turn's, and the state's."""

    @property
    def size(self) -> int:
        """Return how many characters the citable messages and results have together."""
        return sum(len(text) for source in self.sources.values() for text in source.texts) + sum(map(len, self.told))

    def is_known(self, evidence_id: str) -> bool:
        """Say whether the id is that of a message or tool result of the session."""
        return evidence_id in self.sources

    def source_key(self, evidence_id: str) -> str | None:
        """Return the key of the source of a cited piece; None where the piece adds no confidence."""
        source = self.sources.get(evidence_id)
        return None if source is None else source.key

    def claim_fault(self, claim: str, evidence_id: str) -> str | None:
        """Return why the cited piece does not support the claim; None if it does."""
        source = self.sources.get(evidence_id)
        if source is None:
            return "there is no message or tool result with this id in the session"
        if source.role is Role.TOOL and is_own_tool(source.who):
            return OWN_TOOL
        fault = self._sentence_fault(claim, source)
        parts = [part for part in _PARTS.split(claim) if _WORD.search(part)] if fault else []
        if 1 < len(parts) <= _MOST_PARTS and not any(self._sentence_fault(part, source) for part in parts):
            return None
        return fault

    def figure_fault(self, text: str) -> str | None:
        """Return a figure of a hypothesis that neither the turn nor the state contains, as a reason; None without."""
        return number_fault(text, self.told)

    def _sentence_fault(self, claim: str, source: EvidenceSource) -> str | None:
        """Return why no sentence of the source supports the claim, judged by the closest one; None if one does."""
        wanted = _word_stems(claim)
        nearest = sorted(source.sentences, key=lambda one: -len(one[1] & wanted))[:_MOST_SENTENCES]
        # A tool's name is no word that a claim may add.
        names = (self.speaker, source.who) if source.role is Role.USER else (self.speaker,)
        subject = StatementSubject(speaker=names)
        first: str | None = None
        for quoted, _ in nearest:
            fault = support_fault(claim, [quoted], StatementKind.CLAIM, subject)
            if fault is None:
                return None
            first = first or fault
        return first or "it has no text that could support it"


def cite_turn(turn: Turn) -> dict[str, EvidenceSource]:
    """Return the turn's messages and tool results that can be cited as evidence, by id."""
    return cite_texts(turn.messages, ((result, turn.at) for result in turn.tool_results), turn.user_name)


def cite_texts(
    messages: Iterable[TurnMessage], results: Iterable[tuple[ToolOutcome, datetime]], user_name: str
) -> dict[str, EvidenceSource]:
    """Return messages and tool results as citable evidence, by id; if two share an id, the message has it."""
    found = {
        result.id: EvidenceSource(result.id, result_texts(result), result.action, Role.TOOL, at)
        for result, at in results
    }
    for said in messages:
        who = said.name or (user_name if said.role is Role.USER else said.role.value)
        found[said.message_id] = EvidenceSource(said.message_id, (said.content,), who, said.role, said.at)
    return found


def result_texts(result: ToolOutcome) -> tuple[str, ...]:
    """Return a tool result as texts that can support a claim: its structured fields, and each record of its output."""
    parts = [result.action.replace("_", " ")]
    if result.count is not None:
        parts.append(f"count {result.count}")
    parts += [f"ids {', '.join(result.ids)}"] if result.ids else []
    parts += [f"types {', '.join(result.types)}"] if result.types else []
    fields = "; ".join(parts)
    named = (f"{entity.kind} {entity.id} {entity.name or ''}".rstrip() for entity in result.entities[:_MOST_RECORDS])
    if isinstance(result.output, str):
        return (fields, *named, result.output)
    shown = () if result.output is None else _json_records(result.output, {})
    return (fields, *named, *islice(shown, _MOST_RECORDS))


def _json_records(value: Any, around: Json, depth: int = 0) -> Iterator[str]:
    """Yield each record in a JSON value as JSON, with the plain fields around it, so that no two records mix."""
    if isinstance(value, dict) and depth < _DEEPEST_RECORD:
        plain = {key: one for key, one in value.items() if not _has_records(one)}
        yield json.dumps({**around, **plain}, ensure_ascii=False)
        shared = {**around, **{key: one for key, one in plain.items() if len(str(one)) <= _LONGEST_SHARED}}
        below = dict(islice(shared.items(), _MOST_SHARED))
        for key, one in value.items():
            if _has_records(one):
                # The name of a list says what its records are: "orders".
                yield from _json_records(one, {**below, "in": key}, depth + 1)
    elif isinstance(value, list) and _has_records(value) and depth < _DEEPEST_RECORD:
        for one in value:
            yield from _json_records(one, around, depth + 1)
    else:
        yield json.dumps({**around, "value": value}, ensure_ascii=False)


def _has_records(value: Any) -> bool:
    """Say whether a JSON value contains records (objects), alone or in a list."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value))


@reads_outside_text
def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence; one that is too long is split into pieces."""
    for found in _SENTENCE.finditer(text, 0, min(len(text), _LONGEST_READ)):
        start, end = found.span()
        for begin in range(start, end, _LONGEST_SENTENCE):
            if _WORD.search(text, begin, min(end, begin + _LONGEST_SENTENCE)):
                yield begin, min(end, begin + _LONGEST_SENTENCE)


def _word_stems(text: str) -> frozenset[str]:
    """Return the stems of all words of the text."""
    return frozenset(stem(word.lower()) for word in _WORD.findall(text))
