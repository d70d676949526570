"""Sends spans by OpenTelemetry's own exporter, few at a time; the one file that knows its SDK."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from gateway.traces.span import Span

BATCH = 64
"""Spans sent at once: writing 512 takes 17 ms, and a collector takes small ones as well."""

NANO = 1_000_000_000


class Exporter:
    """Sends to one collector."""

    def __init__(self, url: str) -> None:
        """`url` is the collector's; without a path, OTLP's own is taken (`/v1/traces`)."""
        endpoint = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/v1/traces"
        self._exporter = OTLPSpanExporter(endpoint=endpoint)
        self._resource = Resource.create({"service.name": "parley", "service.version": _version()})
        self._scope = InstrumentationScope("parley", _version())

    def send(self, spans: Sequence[Span]) -> int:
        """Send them, in order; give how many the collector took before it was not to be had."""
        for first in range(0, len(spans), BATCH):
            batch = [self._readable(each) for each in spans[first : first + BATCH]]
            if self._exporter.export(batch) is not SpanExportResult.SUCCESS:
                return first
        return len(spans)

    def _readable(self, span: Span) -> ReadableSpan:
        status = Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET)
        attributes = {**span.attributes, **({"error.type": span.error} if span.error else {})}
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace, span.id),
            parent=_context(span.trace, span.parent) if span.parent else None,
            resource=self._resource,
            attributes=attributes,
            kind=SpanKind.CLIENT if span.client else SpanKind.INTERNAL,
            status=status,
            start_time=round(span.start * NANO),
            end_time=round(span.end * NANO),
            instrumentation_scope=self._scope,
        )


def _context(trace: str, span: str) -> SpanContext:
    sampled = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=sampled)


def _version() -> str:
    try:
        return version("parley")
    except PackageNotFoundError:
        return "unknown"
