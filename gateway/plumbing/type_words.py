"""What may stand in a settings file, in words: of types, bounds and values."""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec


def describe(hint: Any) -> str:
    """Say in words what an annotation allows."""
    core, metas = parts_of(hint)
    bounds = "".join(_bounds(meta) for meta in metas)
    match get_origin(core):
        case origin if origin is Literal:
            return "one of " + ", ".join(f'"{each}"' for each in get_args(core))
        case origin if origin in (Union, types.UnionType):
            kinds = [each for each in get_args(core) if each is not type(None)]
            return " or ".join(describe(each) for each in kinds)
        case origin if origin in (tuple, list) or name_of(origin) == "Sequence":
            return f"a list, each {describe(get_args(core)[0])}"
        case origin if origin is dict or name_of(origin) == "Mapping":
            return "a table"
        case _ if dataclasses.is_dataclass(core):
            return "a table"
        case _:
            return _WORDS.get(core, name_of(core)) + bounds


_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path, as text",
    date: "a date",
}


def show(value: object) -> str:
    """Show what was found as TOML writes it, cut short."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"' if len(value) <= 40 else f'"{value[:40]}…"'
        case dict():
            return "a table"
        case list():
            return "a list" if len(str(value)) > 40 else str(value).replace("'", '"')
        case _:
            return str(value)


def _bounds(meta: object) -> str:
    if not isinstance(meta, msgspec.Meta):
        return ""
    low, high = meta.ge, meta.le
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if meta.gt is not None and high is not None:
        return f" above {meta.gt} and at most {high}"
    if low is not None:
        return f" of at least {low}"
    if high is not None:
        return f" of at most {high}"
    if meta.gt is not None:
        return f" above {meta.gt}"
    if meta.pattern is not None:
        return f" like {meta.pattern}"
    return ""


REFERENCE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")
"""How a file names the environment variable that holds a secret."""


def written_out(value: object) -> str | None:
    """Return where a secret itself stands: its key in a table, "" for the value, None: nowhere."""
    match value:
        case str():
            return "" if value and not REFERENCE.fullmatch(value) else None
        case dict():
            inner = (str(key) for key, each in value.items() if written_out(each) is not None)
            return next(inner, None)
        case _:
            return None


def close_to(hint: Any, value: object) -> str:
    core = core_of(hint)
    options = [each for each in get_args(core) if isinstance(each, str)]
    like = difflib.get_close_matches(value, options, n=1) if isinstance(value, str) else []
    return f'; did you mean "{like[0]}"?' if like else ""


def parts_of(hint: Any) -> tuple[Any, tuple[object, ...]]:
    if get_origin(hint) is Annotated:
        core, *metas = get_args(hint)
        return core, tuple(metas)
    return hint, ()


def core_of(hint: Any) -> Any:
    """Take an annotation's bounds off, and the None of an optional."""
    core = parts_of(hint)[0]
    if get_origin(core) in (Union, types.UnionType):
        kinds = [each for each in get_args(core) if each is not type(None)]
        if len(kinds) == 1:
            return parts_of(kinds[0])[0]
    return core


def name_of(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)
