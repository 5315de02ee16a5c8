"""What the scripted model says, how it fails, and what it was asked.

    script = Script()
    script.answers("Reflection", {"memories": [{"type": "PROFILE", "content": "Lives in Austin", …}]})
    script.replies("Hello!", called("recall", query="Austin"), "You live in Austin.")
    script.fails("cut", on="chat", after=2)      # once; times=None: until script.heals()
    with ScriptedServer(script) as server:       # MNEMON_MODEL=openai:any MNEMON_MODEL_BASE_URL=<server.url>
        …
        assert script.asked[-1].title == "Reflection"

In process: `ScriptedLlm(script)`. As a process of its own: `python -m mnemon.llm.scripted --port 9009`,
scripted over HTTP as `server.py` says.

The emptiest answer that a JSON schema allows.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mnemon.llm.protocol import Json, LlmMessage, ToolRequest, Usage


def empty_answer(schema: Json) -> Json:
    """An object with only what the schema requires, each value as empty as it may be."""
    value = _empty_value(schema, schema)
    return value if isinstance(value, dict) else {}


def _empty_value(schema: Json, root: Json) -> Any:
    schema = _resolve_ref(schema, root)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if "enum" in schema:
        return schema["enum"][0]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            options = [_resolve_ref(option, root) for option in schema[union]]
            return None if any(o.get("type") == "null" for o in options) else _empty_value(options[0], root)
    return _empty_of_type(schema, root)


def _empty_of_type(schema: Json, root: Json) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "null")
    if isinstance(kind, list):
        return None if "null" in kind else _empty_value({**schema, "type": kind[0]}, root)
    match kind:
        case "object":
            fields = schema.get("properties", {})
            return {name: _empty_value(fields.get(name, {}), root) for name in schema.get("required", ())}
        case "array":
            return [_empty_value(schema.get("items", {}), root) for _ in range(schema.get("minItems", 0))]
        case "string":
            return " " * schema.get("minLength", 0)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return None


def _resolve_ref(schema: Json, root: Json) -> Json:
    while "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    if len(schema.get("allOf", ())) == 1:
        return _resolve_ref(schema["allOf"][0], root)
    return schema


FaultKind = Literal["dead", "slow", "rate_limited", "error", "garbage", "cut", "hang"]
"""What goes wrong:

dead          the connection is closed without a word
slow          the answer comes after `seconds`, or when the script heals
rate_limited  429 with Retry-After: `seconds`
error         500
garbage       200, and a body that is not JSON; from a question, an answer that is not JSON
cut           the connection breaks after `after` pieces
hang          the connection stays open after `after` pieces, and nothing more comes
"""

_POLL_INTERVAL_S = 0.01
CHAT_TITLE = "chat"
EMBEDDINGS_TITLE = "embeddings"


@dataclass(frozen=True, kw_only=True)
class ScriptedRequest:
    """One request, as the model saw it."""

    on: str
    """`chat`, `embeddings`, or the schema's title."""
    model: str = ""
    system: str = ""
    messages: tuple[LlmMessage, ...] = ()
    tools: tuple[str, ...] = ()
    """Names of the tools offered."""
    schema: Json | None = None
    stream: bool = False
    body: Json = field(default_factory=dict)
    """The request's JSON, where it came over HTTP."""
    headers: dict[str, str] = field(default_factory=dict)
    """Lower-case names, where it came over HTTP."""

    @property
    def title(self) -> str | None:
        """The schema's title; None for a chat."""
        return self.on if self.schema is not None else None

    @property
    def prompt(self) -> str:
        """What stands in the last user message."""
        return next((m.content for m in reversed(self.messages) if m.role == "user"), "")


@dataclass(frozen=True, kw_only=True)
class ScriptedReply:
    """What the model says once: text in pieces, tool calls, and what it cost."""

    pieces: tuple[str, ...] = ()
    """Streamed one by one."""
    calls: tuple[ToolRequest, ...] = ()
    reason: str | None = None
    """`stop`, `length`, …; None: `tool_calls` when there are calls, else `stop`."""
    usage: Usage | None = None
    """None: counted by a rule of thumb, four characters to a token."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


ReplyLike = str | ScriptedReply
ReplySource = ReplyLike | Callable[[ScriptedRequest], ReplyLike]
AnswerSource = Json | str | Callable[[ScriptedRequest], Json | str]
"""An object, or raw text that may be no JSON at all, or a function that makes either from what was asked."""


@dataclass(kw_only=True)
class ScriptedFault:
    """Something that goes wrong a number of times."""

    kind: FaultKind
    on: str | None
    """Only there (`chat`, `embeddings`, a title); None: everywhere."""
    times: int | None
    """How often still; None: until healed."""
    after: int
    seconds: float
    over: bool = False
    """Whether the script healed since; what waits because of it goes on."""

    async def wait_out(self) -> None:
        """Wait for its seconds to pass, or for the script to heal."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        while not self.over and (left := end - loop.time()) > 0:  # noqa: ASYNC110 it heals in another thread
            await asyncio.sleep(min(left, _POLL_INTERVAL_S))


class Script:
    """A queue of replies, a queue or a rule per title, a list of faults; remembers every request."""

    def __init__(self, *, fallback: ReplySource = "Understood.") -> None:
        self.asked: list[ScriptedRequest] = []
        """Every request, oldest first, also those that a fault met."""
        self._fallback = fallback
        self._replies: deque[ReplySource] = deque()
        self._answers: dict[str, deque[AnswerSource]] = {}
        self._standing: dict[str, AnswerSource] = {}
        self._faults: list[ScriptedFault] = []
        self._scripted_faults: list[ScriptedFault] = []
        # The server answers in its own thread while the test goes on scripting in another.
        self._lock = threading.Lock()

    def add_replies(self, *said: ReplySource) -> None:
        """Say these in the next chats, one each, in order; then the fallback."""
        with self._lock:
            self._replies.extend(said)

    def set_default_reply(self, said: ReplySource) -> None:
        """Say this whenever the queue is empty."""
        self._fallback = said

    def add_answers(self, title: str, *answers: AnswerSource) -> None:
        """Answer the next questions with this title, one each, in order."""
        with self._lock:
            self._answers.setdefault(title, deque()).extend(answers)

    def set_default_answer(self, title: str, answer: AnswerSource) -> None:
        """Answer so whenever the title's queue is empty; without this the emptiest valid answer is given."""
        with self._lock:
            self._standing[title] = answer

    def add_fault(
        self,
        kind: FaultKind,
        *,
        on: str | None = None,
        times: int | None = 1,
        after: int = 1,
        seconds: float = 1.0,
    ) -> None:
        """Fail the next `times` requests (None: until healed), everywhere or only `on` one kind of them."""
        with self._lock:
            made = ScriptedFault(kind=kind, on=on, times=times, after=after, seconds=seconds)
            self._faults.append(made)
            self._scripted_faults.append(made)

    def clear_faults(self) -> None:
        """Nothing fails any more, and what is slow answers now."""
        with self._lock:
            for fault in self._scripted_faults:
                fault.over = True
            self._faults.clear()
            self._scripted_faults.clear()

    def clear(self) -> None:
        """Forget replies, answers, faults and what was asked."""
        with self._lock:
            for queue in (
                self._replies,
                self._answers,
                self._standing,
                self._faults,
                self._scripted_faults,
                self.asked,
            ):
                queue.clear()

    def requests_on(self, on: str) -> list[ScriptedRequest]:
        """The requests of one kind, oldest first: `chat`, `embeddings`, or a title."""
        return [asked for asked in self.asked if asked.on == on]

    def record_request(self, asked: ScriptedRequest) -> ScriptedFault | None:
        """Remember the request; the fault it meets, used up by one."""
        with self._lock:
            self.asked.append(asked)
            for fault in self._faults:
                if fault.on in (None, asked.on):
                    if fault.times is not None:
                        fault.times -= 1
                        if fault.times <= 0:
                            self._faults.remove(fault)
                    return fault
        return None

    def next_reply(self, asked: ScriptedRequest) -> ScriptedReply:
        """What to say to this chat."""
        with self._lock:
            said = self._replies.popleft() if self._replies else self._fallback
        made = said(asked) if callable(said) else said
        return made if isinstance(made, ScriptedReply) else ScriptedReply(pieces=split_words(made))

    def next_answer(self, asked: ScriptedRequest) -> Json | str:
        """What to answer to this question."""
        with self._lock:
            queue = self._answers.get(asked.on)
            answer = queue.popleft() if queue else self._standing.get(asked.on)
        if answer is None:
            return empty_answer(asked.schema or {})
        return answer(asked) if callable(answer) else answer


def tool_call_reply(name: str, /, **arguments: Any) -> ScriptedReply:
    """A reply that is one tool call."""
    return tool_calls_reply((name, arguments))


def tool_calls_reply(*requests: tuple[str, Json]) -> ScriptedReply:
    """A reply that is several tool calls at once."""
    return ScriptedReply(
        calls=tuple(
            ToolRequest(id=f"call_{number}_{name}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(requests, 1)
        )
    )


def split_words(text: str) -> tuple[str, ...]:
    """The text cut after every space, as a model streams it."""
    words = text.split(" ")
    return tuple(word + " " for word in words[:-1]) + ((words[-1],) if words[-1] else ())


def estimate_usage(asked: ScriptedRequest, said: str, model: str) -> Usage:
    """Usage by a rule of thumb: four characters to a token, nothing cached."""
    given: Sequence[str] = (asked.system, *(message.content for message in asked.messages))
    return Usage(
        input_tokens=sum(len(text) + 3 for text in given) // 4,
        output_tokens=(len(said) + 3) // 4,
        model=model,
    )
