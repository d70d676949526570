"""Sends spans by OTLP over HTTP, in OpenTelemetry's own messages; the one file that knows them.

The SDK's exporter takes four times as long for a span: it makes an object of every attribute twice.
What it reads of the environment (the resource, headers, certificates, the timeout) is read here.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.sdk.resources import Resource
from opentelemetry.util.re import parse_env_headers

from gateway.traces.span import Span, Value

BATCH = 256
"""Spans sent at once: some 70 kB, where collectors take 4 MB."""

NANO = 1_000_000_000

TIMEOUT_SECONDS = 10.0


class Exporter:
    """Sends to one collector."""

    def __init__(self, url: str) -> None:
        """`url` is the collector's; without a path, OTLP's own is taken (`/v1/traces`).

        Raises ValueError for what the environment says of certificates and cannot be.
        """
        self._url = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/v1/traces"
        headers = parse_env_headers(_setting("HEADERS"), liberal=True)
        self._client = httpx.Client(
            headers={**headers, "content-type": "application/x-protobuf"},
            timeout=float(_setting("TIMEOUT") or TIMEOUT_SECONDS),
            verify=_certificates(),
        )
        found = Resource.create({"service.name": "parley", "service.version": _version()})
        self._head = ExportTraceServiceRequest()
        resource = self._head.resource_spans.add()
        resource.schema_url = found.schema_url
        for name, value in found.attributes.items():
            _put(resource.resource.attributes.add(), name, str(value))
        scope = resource.scope_spans.add().scope
        scope.name, scope.version = "parley", _version()

    def send(self, spans: Sequence[Span]) -> int:
        """Send them, in order; give how many the collector took before it was not to be had."""
        for first in range(0, len(spans), BATCH):
            try:
                answer = self._client.post(self._url, content=self._body(spans[first:][:BATCH]))
            except httpx.HTTPError:
                return first
            if not answer.is_success:
                return first
        return len(spans)

    def _body(self, spans: Sequence[Span]) -> bytes:
        request = ExportTraceServiceRequest()
        request.CopyFrom(self._head)
        to = request.resource_spans[0].scope_spans[0].spans
        for span in spans:
            _write(to.add(), span)
        body: bytes = request.SerializeToString()
        return body


def _write(to: trace_pb2.Span, span: Span) -> None:
    to.trace_id, to.span_id = bytes.fromhex(span.trace), bytes.fromhex(span.id)
    to.parent_span_id = bytes.fromhex(span.parent)
    to.name = span.name
    to.kind = trace_pb2.Span.SPAN_KIND_CLIENT if span.client else trace_pb2.Span.SPAN_KIND_INTERNAL
    to.flags = trace_pb2.SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK
    to.start_time_unix_nano = round(span.start * NANO)
    to.end_time_unix_nano = round(span.end * NANO)
    for name, value in span.attributes.items():
        _put(to.attributes.add(), name, value)
    if span.error:
        _put(to.attributes.add(), "error.type", span.error)
        to.status.code, to.status.message = trace_pb2.Status.STATUS_CODE_ERROR, span.error


def _put(to: KeyValue, name: str, value: Value) -> None:
    to.key = name
    held: AnyValue = to.value
    match value:
        case str():
            held.string_value = value
        case bool():
            held.bool_value = value
        case int():
            held.int_value = value
        case float():
            held.double_value = value


def _setting(name: str, env: Mapping[str, str] = os.environ) -> str:
    """Return what OpenTelemetry's environment says: for traces, or for everything."""
    return env.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or env.get(f"OTEL_EXPORTER_OTLP_{name}", "")


def _certificates() -> ssl.SSLContext:
    """Trust whom the environment names, or else whom the system does."""
    trusted, own = _setting("CERTIFICATE"), _setting("CLIENT_CERTIFICATE")
    try:
        context = ssl.create_default_context(cafile=trusted or None)
        if own:
            context.load_cert_chain(own, _setting("CLIENT_KEY") or None)
    except OSError as error:
        raise ValueError(f"a certificate of OTEL_EXPORTER_OTLP_* cannot be used: {error}") from None
    return context


def _version() -> str:
    try:
        return version("parley")
    except PackageNotFoundError:
        return "unknown"
