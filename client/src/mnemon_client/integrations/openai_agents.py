"""A session for the OpenAI Agents SDK: `await Runner.run(agent, "…", session=MnemonSession("thread-1", client))`."""

from typing import Any

from agents import TResponseInputItem
from agents.memory import SessionABC, SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

from mnemon_client import Mnemon
from mnemon_client.integrations.note_list import NoteList


class MnemonSession(SessionABC):
    """A conversation's items, in the notes of the client's person."""

    def __init__(
        self, session_id: str, client: Mnemon, *, session_settings: SessionSettings | dict[str, Any] | None = None
    ) -> None:
        """Make a session of the OpenAI Agents SDK over a client, whose person's notes hold the items."""
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self._items = NoteList(client, ["openai-agents", session_id])

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the session's latest `limit` items, oldest first; without a limit what the settings say, or all."""
        items: list[TResponseInputItem] = await self._items.last(resolve_session_limit(limit, self.session_settings))
        return items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append the items to the session."""
        await self._items.add(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the session's latest item; None if there is none."""
        item: TResponseInputItem | None = await self._items.pop()
        return item

    async def clear_session(self) -> None:
        """Delete every item of the session."""
        await self._items.clear()
