"""What the scripted model says, how it fails, and what it was asked.

    script = Script()
    script.answers("Reflection", {"memories": [{"type": "PROFILE", "content": "Lives in Austin", …}]})
    script.replies("Hello!", called("recall", query="Austin"), "You live in Austin.")
    script.fails("cut", on="chat", after=2)      # once; times=None: until script.heals()
    with ScriptedServer(script) as server:       # MNEMON_MODEL=openai:any MNEMON_MODEL_BASE_URL=<server.url>
        …
        assert script.asked[-1].title == "Reflection"

In process: `ScriptedLlm(script)`. As a process of its own: `python -m mnemon.llm.scripted --port 9009`,
scripted over HTTP as `control.py` says.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mnemon.llm.protocol import Json, Message, ToolRequest, Usage
from mnemon.llm.scripted.empty import empty_answer

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

_LOOK_S = 0.01
CHAT = "chat"
EMBEDDINGS = "embeddings"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request, as the model saw it."""

    on: str
    """`chat`, `embeddings`, or the schema's title."""
    model: str = ""
    system: str = ""
    messages: tuple[Message, ...] = ()
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
class Reply:
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


Said = str | Reply
Replying = Said | Callable[[Asked], Said]
Answering = Json | str | Callable[[Asked], Json | str]
"""An object, or raw text that may be no JSON at all, or a function that makes either from what was asked."""


@dataclass(kw_only=True)
class Fault:
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

    async def pass_by(self) -> None:
        """Wait for its seconds to pass, or for the script to heal."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        while not self.over and (left := end - loop.time()) > 0:  # noqa: ASYNC110 it heals in another thread
            await asyncio.sleep(min(left, _LOOK_S))


class Script:
    """A queue of replies, a queue or a rule per title, a list of faults; remembers every request."""

    def __init__(self, *, fallback: Replying = "Understood.") -> None:
        self.asked: list[Asked] = []
        """Every request, oldest first, also those that a fault met."""
        self._fallback = fallback
        self._replies: deque[Replying] = deque()
        self._answers: dict[str, deque[Answering]] = {}
        self._standing: dict[str, Answering] = {}
        self._faults: list[Fault] = []
        self._scripted_faults: list[Fault] = []
        # The server answers in its own thread while the test goes on scripting in another.
        self._lock = threading.Lock()

    def replies(self, *said: Replying) -> None:
        """Say these in the next chats, one each, in order; then the fallback."""
        with self._lock:
            self._replies.extend(said)

    def always_replies(self, said: Replying) -> None:
        """Say this whenever the queue is empty."""
        self._fallback = said

    def answers(self, title: str, *answers: Answering) -> None:
        """Answer the next questions with this title, one each, in order."""
        with self._lock:
            self._answers.setdefault(title, deque()).extend(answers)

    def always_answers(self, title: str, answer: Answering) -> None:
        """Answer so whenever the title's queue is empty; without this the emptiest valid answer is given."""
        with self._lock:
            self._standing[title] = answer

    def fails(
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
            made = Fault(kind=kind, on=on, times=times, after=after, seconds=seconds)
            self._faults.append(made)
            self._scripted_faults.append(made)

    def heals(self) -> None:
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

    def asked_on(self, on: str) -> list[Asked]:
        """The requests of one kind, oldest first: `chat`, `embeddings`, or a title."""
        return [asked for asked in self.asked if asked.on == on]

    def receive(self, asked: Asked) -> Fault | None:
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

    def next_reply(self, asked: Asked) -> Reply:
        """What to say to this chat."""
        with self._lock:
            said = self._replies.popleft() if self._replies else self._fallback
        made = said(asked) if callable(said) else said
        return made if isinstance(made, Reply) else Reply(pieces=in_pieces(made))

    def next_answer(self, asked: Asked) -> Json | str:
        """What to answer to this question."""
        with self._lock:
            queue = self._answers.get(asked.on)
            answer = queue.popleft() if queue else self._standing.get(asked.on)
        if answer is None:
            return empty_answer(asked.schema or {})
        return answer(asked) if callable(answer) else answer


def called(name: str, /, **arguments: Any) -> Reply:
    """A reply that is one tool call."""
    return calls((name, arguments))


def calls(*requests: tuple[str, Json]) -> Reply:
    """A reply that is several tool calls at once."""
    return Reply(
        calls=tuple(
            ToolRequest(id=f"call_{number}_{name}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(requests, 1)
        )
    )


def in_pieces(text: str) -> tuple[str, ...]:
    """The text cut after every space, as a model streams it."""
    words = text.split(" ")
    return tuple(word + " " for word in words[:-1]) + ((words[-1],) if words[-1] else ())


def counted(asked: Asked, said: str, model: str) -> Usage:
    """Usage by a rule of thumb: four characters to a token, nothing cached."""
    given: Sequence[str] = (asked.system, *(message.content for message in asked.messages))
    return Usage(
        input_tokens=sum(len(text) + 3 for text in given) // 4,
        output_tokens=(len(said) + 3) // 4,
        model=model,
    )
