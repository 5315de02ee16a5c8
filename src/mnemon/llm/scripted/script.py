"""What the scripted model says, how it fails, and what it was asked.

    script = Script()
    script.add_answers("Reflection", {"memories": [{"type": "PROFILE", "content": "Lives in Austin", …}]})
    script.add_replies("Hello!", tool_call_reply("recall", query="Austin"), "You live in Austin.")
    script.add_fault("cut", on="chat", after=2)  # once; times=None: until script.clear_faults()
    with ScriptedServer(script) as server:       # MNEMON_MODEL=openai:any MNEMON_MODEL_BASE_URL=<server.url>
        …
        assert script.asked[-1].title == "Reflection"

In process: `ScriptedLlm(script)`. As a process of its own: `python -m mnemon.llm.scripted --port 9009`, scripted over
HTTP as `server.py` describes. A question that has no scripted answer gets the smallest one its schema allows.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mnemon.llm.protocol import Json, LlmMessage, ToolRequest, Usage

FaultKind = Literal["dead", "slow", "rate_limited", "rejected", "error", "garbage", "cut", "hang"]
"""What goes wrong:

dead          the connection is closed without a response
slow          the response comes after `seconds`, or when the faults are cleared
rate_limited  429 with Retry-After: `seconds`
rejected      400 with a message that quotes the prompt, as some providers do
error         500
garbage       200 with a body that is not JSON; for a question, an answer that is not JSON
cut           the connection breaks after `after` pieces
hang          the connection stays open after `after` pieces, and nothing more comes
"""
_POLL_INTERVAL_S = 0.01
CHAT_TITLE = "chat"
EMBEDDINGS_TITLE = "embeddings"


def empty_answer(schema: Json) -> Json:
    """Return an object with only what the JSON schema requires, each value as empty as it allows."""
    value = _empty_value(schema, schema)
    return value if isinstance(value, dict) else {}


def _empty_value(schema: Json, root: Json) -> Any:
    """Return the smallest value a JSON schema allows: its constant, default, first choice, null or an empty one."""
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
    """Return the smallest value of the JSON schema's type."""
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
    """Return the JSON schema that a `$ref`, or an `allOf` of one, stands for."""
    while "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    if len(schema.get("allOf", ())) == 1:
        return _resolve_ref(schema["allOf"][0], root)
    return schema


@dataclass(frozen=True, kw_only=True)
class ScriptedRequest:
    """One request as the model received it."""

    on: str
    """What was requested: `chat`, `embeddings`, or the schema's title."""
    model: str = ""
    system: str = ""
    messages: tuple[LlmMessage, ...] = ()
    tools: tuple[str, ...] = ()
    """Names of the tools offered."""
    schema: Json | None = None
    stream: bool = False
    body: Json = field(default_factory=dict)
    """The request's JSON, if it came over HTTP."""
    headers: dict[str, str] = field(default_factory=dict)
    """The request's headers with lower-case names, if it came over HTTP."""

    @property
    def title(self) -> str | None:
        """Return the title of the schema that the request asks to fill; None for a chat."""
        return self.on if self.schema is not None else None

    @property
    def prompt(self) -> str:
        """Return the content of the request's last user message."""
        return next((m.content for m in reversed(self.messages) if m.role == "user"), "")


@dataclass(frozen=True, kw_only=True)
class ScriptedReply:
    """One reply: text in pieces, tool calls, and what it cost."""

    pieces: tuple[str, ...] = ()
    """Streamed one by one."""
    calls: tuple[ToolRequest, ...] = ()
    reason: str | None = None
    """`stop`, `length`, …; None means `tool_calls` when there are calls, otherwise `stop`."""
    usage: Usage | None = None
    """None means estimated, at four characters to a token."""

    @property
    def text(self) -> str:
        """Return the reply's pieces as one text."""
        return "".join(self.pieces)


ReplyLike = str | ScriptedReply
ReplySource = ReplyLike | Callable[[ScriptedRequest], ReplyLike]
AnswerSource = Json | str | Callable[[ScriptedRequest], Json | str]
"""An object, or raw text that need not be JSON, or a function that makes either from the request."""


@dataclass(kw_only=True)
class ScriptedFault:
    """A fault that happens a number of times."""

    kind: FaultKind
    on: str | None
    """The kind of request it applies to (`chat`, `embeddings`, a title); None means all."""
    times: int | None
    """How many requests it still applies to; None means until the faults are cleared."""
    after: int
    seconds: float
    over: bool = False
    """Whether the faults were cleared since; a request that waits because of it goes on."""

    async def wait_out(self) -> None:
        """Wait until the fault's `seconds` have passed or the faults were cleared."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        while not self.over and (left := end - loop.time()) > 0:  # noqa: ASYNC110 cleared by another thread
            await asyncio.sleep(min(left, _POLL_INTERVAL_S))


class Script:
    """A queue of replies, a queue and a default answer per title, and a list of faults; records every request."""

    def __init__(self, *, fallback: ReplySource = "Understood.") -> None:
        """Begin an empty script of a model; `fallback` is the reply to a chat that has none scripted."""
        self.asked: list[ScriptedRequest] = []
        """Every request, oldest first, failed ones included."""
        self._fallback = fallback
        self._replies: deque[ReplySource] = deque()
        self._answers: dict[str, deque[AnswerSource]] = {}
        self._standing: dict[str, AnswerSource] = {}
        self._faults: list[ScriptedFault] = []
        self._scripted_faults: list[ScriptedFault] = []
        # The server responds in its own thread while a test goes on scripting in another.
        self._lock = threading.Lock()

    def add_replies(self, *replies: ReplySource) -> None:
        """Queue scripted replies for the next chats, one each; after them the default reply is used."""
        with self._lock:
            self._replies.extend(replies)

    def set_default_reply(self, reply: ReplySource) -> None:
        """Use this scripted reply for a chat whenever the queue of replies is empty."""
        self._fallback = reply

    def add_answers(self, title: str, *answers: AnswerSource) -> None:
        """Queue scripted answers for the next questions with this title, one each."""
        with self._lock:
            self._answers.setdefault(title, deque()).extend(answers)

    def set_default_answer(self, title: str, answer: AnswerSource) -> None:
        """Use this answer for questions whose title has an empty queue, in place of the smallest valid one."""
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
        """Make the next `times` requests fail (None: until cleared), all of them or only those `on` one kind."""
        with self._lock:
            made = ScriptedFault(kind=kind, on=on, times=times, after=after, seconds=seconds)
            self._faults.append(made)
            self._scripted_faults.append(made)

    def clear_faults(self) -> None:
        """Remove all scripted faults; requests that are being delayed are answered now."""
        with self._lock:
            # Faults that are used up too: one of them may be delaying a request just now.
            for fault in self._scripted_faults:
                fault.over = True
            self._faults.clear()
            self._scripted_faults.clear()

    def clear(self) -> None:
        """Remove the script's replies, answers and faults, and the requests it recorded."""
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
        """Return the recorded requests of one kind, oldest first: `chat`, `embeddings`, or a title."""
        return [request for request in self.asked if request.on == on]

    def record_request(self, request: ScriptedRequest) -> ScriptedFault | None:
        """Record the request and return the fault that applies to it, which is then used up by one, or None."""
        with self._lock:
            self.asked.append(request)
            for fault in self._faults:
                if fault.on in (None, request.on):
                    if fault.times is not None:
                        fault.times -= 1
                        if fault.times <= 0:
                            self._faults.remove(fault)
                    return fault
        return None

    def next_reply(self, request: ScriptedRequest) -> ScriptedReply:
        """Return the scripted reply to this chat, the next of the queue or the default, and take it off the queue."""
        with self._lock:
            source = self._replies.popleft() if self._replies else self._fallback
        # Outside the lock, which is not reentrant: a scripted function may use the script itself.
        made = source(request) if callable(source) else source
        return made if isinstance(made, ScriptedReply) else ScriptedReply(pieces=split_words(made))

    def next_answer(self, request: ScriptedRequest) -> Json | str:
        """Return the scripted answer to this question: the title's next, its default, or the smallest valid one."""
        with self._lock:
            queue = self._answers.get(request.on)
            answer = queue.popleft() if queue else self._standing.get(request.on)
        if answer is None:
            return empty_answer(request.schema or {})
        return answer(request) if callable(answer) else answer


def tool_call_reply(name: str, /, **arguments: Any) -> ScriptedReply:
    """Return a scripted reply that is one tool call."""
    return tool_calls_reply((name, arguments))


def tool_calls_reply(*requests: tuple[str, Json]) -> ScriptedReply:
    """Return a scripted reply that is several tool calls at once."""
    return ScriptedReply(
        calls=tuple(
            ToolRequest(id=f"call_{number}_{name}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(requests, 1)
        )
    )


def split_words(text: str) -> tuple[str, ...]:
    """Return the text split after every space, as a model streams it."""
    words = text.split(" ")
    return tuple(word + " " for word in words[:-1]) + ((words[-1],) if words[-1] else ())


def estimate_usage(request: ScriptedRequest, reply: str, model: str) -> Usage:
    """Return an estimate of the tokens of a request and its reply: four characters to one, nothing cached."""
    prompts: Sequence[str] = (request.system, *(message.content for message in request.messages))
    return Usage(
        input_tokens=sum(len(text) + 3 for text in prompts) // 4,
        output_tokens=(len(reply) + 3) // 4,
        model=model,
    )
