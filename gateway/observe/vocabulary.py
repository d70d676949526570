"""The call log's vocabulary as data: which fields are personal, and the JSON Schema of a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from gateway.log_events import SCHEMA, LogEvent, Mark, UsageLogged
from gateway.plumbing.field_docs import field_docs

EVENTS: tuple[type[LogEvent], ...] = get_args(LogEvent)

HEAD: Mapping[str, Mapping[str, str]] = {
    "ts": {"type": "string", "format": "date-time", "description": "RFC 3339, UTC"},
    "call": {
        "type": "string",
        "description": "the call's id; empty where a line concerns the whole process",
    },
    "at": {
        "type": "number",
        "x-unit": "seconds",
        "description": "since the call was answered; of the process: since it began",
    },
    "event": {"type": "string", "description": "what happened"},
}
"""What every line begins with."""

CUT: Mapping[str, object] = {
    "type": "array",
    "items": {"type": "string"},
    "description": "names of the fields that were too long and are not whole",
}
"""Ends a line that was too long."""


def event_name(kind: type[LogEvent]) -> str:
    """Return the `event` of a class of lines."""
    return str(kind.__struct_config__.tag)


@cache
def marks(kind: type[LogEvent]) -> Mapping[str, Mark]:
    """Return the personal fields of a class of lines, by their names on the wire."""
    return {
        each.encode_name: mark
        for each in msgspec.structs.fields(kind)
        if (mark := said(each.type, "personal"))
    }


def said(kind: Any, what: str) -> Any:
    """Return what a field's type says of it: `personal` or `unit`; None where it says nothing."""
    found = [meta.extra[what] for meta in _metas(kind) if meta.extra and what in meta.extra]
    return found[0] if found else None


def _metas(kind: Any) -> Iterator[Meta]:
    origin = get_origin(kind)
    if origin is Annotated:
        yield from (each for each in get_args(kind)[1:] if isinstance(each, Meta))
    elif origin in (Union, UnionType):
        for each in get_args(kind):
            yield from _metas(each)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a line, with the meaning, unit and mark of each field."""
    _, components = msgspec.json.schema_components([LogEvent], ref_template="#/$defs/{name}")
    kinds = {kind.__name__: kind for kind in EVENTS}
    for name, part in components.items():
        if name in kinds:
            _complete(part, kinds[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of Parley's call log",
        "version": SCHEMA,
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
        "$defs": components,
    }


def _complete(part: dict[str, Any], kind: type[LogEvent]) -> None:
    """Add the head, and what stands under the fields in the class."""
    said_of = field_docs(kind)
    for each in msgspec.structs.fields(kind):
        if text := said_of.get(each.name):
            part["properties"][each.encode_name]["description"] = text
    own = {name: value for name, value in part["properties"].items() if name != "event"}
    if kind is UsageLogged:
        own, part["additionalProperties"] = {}, True
    event = {"const": event_name(kind)}
    part["title"] = event_name(kind)
    part["properties"] = {**HEAD, "event": event, **own, "cut": CUT}
    part["required"] = [*HEAD, *(name for name in part["required"] if name != "event")]
