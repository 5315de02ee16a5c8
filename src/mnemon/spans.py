"""OpenTelemetry spans. Off, a span is one shared object that does nothing; on, they go where OTEL_* variables say."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from mnemon.errors import Misconfigured

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

NO_SPAN: AbstractContextManager[None] = nullcontext()
_tracer: "Tracer | None" = None


def span(name: str, **attributes: str | int | float) -> AbstractContextManager[Any]:
    """Run the block as one OpenTelemetry span; attributes are ids, kinds and numbers, never what a person said."""
    if _tracer is None:
        return NO_SPAN
    # An exception's message may quote what a person said.
    return _tracer.start_as_current_span(name, attributes=attributes, record_exception=False)


def start_spans(tracer: "Tracer | None" = None) -> None:
    """Send OpenTelemetry spans from now on: by this tracer, or by one made as the OTEL_* variables say."""
    global _tracer  # noqa: PLW0603  one tracer per process, as the library has it
    _tracer = tracer or _exporting_tracer()


def stop_spans() -> None:
    """Stop sending OpenTelemetry spans."""
    global _tracer  # noqa: PLW0603
    _tracer = None


def _exporting_tracer() -> "Tracer":
    """Return a tracer that exports over OTLP; raise Misconfigured where the exporter is not installed."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise Misconfigured(
            "MNEMON_OTEL is on but the exporter is not installed. Install `mnemon[otel]`, or unset it."
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "mnemon"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("mnemon")
