"""Translates LangGraph's store operations to requests for notes, and notes to its items. It sends nothing itself."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Op, PutOp, SearchItem, SearchOp
from langgraph.store.base.embed import get_text_at_path

from mnemon_client.shapes import Note

Texts = dict[str, str]
_FILTER_KEY = re.compile(r"[\w\s.@:/#+~-]+")
_TESTS = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
# Comparisons with infinity that every number meets.
_ALWAYS_TRUE = {("lt", math.inf), ("lte", math.inf), ("gt", -math.inf), ("gte", -math.inf)}


class UnmeetableFilter(Exception):
    """Raised for a filter that no stored value can meet."""


def texts_of(op: PutOp, fields: Sequence[str]) -> Texts:
    """Return the parts of a put's value that are to be found by meaning, by their path; empty for a deletion."""
    if op.value is None or op.index is False:
        return {}
    parts: Texts = {}
    for path in op.index or fields:
        found = get_text_at_path(op.value, path)
        parts |= {path if len(found) == 1 else f"{path}.{n}": text for n, text in enumerate(found) if text.strip()}
    return parts


def change_of(
    op: PutOp, *, texts: Texts | None = None, vectors: Mapping[str, list[float]] | None = None
) -> dict[str, Any]:
    """Return a LangGraph put as a change of notes: a put of a note, or a delete for one without a value."""
    address = {"namespace": list(op.namespace), "key": str(op.key)}
    if op.value is None:
        return {"op": "delete", **address}
    change: dict[str, Any] = {"op": "put", **address, "value": op.value}
    if op.ttl is not None:
        change["ttlMinutes"] = op.ttl
    if vectors:
        change["vectors"] = dict(vectors)
    elif texts:
        change["texts"] = texts
    return change


def search_of(op: SearchOp) -> dict[str, Any]:
    """Return the parameters of a notes search apart from its query; raise `UnmeetableFilter` if nothing can match."""
    return {
        "conditions": [
            condition for key, wanted in (op.filter or {}).items() for condition in _filter_conditions(key, wanted)
        ],
        # The server takes 1 to 1,000; a graph that asks for more gets fewer rather than an error.
        "limit": max(1, min(op.limit, 1000)),
        "offset": op.offset,
        "refresh": bool(op.refresh_ttl),
    }


def listing_of(op: ListNamespacesOp) -> dict[str, Any]:
    """Return the parameters for listing namespaces of notes; raise ValueError for two prefixes or suffixes."""
    params: dict[str, Any] = {"limit": op.limit, "offset": op.offset}
    if op.max_depth is not None:
        params["maxDepth"] = op.max_depth
    for condition in op.match_conditions or ():
        if condition.match_type in params:
            raise ValueError(f"Two conditions on the {condition.match_type} of a namespace; give one.")
        params[condition.match_type] = list(condition.path)
    return params


def item_of(note: Note) -> Item:
    """Return a note as LangGraph's item."""
    return Item(**_item_fields(note))


def found_of(note: Note) -> SearchItem:
    """Return a note as LangGraph's search result with its score."""
    return SearchItem(**_item_fields(note), score=note["score"])


def split(ops: Sequence[Op]) -> dict[type, list[tuple[int, Any]]]:
    """Return LangGraph's operations by type, in order, with their index; of two puts under one key the later wins."""
    kinds: dict[type, list[tuple[int, Any]]] = {GetOp: [], SearchOp: [], ListNamespacesOp: [], PutOp: []}
    for place, op in enumerate(ops):
        kinds[type(op)].append((place, op))
    return kinds


def _item_fields(note: Note) -> dict[str, Any]:
    """Return the fields that LangGraph's items and search results share, taken from a note."""
    return {
        "namespace": tuple(note["namespace"]),
        "key": note["key"],
        "value": note["value"],
        "created_at": datetime.fromisoformat(note["createdAt"]),
        "updated_at": datetime.fromisoformat(note["updatedAt"]),
    }


def _filter_conditions(key: str, wanted: Any) -> Iterator[dict[str, Any]]:
    """Yield the search conditions of one filter key; raise ValueError for a bad key or operator."""
    if not _FILTER_KEY.fullmatch(key):
        raise ValueError(f"Invalid filter key: {key!r}. Use letters, digits and . _ - @ : / # + ~ only.")
    path = key.split(".")
    if isinstance(wanted, dict) and wanted and all(str(name).startswith("$") for name in wanted):
        for name, value in wanted.items():
            if name not in _TESTS:
                raise ValueError(f"Unsupported operator: {name}")
            yield from _storable_conditions(path, _TESTS[name], value)
    else:
        yield from _storable_conditions(path, "contains" if isinstance(wanted, dict) else "eq", wanted)


def _storable_conditions(path: list[str], test: str, value: Any) -> Iterator[dict[str, Any]]:
    """Yield the condition on a stored value; nothing if all meet it; raise `UnmeetableFilter` if none can."""
    # JSON has no infinity, and stored text no NUL.
    if isinstance(value, float) and not math.isfinite(value):
        if (test, value) in _ALWAYS_TRUE or test == "ne":
            return
        raise UnmeetableFilter
    if isinstance(value, str) and "\0" in value:
        if test == "ne":
            return
        raise UnmeetableFilter
    yield {"path": path, "test": test, "value": value}
