"""The tables of memories as an import checks them."""

from pydantic import TypeAdapter

from mnemon.db.tx import Row
from mnemon.imported_table import (
    KEY_CHARS,
    LONG_CHARS,
    SHORT_CHARS,
    TEXT_CHARS,
    ImportedTable,
    JsonShape,
    TextBound,
    id_bounds,
    text_bounds,
)
from mnemon.memory.entities.store import link_from_row
from mnemon.memory.spine import SpineLine, SpinePart
from mnemon.memory.store import memory_of, quote_from_row, version_from_row
from mnemon.memory.todos.store import todo_from_row
from mnemon.memory.trust import legacy_trust_of
from mnemon.memory.upkeep.seed import SeedEntry, entry_from_json
from mnemon.memory.upkeep.store import curator_run_from_row, spine_from_row
from mnemon.section import Rejection

_MAX_IMPORTANCE = 3
_MAX_SEED_ENTRIES = 1_000
_REJECTIONS = JsonShape(adapter=TypeAdapter(list[Rejection]))


def _read_memory(row: Row) -> object:
    """Read a row of `memories`; refuse one whose lists of entities do not fit together."""
    memory = memory_of(row)
    for listed in (memory.entity_labels, memory.entity_roles):
        if listed is not None and len(listed) != len(memory.entity_refs):
            raise ValueError("names and roles of entities are not one for each")
    if memory.unpinned_importance is not None:
        _check_importance(memory.unpinned_importance)
    return memory


def _read_version(row: Row) -> object:
    """Read a row of `memory_versions`; refuse what the table would take and its memory, restored to it, would not."""
    version = version_from_row(row)
    _check_importance(version.importance)
    if not 0 <= version.confidence <= 1:
        raise ValueError("a confidence is 0 to 1")
    legacy_trust_of(version.source, row["trust"])
    return version


def _check_importance(importance: int) -> None:
    """Raise ValueError for an importance that no memory can have."""
    if not 0 <= importance <= _MAX_IMPORTANCE:
        raise ValueError("an importance is 0 to 3")


def _read_quote(row: Row) -> object:
    """Read a row of `memory_provenance`; refuse a quote that ends before it starts."""
    quote = quote_from_row(row)
    if not 0 <= quote.provenance.start <= quote.provenance.end:
        raise ValueError("a quote does not end before it starts")
    return quote


def _read_seed(row: Row) -> object:
    """Read a row of `user_seeds` as the entries of the profile."""
    return [entry_from_json(one) for one in row["profile"]]


def _read_pair(row: Row) -> object:
    """Read a row of `entities_kept_apart` as a pair of entity keys."""
    return frozenset({row["one"], row["two"]})


_MEMORIES = ImportedTable(
    name="memories",
    read=_read_memory,
    columns={
        **id_bounds("id", "persona_id", "type", "entity_type", "fact_type", "attribute", "entity_label", "source"),
        **id_bounds("trust", "trust_level", "status", "archive_reason", "origin", "sources"),
        "content": TextBound(most_chars=LONG_CHARS),
        "note": TextBound(most_chars=SHORT_CHARS),
        **text_bounds(KEY_CHARS, "memory_key", "claim_of", "slot"),
        **dict.fromkeys(("entity_refs",), TextBound(most_chars=KEY_CHARS, most_items=100)),
        **dict.fromkeys(("entity_labels", "entity_roles"), TextBound(most_chars=SHORT_CHARS, most_items=100)),
        "dates": TextBound(most_chars=SHORT_CHARS),
    },
)
_VERSIONS = ImportedTable(
    name="memory_versions",
    read=_read_version,
    columns={
        **id_bounds("memory_id", "source", "origin", "trust", "trust_level"),
        "content": TextBound(most_chars=LONG_CHARS),
        "reason": TextBound(most_chars=SHORT_CHARS),
    },
)
_PROVENANCE = ImportedTable(
    name="memory_provenance",
    read=_read_quote,
    columns={
        **id_bounds("memory_id", "message_id", "content_hash", "turn_id", "session_id"),
        "quote": TextBound(most_chars=TEXT_CHARS),
    },
)
_TODOS = ImportedTable(
    name="todos",
    read=todo_from_row,
    columns={
        **id_bounds("id", "persona_id", "kind", "todo_key", "status", "source"),
        **id_bounds("turn_id", "message_id", "closing_turn_id"),
        "content": TextBound(most_chars=LONG_CHARS),
        **text_bounds(TEXT_CHARS, "quote", "closing_quote"),
    },
)
_ALIASES = ImportedTable(
    name="entity_aliases",
    read=link_from_row,
    columns={**text_bounds(KEY_CHARS, "alias", "target", "asked_from"), **id_bounds("merge_id", "made_by")},
)
_APART = ImportedTable(name="entities_kept_apart", read=_read_pair, columns=text_bounds(KEY_CHARS, "one", "two"))
_SEEDS = ImportedTable(
    name="user_seeds",
    read=_read_seed,
    columns={"profile": JsonShape(adapter=TypeAdapter(list[SeedEntry]), most_items=_MAX_SEED_ENTRIES)},
)
_SPINES = ImportedTable(
    name="spines",
    read=spine_from_row,
    columns={
        "lines": JsonShape(adapter=TypeAdapter(dict[SpinePart, list[SpineLine]]), most_chars=SHORT_CHARS),
        **id_bounds("sources"),
        "made_by": TextBound(most_chars=SHORT_CHARS),
        "rejected": _REJECTIONS,
    },
)
_CURATOR_RUNS = ImportedTable(
    name="curator_runs",
    read=curator_run_from_row,
    columns={
        **id_bounds("id", "folded", "archived"),
        "made_by": TextBound(most_chars=SHORT_CHARS),
        "rejected": _REJECTIONS,
    },
)
IMPORTED_TABLES: tuple[ImportedTable, ...] = (
    _MEMORIES, _VERSIONS, _PROVENANCE, _TODOS, _ALIASES, _APART, _SEEDS, _SPINES, _CURATOR_RUNS,
)  # fmt: skip
