"""Spans: nothing when off; when on, a request's and its transactions', with ids and no content."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mnemon.spans import NO_SPAN, span, start_spans, stop_spans
from support.served import served


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    start_spans(provider.get_tracer("mnemon"))
    yield exporter
    stop_spans()


def test_off_a_span_is_one_object_that_does_nothing() -> None:
    assert span("http", path="/api") is NO_SPAN
    with span("http"):
        assert span("transaction") is NO_SPAN


def test_on_a_request_is_a_span_with_its_transactions_inside(
    database_url: str, tmp_path: Path, exported: InMemorySpanExporter
) -> None:
    secret = "zanzibar is my secret"
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        body = {"userId": "ann", "type": "PROFILE", "content": secret}
        assert server.client().post("/api/memories", json=body).status_code == 201
    spans = exported.get_finished_spans()
    http = next(one for one in spans if one.name == "http" and (one.attributes or {})["route"] == "/api/memories")
    inside = [one for one in spans if one.parent and one.parent.span_id == http.context.span_id]
    assert {one.name for one in inside} == {"transaction"}
    assert {(one.attributes or {})["org"] for one in inside} == {"acme"}
    assert not any(secret in str(one.to_json()) for one in spans)
