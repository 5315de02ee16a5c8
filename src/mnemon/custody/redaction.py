"""Covering the traces of something forgotten in every table: the person's own, and the organization's."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mnemon.custody import tables
from mnemon.custody.ledger import ForgetTally
from mnemon.custody.tables import OWNER_COLUMNS, SQL, UNREDACTED_TABLES, OwnedTable, owned_tables
from mnemon.custody.traces import ForgottenTraces
from mnemon.db.tx import Row, Tx
from mnemon.event_loop import INLINE_CHARS, run_off_loop
from mnemon.scope import Scope

WHOLE_ROW_TABLES = frozenset({
    "users", "memories", "memory_versions", "embeddings", "tombstones", "entity_aliases", "entity_merges",
    "entities_kept_apart",
})  # fmt: skip
"""Tables whose rows are kept or deleted as a whole: the text of another memory is not changed."""
UNCHANGEABLE_COLUMNS = {"runs": ("result", "headline")}
"""Columns that a trigger protects once the run has succeeded."""
NOTE_TABLES = frozenset({"notes", "note_texts"})
_PHRASES_PER_QUERY = 200
"""More in one pattern would make PostgreSQL's matcher slow."""
_ID_PATTERN = re.compile(r"[\w-]+")
_VERBATIM_ROLES = frozenset({"user", "tool"})


@dataclass(frozen=True, kw_only=True)
class RedactedRows:
    """The changed rows whose vectors must be made anew, since those still hold the forgotten meaning."""

    messages: list[str]
    notes: list[tuple[list[str], str]]
    """By namespace and key."""


async def redact_everywhere(
    tx: Tx, scope: Scope, traces: ForgottenTraces, memory_ids: Collection[str], tally: ForgetTally
) -> RedactedRows:
    """Redact what is forgotten in the person's texts, and where certain in the organization's; return changed rows.

    `memory_ids` are the forgotten memories: in a stored reply, an object of one of them is reduced to its id.
    """
    found = RedactedRows(messages=[], notes=[])
    for table in await owned_tables(tx):
        if table.name in UNREDACTED_TABLES or table.name in WHOLE_ROW_TABLES or not table.text_columns:
            continue
        if table.is_personal:
            changed = await _redact_table(tx, scope, table, traces, tally)
            found.messages.extend(str(row["id"]) for row in changed if table.name == "messages")
            found.notes.extend((row["namespace"], row["key"]) for row in changed if table.name in NOTE_TABLES)
        else:
            await _redact_table(tx, scope, table, traces.certain_traces(), tally)
    await _redact_replies(tx, scope, traces, memory_ids, tally)
    await _redact_work_errors(tx, scope, traces, tally)
    return found


async def redact_organization(tx: Tx, scope: Scope, person: str, texts: Collection[str], tally: ForgetTally) -> None:
    """Redact what the organization's tables, such as agents' chats and runs, hold of a forgotten person.

    `person` is the application's name for them; where that is an ordinary word it may mean somebody else, so rows with
    it are left as they are and counted as kept.
    """
    named = ForgottenTraces(phrases=(person,))
    certain = ForgottenTraces(phrases=tuple(texts)).certain_traces().phrases + (
        named.phrases if named.search_hints else ()
    )
    for table in await owned_tables(tx):
        if table.is_personal or table.name in UNREDACTED_TABLES or not table.text_columns:
            continue
        for start in range(0, len(certain), _PHRASES_PER_QUERY):
            traces = ForgottenTraces(phrases=certain[start : start + _PHRASES_PER_QUERY])
            await _redact_table(tx, scope, table, traces, tally)
        if not named.search_hints:
            for row in await tables.rows_naming(tx, scope, table, person):
                tally.count_kept(table.name, _row_key(table, row))
    await _redact_work_errors(tx, scope, ForgottenTraces(phrases=certain), tally)


async def _redact_table(
    tx: Tx, scope: Scope, table: OwnedTable, traces: ForgottenTraces, tally: ForgetTally
) -> list[Row]:
    """Redact the traces in one table; return the changed rows; count columns that must not change as kept."""
    tally.redacted[table.name] += 0
    if not traces.search_hints:
        return []
    done = []
    async for page in tables.stream_mentions(tx, scope, table, traces.search_hints):
        changes = await run_off_loop(_size_of_rows(table, page), partial(_redacted_rows, table, page, traces))
        for row, changed in zip(page, changes, strict=True):
            for column in UNCHANGEABLE_COLUMNS.get(table.name, ()):
                if changed.pop(column, None) is not None:
                    tally.count_kept(f"{table.name}.{column}", _row_key(table, row))
            if changed:
                await tables.update_row(tx, scope, table, row, changed)
                tally.redacted[table.name] += 1
                done.append(row)
    return done


def _size_of_rows(table: OwnedTable, rows: Sequence[Row]) -> int:
    """Return about how many characters the rows' texts have; JSON that is not empty counts as long."""
    texts = (row[column] for row in rows for column in table.text_columns if row[column])
    return sum(len(text) if isinstance(text, str) else INLINE_CHARS for text in texts)


def _redacted_rows(table: OwnedTable, rows: Sequence[Row], traces: ForgottenTraces) -> list[dict[str, Any]]:
    """Return for each row those of its texts, by column, that have a trace, with the traces covered."""
    found = []
    for row in rows:
        # In messages of people and tools only the words themselves are covered, elsewhere the whole sentence.
        sentences = not (table.name == "messages" and row["role"] in _VERBATIM_ROLES)
        texts = {column: row[column] for column in table.text_columns}
        covered = {column: traces.redact_json(text, sentences=sentences) for column, text in texts.items()}
        found.append({column: text for column, text in covered.items() if text != texts[column]})
    return found


def _row_key(table: OwnedTable, row: Row) -> list[object]:
    """Return the values of the row's primary key, without organization and person."""
    return [row[column] for column in table.key if column not in OWNER_COLUMNS]


async def _redact_replies(
    tx: Tx, scope: Scope, traces: ForgottenTraces, memory_ids: Collection[str], tally: ForgetTally
) -> None:
    """Redact the traces in replies stored for retries; in the person's own replies, uncertain traces as well."""
    certain = traces.certain_traces()
    names = frozenset(memory_ids)
    for row in await tx.fetch_all(SQL["replies"], org_id=scope.org_id):
        if row["body"] is None:
            continue
        looked_for = traces if scope.user in row["concerns"] else certain
        stored = bytes(row["body"])
        covered = await run_off_loop(len(stored), partial(_redacted_reply, stored, looked_for, names))
        if covered is not None:
            await _rewrite_reply(tx, scope, row, covered.body, row["concerns"])
            tally.redacted["replies"] += 1


@dataclass(frozen=True, kw_only=True)
class RedactedReply:
    """The body of a stored reply, with what is forgotten covered."""

    body: Any


def _redacted_reply(stored: bytes, traces: ForgottenTraces, memory_ids: frozenset[str]) -> RedactedReply | None:
    """Return a stored reply's body without the forgotten memories and traces; None if it has none."""
    body = _decode_body(stored)
    covered = traces.redact_json(_strip_forgotten(body, memory_ids))
    return RedactedReply(body=covered) if covered != body else None


async def _redact_work_errors(tx: Tx, scope: Scope, traces: ForgottenTraces, tally: ForgetTally) -> None:
    """Redact the traces in jobs' stored errors; in errors of the person's own jobs, uncertain traces as well.

    A model's error quotes nothing (`llm/failure.py`), but rows that an earlier version wrote may.
    """
    failed = await tx.fetch_all(SQL["work_errors"], org_id=scope.org_id)
    if not failed:
        return
    names = await load_person_names(tx, scope)
    certain = traces.certain_traces()
    for row in failed:
        error = (traces if names_person(row, names) else certain).redact_text(row["error"])
        if error != row["error"]:
            where = {"org_id": scope.org_id, "kind": row["kind"], "key": row["key"]}
            tally.redacted["work"] += await tx.execute(
                SQL["rewrite_work_error"], **where, error=error, before=row["error"]
            )


async def load_person_names(tx: Tx, scope: Scope) -> frozenset[str]:
    """Return every id under which work or a stored reply may name the person."""
    rows = await tx.fetch_all(SQL["person_ids"], **scope.owner_params)
    return frozenset({scope.user, *(str(row["id"]) for row in rows)})


def names_person(work: Row, names: Collection[str]) -> bool:
    """Say whether the key or the lane of a work row contains one of the ids."""
    return any(name in names for name in _ID_PATTERN.findall(f"{work['key']} {work['lane'] or ''}"))


def _strip_forgotten(value: Any, memory_ids: Collection[str]) -> Any:
    """Return the JSON value with every object of a forgotten memory reduced to its id."""
    if isinstance(value, list):
        return [_strip_forgotten(one, memory_ids) for one in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("id"), str) and value["id"] in memory_ids:
        return {"id": value["id"], "forgotten": True}
    return {name: _strip_forgotten(one, memory_ids) for name, one in value.items()}


async def blank_replies(tx: Tx, scope: Scope, names: Sequence[str], tally: ForgetTally) -> None:
    """Empty the replies stored for retries that concern the person or name any of these ids."""
    wanted = frozenset(names)
    for row in await tx.fetch_all(SQL["replies"], org_id=scope.org_id):
        body = None if row["body"] is None else _decode_body(bytes(row["body"]))
        # A reply can name the person without having been marked as about them, so its strings are searched too.
        about = scope.user in row["concerns"] or row["subject"] in wanted or bool(wanted & _strings_in(body))
        if not about:
            continue
        # A row without a body stands for a chat reply that is still written, or failed. Blanked like the others, it
        # keeps a retry from asking again in the name of the forgotten person.
        meta = body.get("meta") if isinstance(body, dict) else None
        await _rewrite_reply(tx, scope, row, {"data": None, "meta": meta}, ())
        tally.redacted["replies"] += 0 if body is None else 1


async def _rewrite_reply(tx: Tx, scope: Scope, row: Row, body: Any, concerns: Sequence[str]) -> None:
    """Replace the body of a reply stored for retries, and the people it concerns."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    names = {"org_id": scope.org_id, "caller": row["caller"], "key": row["key"]}
    await tx.execute(SQL["rewrite_reply"], **names, body=text, concerns=list(concerns))


def _decode_body(body: bytes) -> Any:
    """Return the stored reply's body as JSON, or as text where it is not JSON."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _strings_in(value: Any) -> frozenset[str]:
    """Return every string within a JSON value."""
    if isinstance(value, str):
        return frozenset({value})
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return frozenset(text for one in inner for text in _strings_in(one))
