"""The JSON schema of an agent's file, for editors; made of the classes that read the file."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from gateway.agents.format import AgentFile, BackendChoice, CallHabits, ToolEntry, TransferTarget
from gateway.agents.part_kinds import OPTIONS, PARTS
from gateway.backends.cascade.choices.race import ChoiceSettings
from gateway.call.settings import ConversationSettings
from gateway.plumbing.field_docs import field_docs
from gateway.plumbing.type_words import name_of, parts_of
from gateway.tools.builtins import BUILTINS
from gateway.tools.endpoints import McpServer

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
"""The version that editors of TOML know."""

ONE_OF: Mapping[type, tuple[str, ...]] = {
    ToolEntry: ("python", "http", "mcp", "page", "builtin"),
    TransferTarget: ("to", "pattern"),
    McpServer: ("command", "url"),
}
"""Tables that have exactly one of these keys."""

_PLAIN: Mapping[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    Path: {"type": "string"},
    date: {"type": "string", "format": "date"},
}


def schema() -> Schema:
    """Return the whole schema."""
    found: Schema = {
        "$schema": DRAFT,
        "title": "An agent of Parley",
        **table_of(AgentFile),
        "definitions": {"backend": _backend(), **{part: _part(part) for part in PARTS}},
    }
    found["properties"]["backend"] = {"$ref": "#/definitions/backend"}
    found["properties"]["backends"]["additionalProperties"] = {"$ref": "#/definitions/backend"}
    tool = found["properties"]["tools"]["items"]["properties"]
    tool["builtin"]["enum"] = sorted(BUILTINS)
    return found


def settable(kind: Any) -> Iterator[dataclasses.Field[Any]]:
    """List the fields that a file may hold: all but the secrets of the environment."""
    return (each for each in dataclasses.fields(kind) if "env" not in each.metadata)


def said_of(kind: type) -> dict[str, str]:
    """Return what is said of each field; of habits, by the settings that they become."""
    said = field_docs(kind)
    return {**field_docs(ConversationSettings), **said} if kind is CallHabits else said


def required(kind: Any) -> list[str]:
    """List what a table of this class must hold."""
    missing = dataclasses.MISSING
    return [
        each.name
        for each in settable(kind)
        if each.default is missing and each.default_factory is missing
    ]


def table_of(kind: Any) -> Schema:
    """Return the schema of a class: its fields are the keys, and there are no others."""
    hints, said = get_type_hints(kind, include_extras=True), said_of(kind)
    properties = {}
    for each in settable(kind):
        described = {"description": said[each.name]} if each.name in said else {}
        properties[each.name] = {**value_of(hints[each.name]), **described}
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if needed := required(kind):
        found["required"] = needed
    if kind in ONE_OF:
        found["oneOf"] = [{"required": [name]} for name in ONE_OF[kind]]
    return found


def value_of(hint: Any) -> Schema:
    """Return the schema of an annotation."""
    core, metas = parts_of(hint)
    origin, inner = get_origin(core), get_args(core)
    if origin in (Union, types.UnionType):
        kinds = [value_of(each) for each in inner if each is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": value_of(inner[0])}
    if name_of(origin) in ("dict", "Mapping"):
        names = {} if inner[0] is str else {"propertyNames": value_of(inner[0])}
        return {"type": "object", **names, "additionalProperties": value_of(inner[1])}
    if dataclasses.is_dataclass(core):
        return table_of(core)
    if core is Any:
        return {}
    bounds = {key: value for meta in metas for key, value in _bounds(meta)}
    return {**_PLAIN[core], **bounds}


def _bounds(meta: object) -> Iterator[tuple[str, object]]:
    if isinstance(meta, msgspec.Meta):
        names = {
            "ge": "minimum",
            "gt": "exclusiveMinimum",
            "le": "maximum",
            "lt": "exclusiveMaximum",
        }
        names |= {"pattern": "pattern", "min_length": "minLength", "max_length": "maxLength"}
        for ours, theirs in names.items():
            if (bound := getattr(meta, ours)) is not None:
                yield theirs, bound


def _part(part: str) -> Schema:
    """Return what a part's table may be: its kind's settings, and when a second one is asked."""
    choice = table_of(ChoiceSettings)["properties"]
    choice["fallback"] = {
        "$ref": f"#/definitions/{part}",
        "description": "the second choice, a table like this one",
    }
    kinds = []
    for name, settings in PARTS[part].items():
        one = table_of(settings)
        one["properties"] = {**one["properties"], **choice, "kind": {"const": name}}
        kinds.append({"title": name, **one})
    return {"oneOf": kinds}


def _backend() -> Schema:
    """Return what a backend may be: by its kind, what its options are."""
    kinds = []
    for name, settings in OPTIONS.items():
        one = table_of(BackendChoice)
        parts = {part: {"$ref": f"#/definitions/{part}"} for part in PARTS}
        one["properties"] |= {**parts, "options": table_of(settings), "kind": {"const": name}}
        if name == "cascade":
            del one["properties"]["listen"]
        else:
            one["required"] = ["kind"]
        kinds.append({"title": name, **one})
    return {"oneOf": kinds}
