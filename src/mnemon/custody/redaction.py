"""Covering the traces of something forgotten wherever they stand: in the person's tables, and in the organization's."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mnemon.custody import rows
from mnemon.custody.catalog import OWNER, SQL, UNTOUCHED, Table, tables
from mnemon.custody.receipt import Tally
from mnemon.custody.traces import Traces
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope

OWN_RULES = frozenset({
    "users", "memories", "memory_versions", "embeddings", "tombstones", "entity_aliases", "entity_merges",
    "entities_kept_apart",
})  # fmt: skip
"""Tables whose rows are kept or removed as a whole: what another memory says is that memory's."""
UNCHANGEABLE = {"runs": ("result", "headline")}
"""Columns that a trigger keeps as they are once the run has succeeded."""
NOTES = frozenset({"notes", "note_texts"})
_PHRASES_AT_ONCE = 200
"""More in one pattern would make PostgreSQL's matcher slow."""
_OWN_WORDS = frozenset({"user", "tool"})


@dataclass(frozen=True, kw_only=True)
class Covered:
    """What changed and had vectors, which still tell of it."""

    messages: list[str]
    notes: list[tuple[list[str], str]]
    """By namespace and key."""


async def cover_everywhere(tx: Tx, scope: Scope, traces: Traces, memory_ids: Collection[str], tally: Tally) -> Covered:
    """No text of the person's has a trace, nor one of the organization's a certain one.

    `memory_ids` are what is forgotten: a kept reply that shows one of them shows its id alone.
    """
    found = Covered(messages=[], notes=[])
    for table in await tables(tx):
        if table.name in UNTOUCHED or table.name in OWN_RULES or not table.texts:
            continue
        if table.of_person:
            changed = await _cover_table(tx, scope, table, traces, tally)
            found.messages.extend(str(row["id"]) for row in changed if table.name == "messages")
            found.notes.extend((row["namespace"], row["key"]) for row in changed if table.name in NOTES)
        else:
            await _cover_table(tx, scope, table, traces.strong(), tally)
    await _cover_replies(tx, scope, traces, memory_ids, tally)
    return found


async def cover_organization(tx: Tx, scope: Scope, person: str, texts: Collection[str], tally: Tally) -> None:
    """Cover what the organization's tables, its agents' chats and runs above all, hold of a person who is forgotten.

    `person` is what the caller names them; where that is an ordinary word it may be anybody's, so rows with it are left
    as they are and counted as kept.
    """
    named = Traces(phrases=(person,))
    certain = Traces(phrases=tuple(texts)).strong().phrases + (named.phrases if named.hints else ())
    for table in await tables(tx):
        if table.of_person or table.name in UNTOUCHED or not table.texts:
            continue
        for start in range(0, len(certain), _PHRASES_AT_ONCE):
            traces = Traces(phrases=certain[start : start + _PHRASES_AT_ONCE])
            await _cover_table(tx, scope, table, traces, tally)
        if not named.hints:
            for row in await rows.naming(tx, scope, table, person):
                tally.keep(table.name, _id_of(table, row))


async def _cover_table(tx: Tx, scope: Scope, table: Table, traces: Traces, tally: Tally) -> list[Row]:
    tally.redacted[table.name] += 0
    if not traces.hints:
        return []
    done = []
    for row in await rows.mentioning(tx, scope, table, traces.hints):
        sentences = not (table.name == "messages" and row["role"] in _OWN_WORDS)
        changed = {c: new for c in table.texts if (new := _covered(traces, row[c], sentences)) != row[c]}
        fixed = [column for column in UNCHANGEABLE.get(table.name, ()) if column in changed]
        for column in fixed:
            del changed[column]
            tally.keep(f"{table.name}.{column}", _id_of(table, row))
        if changed:
            await rows.rewrite(tx, scope, table, row, changed)
            tally.redacted[table.name] += 1
            done.append(row)
    return done


def _id_of(table: Table, row: Row) -> list[object]:
    return [row[column] for column in table.key if column not in OWNER]


def _covered(traces: Traces, value: Any, sentences: bool) -> Any:
    return traces.covered_json(value, sentences=sentences)


async def _cover_replies(tx: Tx, scope: Scope, traces: Traces, memory_ids: Collection[str], tally: Tally) -> None:
    """A kept reply goes on answering its retry, without the forgotten words; the person's own lose weak traces too."""
    certain = traces.strong()
    for row in await tx.all(SQL["replies"], org_id=scope.org_id):
        if row["body"] is None:
            continue
        body = _json(bytes(row["body"]))
        looked_for = traces if scope.user in row["concerns"] else certain
        covered = looked_for.covered_json(_bare(body, memory_ids))
        if covered != body:
            await _rewrite_reply(tx, scope, row, covered, row["concerns"])
            tally.redacted["replies"] += 1


def _bare(value: Any, memory_ids: Collection[str]) -> Any:
    """The value with every object of a forgotten memory reduced to its id."""
    if isinstance(value, list):
        return [_bare(one, memory_ids) for one in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("id"), str) and value["id"] in memory_ids:
        return {"id": value["id"], "forgotten": True}
    return {name: _bare(one, memory_ids) for name, one in value.items()}


async def blank_replies(tx: Tx, scope: Scope, names: Sequence[str], tally: Tally) -> None:
    """Replies that concern the person, or name any of these ids, say nothing any more."""
    wanted = frozenset(names)
    for row in await tx.all(SQL["replies"], org_id=scope.org_id):
        body = None if row["body"] is None else _json(bytes(row["body"]))
        about = scope.user in row["concerns"] or row["subject"] in wanted or bool(wanted & _strings(body))
        if not about:
            continue
        if body is not None:
            meta = body.get("meta") if isinstance(body, dict) else None
            await _rewrite_reply(tx, scope, row, {"data": None, "meta": meta}, ())
            tally.redacted["replies"] += 1


async def _rewrite_reply(tx: Tx, scope: Scope, row: Row, body: Any, concerns: Sequence[str]) -> None:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    names = {"org_id": scope.org_id, "caller": row["caller"], "key": row["key"]}
    await tx.run(SQL["rewrite_reply"], **names, body=text, concerns=list(concerns))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _strings(value: Any) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset({value})
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return frozenset(text for one in inner for text in _strings(one))
