"""The API's JSON as typed dictionaries, with the API's own names."""

from typing import Any, Literal, NotRequired, TypedDict

MemoryType = Literal["PROFILE", "PEOPLE", "PROJECT", "OPEN_LOOP"]
Ranking = Literal["similarity", "blended", "hybrid"]
FinishReason = Literal["stop", "length", "content_filter", "interrupted"]
"""Why a reply ended; `length` means that it was cut."""


class Entity(TypedDict):
    """The person or thing that a memory is about."""

    type: str
    label: str


class Memory(TypedDict):
    """A memory."""

    id: str
    userId: str
    personaId: str | None
    type: str
    content: str
    entityRefs: list[str]
    entityLabel: str | None
    subtype: dict[str, str | None]
    attribute: NotRequired[str | None]
    importance: int
    pinned: bool
    memoryKey: str
    source: str
    status: str
    confidence: float
    mentions: int
    validFrom: str
    validTo: str | None
    createdAt: str
    updatedAt: str
    provenance: list[dict[str, Any]]


class Hit(TypedDict):
    """A memory or a message that a search found."""

    memory: NotRequired[Memory]
    message: NotRequired[dict[str, Any]]
    score: float
    why: dict[str, Any]


class Found(TypedDict):
    """The result of a search."""

    results: list[Hit]
    entityCards: list[dict[str, Any]]


class Message(TypedDict):
    """A message of a turn."""

    role: Literal["user", "assistant", "tool"]
    content: str
    name: NotRequired[str]
    at: NotRequired[str]


class ToolResult(TypedDict):
    """The result of a tool."""

    id: str
    action: str
    ids: NotRequired[list[str]]
    types: NotRequired[list[str]]
    count: NotRequired[int]
    entities: NotRequired[list[dict[str, str]]]
    dependencies: NotRequired[list[dict[str, str]]]
    output: NotRequired[Any]


class Expectation(TypedDict):
    """The expected outcome of an action."""

    action: str
    expected_outcome: str
    expected_ids: NotRequired[list[str]]
    expected_type: NotRequired[str]
    expected_count: NotRequired[int]
    invariant: NotRequired[str]


class Recorded(TypedDict):
    """A recorded turn."""

    turnId: str
    sessionId: str
    agentStateUpdate: dict[str, Any] | None
    reflection: dict[str, Any]


class Reply(TypedDict):
    """A reply."""

    turnId: str
    sessionId: str
    messageId: str | None
    reply: str
    finishReason: FinishReason
    usage: dict[str, Any]


class Context(TypedDict):
    """The context of a chat turn."""

    system: str
    tokens: int
    layers: list[dict[str, Any]]
    leftOut: list[Any]


Engagement = dict[str, Any]
Run = dict[str, Any]
Agent = dict[str, Any]


class Note(TypedDict):
    """A JSON value that a program stores for a person."""

    namespace: list[str]
    key: str
    value: Any
    version: int
    createdAt: str
    updatedAt: str
    expiresAt: str | None
    score: float | None
