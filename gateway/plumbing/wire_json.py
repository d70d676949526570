"""JSON from the wire and to it: what is read is what everything behind it can hold.

A JSON text may be nested deeper than any stack, and hold integers of any length (RFC 8259, sections
6 and 9, leaves both to the reader); such a text is refused here as malformed, so that nothing
behind it, from a tool to the call log, has to expect it.
Of names that occur twice the last counts, as in all decoders used here (RFC 8259, section 4).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

DEEPEST = 64
"""Levels of nesting; the schemas of tools have some ten."""

LARGEST = 2**63
"""Integers below it, and from its negative on, are what databases and other languages hold."""

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def decode(decoder: msgspec.json.Decoder[T], text: bytes | str) -> T:
    """Read a text of a known shape; raises ValueError for whatever is wrong with it."""
    data = text.encode() if isinstance(text, str) else text
    if data.count(b"{") + data.count(b"[") > DEEPEST and _depth(data) > DEEPEST:
        raise ValueError("nested too deeply")
    try:
        return decoder.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


_ANYTHING: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def parse(text: bytes | str) -> Any:
    """Read a text of any shape; raises ValueError for whatever is wrong with it."""
    return known(decode(_ANYTHING, text))


def refuse_unknown(text: bytes | str, names: Collection[str]) -> None:
    """Raise ValueError for a field that an object of ours does not have: a word that is misspelt
    would otherwise be a wish that nobody heard."""
    document = parse(text)
    for name in document if isinstance(document, dict) else ():
        if name not in names:
            like = difflib.get_close_matches(name, names, n=1)
            meant = f"; did you mean `{like[0]}`?" if like else f"; there are: {', '.join(names)}"
            raise ValueError(f"there is no field `{name[:64]}`{meant}")


def known(value: Any) -> Any:
    """Return a value that was read; raise ValueError for an integer that not all can hold."""
    match value:
        case bool():
            pass
        case int():
            if not -LARGEST <= value < LARGEST:
                raise ValueError("an integer out of range")
        case dict():
            for each in value.values():
                known(each)
        case list():
            for each in value:
                known(each)
        case _:
            pass
    return value


def clean(value: Any, depth: int = 0) -> Any:
    """Return a value that a program made, as it can be written; raise ValueError at no end."""
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float():
            return value if math.isfinite(value) else None
        case int():
            return value if -LARGEST <= value < LARGEST else None
        case dict():
            return {str(clean(name)): clean(each, depth + 1) for name, each in value.items()}
        case list() | tuple():
            return [clean(each, depth + 1) for each in value]
        case _:
            return value


def _depth(data: bytes) -> int:
    """Count how deep a text is nested, whether or not it is JSON."""
    depth = deepest = 0
    for byte in _STRINGS.sub(b"", data):
        if byte in b"{[":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"}]":
            depth -= 1
    return deepest


def plain(value: object) -> object:
    """Return what JSON does not know as a number or as text: a log line is never refused."""
    match value:
        case Integral():  # numpy's scalars are of these
            return int(value)
        case Real():
            return float(value)
        case _:
            return str(value)
