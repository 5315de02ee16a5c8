"""Message history for Pydantic AI.

`result = await agent.run("…", message_history=await history.load())`, then `await history.add(result.new_messages())`.
"""

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from mnemon_client import Mnemon
from mnemon_client.integrations.note_list import NoteList


class MnemonHistory:
    """A conversation's messages, in the notes of the client's person."""

    def __init__(self, conversation_id: str, client: Mnemon) -> None:
        """Make the history of a Pydantic AI conversation over a client, whose person's notes hold the messages."""
        self.conversation_id = conversation_id
        self._items = NoteList(client, ["pydantic-ai", conversation_id])

    async def load(self, last: int | None = None) -> list[ModelMessage]:
        """Return the conversation's last messages, all by default, oldest first."""
        return ModelMessagesTypeAdapter.validate_python(await self._items.last(last))

    async def add(self, messages: Sequence[ModelMessage]) -> None:
        """Append the messages to the conversation."""
        await self._items.add(ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"))

    async def clear(self) -> None:
        """Delete every message of the conversation."""
        await self._items.clear()
