"""Requests made up by schemathesis from the OpenAPI document, and what their answers show to be untrue in it."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from schemathesis import engine
from schemathesis.engine import StopReason, events
from schemathesis.engine.recorder import ScenarioRecorder

from support.served import Served

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")

ENDLESS = re.compile(r"/events$")
"""The streams of a session and of a run: once an id that exists is reused, a call to one does not return."""


@dataclass
class Fuzzed:
    """What became of the requests."""

    requests: Counter[str] = field(default_factory=Counter)
    """How many each operation got, by its method and path."""
    faults: list[str] = field(default_factory=list)
    """Answers that the document does not allow, and operations that no request could be made up for."""


@schemathesis.serializer("application/x-ndjson")
def _lines(ctx: schemathesis.SerializationContext, value: Any) -> bytes:
    """Send generated text as it is: of the lines of an export the document says no more than that they are text."""
    return str(value).encode("utf-8", errors="surrogatepass")


def fuzz(server: Served, *, examples: int, seed: int, path: str | None = None) -> Fuzzed:
    """Send made-up requests to every operation, or to those of one path; the seed says which."""
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", config=_config(server, examples, seed))
    found = Fuzzed()
    asked = schema.exclude(path_regex=ENDLESS.pattern) if path is None else schema.include(path=path)
    for event in engine.from_schema(asked).execute():
        if isinstance(event, events.ScenarioFinished):
            _read(event.recorder, found)
        elif isinstance(event, events.NonFatalError):
            found.faults.append(f"{event.label}: {event.value!r}")
        elif isinstance(event, events.FatalError):
            raise event.exception
        elif isinstance(event, events.EngineFinished) and event.stop_reason is not StopReason.COMPLETED:
            found.faults.append(f"stopped before the end: {event.stop_reason}")
    return found


def _read(recorder: ScenarioRecorder, found: Fuzzed) -> None:
    found.requests[recorder.label] += len(recorder.interactions)
    for check in (check for checks in recorder.checks.values() for check in checks):
        if check.failure_info is not None:
            failure = check.failure_info.failure
            found.faults.append(
                f"{recorder.label}: {failure.title}: {failure.message}\n{check.failure_info.code_sample}"
            )


def _config(server: Served, examples: int, seed: int) -> schemathesis.Config:
    return schemathesis.Config.from_dict(
        {
            "seed": seed,
            # They measure how quickly this machine makes data up, which says nothing about the server.
            "suppress-health-check": ["too_slow", "filter_too_much", "data_too_large", "large_base_example"],
            # Nothing is carried over from one run to the next, so that a seed always means the same.
            "generation": {"max-examples": examples, "database": "none"},
            "cache": {"enabled": False},
            # In CPython 3.11 two threads can spoil each other's `ast.parse` ("SystemError: AST constructor recursion
            # depth mismatch"): they share one count. hypothesis parses sources to describe its strategies, and
            # its callback lets another thread in while garbage is collected.
            "workers": 1,
            "phases": {"stateful": {"enabled": False}},
            "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKS}},
            "headers": {"Authorization": f"Bearer {server.key('acme')}"},
            # No answer is late; one that never comes is a fault.
            "request-timeout": 300,
        }
    )
