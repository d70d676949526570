"""What is wrong with a tool before any call: what servers of models refuse, or no caller could
agree to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gateway.plumbing.templates import gaps
from gateway.ports import ToolSpec
from turn.consent import knows

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What OpenAI's, Anthropic's and Bedrock's servers take for a function's name."""

TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
"""JSON Schema, section 6.1.1 of the validation vocabulary (2020-12)."""


def wrong(spec: ToolSpec, language: str) -> Iterator[tuple[str, str]]:
    """Return what is wrong with a tool: the setting, and words for the operator."""
    if not NAME.fullmatch(spec.name):
        yield (
            "name",
            f'"{spec.name}" is refused by servers of models; it may have letters, digits, _ and -, '
            "and 64 characters",
        )
    for said in _types(spec.parameters, "parameters"):
        yield "http.parameters", said
    if spec.parameters.get("type") != "object":
        yield "http.parameters", 'parameters must be of the type "object"'
    if not spec.confirm:
        return
    if spec.effect == "read":
        yield "confirm", "confirm is for writes; a read needs nobody's yes"
    if not knows(language):
        yield (
            "confirm",
            f'what counts as a yes in "{language}" is not known, so that nothing could be '
            "confirmed",
        )
    if not spec.say:
        yield (
            "confirm",
            "say is missing: the question that is read back before it is done, made of the "
            'arguments, such as "Shall I order {count} {item}?"',
        )
    known = spec.parameters.get("properties", {})
    for name in gaps(spec.say):
        if name not in known:
            there = f"; there are: {', '.join(sorted(known))}" if known else ""
            yield "say", f"there is no argument {{{name}}}{there}"


def _types(schema: object, path: str) -> Iterator[str]:
    """Find types that do not exist, however deep."""
    if isinstance(schema, list | tuple):
        for each in schema:
            yield from _types(each, path)
    if not isinstance(schema, Mapping):
        return
    kinds = schema.get("type", ())
    for kind in [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else ():
        if kind not in TYPES:
            yield f'{path}.type: there is no type "{kind}"; there are: {", ".join(TYPES)}'
    for name, each in schema.items():
        if name in ("properties", "$defs") and isinstance(each, Mapping):
            for key, inner in each.items():
                yield from _types(inner, f"{path}.{key}")
        elif name in ("items", "anyOf", "oneOf", "allOf", "additionalProperties"):
            yield from _types(each, f"{path}.{name}")
