"""A session store for the Claude Agent SDK: `ClaudeAgentOptions(session_store=MnemonSessionStore(client))`.

Transcripts are mirrored into the notes of the client's person, and can be resumed on any machine.
"""

import asyncio
from collections import defaultdict
from datetime import datetime
from typing import Any

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from mnemon_client import Mnemon
from mnemon_client.integrations.note_list import NoteList, unwrapped, wrapped
from mnemon_client.shapes import Note

ROOT, SUMMARIES = "claude-agent", "claude-agent-summaries"
_PAGE_SIZE = 1000


class MnemonSessionStore(SessionStore):
    """Transcripts of sessions and of their subagents, and the sessions' summaries."""

    def __init__(self, client: Mnemon) -> None:
        """Make a session store over a client, whose person's notes hold the transcripts."""
        self.client = client
        self._append_locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append the entries to a session's transcript, each `uuid` once, and update the session's summary."""
        if not entries:
            return
        namespace = _session_namespace(key)
        changes = [
            {"op": "put", "namespace": namespace, "key": entry.get("uuid"), "value": wrapped(entry), "ifAbsent": True}
            for entry in entries
        ]
        # Subagents have no summary.
        if key.get("subpath"):
            await self.client.write_notes(changes)
            return
        # A summary is read, folded and written back, so two appends to one session must not overlap in this process.
        async with self._append_locks[key["project_key"], key["session_id"]]:
            address = ([SUMMARIES, key["project_key"]], key["session_id"])
            [held] = await self.client.read_notes([address])
            summary = fold_session_summary(None if held is None else _summary_entry(held), key, entries)
            put = {"op": "put", "namespace": address[0], "key": address[1], "value": wrapped(summary["data"])}
            await self.client.write_notes([*changes, put])

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return a session's whole transcript; None for one never written."""
        entries: list[SessionStoreEntry] = await NoteList(self.client, _session_namespace(key)).last()
        return entries or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the ids of a project's sessions with the time of their last entry."""
        return [
            {"session_id": note["key"], "mtime": _modified_ms(note)} for note in await self._list_summaries(project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summaries of a project's sessions."""
        return [_summary_entry(note) for note in await self._list_summaries(project_key)]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session's transcript with those of its subagents and its summary; or one subagent's alone."""
        if key.get("subpath"):
            await self.client.write_notes([{"op": "clear", "namespace": _session_namespace(key)}])
            return
        project, session = key["project_key"], key["session_id"]
        gone: list[dict[str, Any]] = [
            {"op": "clear", "namespace": [ROOT, project, session]},
            {"op": "delete", "namespace": [SUMMARIES, project], "key": session},
        ]
        await self.client.write_notes(gone)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the paths of the subagents that a session has transcripts of."""
        prefix = [ROOT, key["project_key"], key["session_id"], "sub"]
        return [found[-1] for found in await self.client.note_namespaces(prefix=prefix, limit=_PAGE_SIZE)]

    async def _list_summaries(self, project_key: str) -> list[Note]:
        """Return the notes that hold the summaries of a project's sessions, all pages of them."""
        found: list[Note] = []
        while True:
            page = await self.client.search_notes(
                [SUMMARIES, project_key], exact=True, order="key", limit=_PAGE_SIZE, offset=len(found)
            )
            found += page
            if len(page) < _PAGE_SIZE:
                return found


def _session_namespace(key: SessionKey) -> list[str]:
    """Return the namespace of the notes that hold the transcript of a session or of its subagent."""
    subpath = key.get("subpath")
    return [ROOT, key["project_key"], key["session_id"], *(["sub", subpath] if subpath else ["main"])]


def _modified_ms(note: Note) -> int:
    """Return when the note was last changed, in milliseconds since 1970 as the SDK counts."""
    return int(datetime.fromisoformat(note["updatedAt"]).timestamp() * 1000)


def _summary_entry(note: Note) -> SessionSummaryEntry:
    """Return the note of a session's summary in the form that the SDK takes."""
    return {"session_id": note["key"], "mtime": _modified_ms(note), "data": unwrapped(note["value"])}
