"""How much of a tool's answer a model is given: it talks, and reads nothing out."""

from __future__ import annotations

import json
from typing import Any

from gateway.events import Json

MOST = 16 * 1024
"""Characters of an answer; a model on the telephone can use a few hundred."""

TEXT = 4 * 1024
"""Characters of one text in an answer that is too long."""

ITEMS = 50
"""Items of one list or table in an answer that is too long."""

MARK = " … (cut)"


def cut(result: dict[str, Any]) -> Json:
    """Return an answer that is short enough, with a mark wherever something is left out."""
    if _length(result) <= MOST:
        return result
    shorter = {str(name): _cut(value, 1) for name, value in list(result.items())[:ITEMS]}
    if _length(shorter) > MOST:
        whole = json.dumps(result, ensure_ascii=False, default=str)
        shorter = {"result": whole[:TEXT] + MARK}
    return {**shorter, "cut": True}


def _cut(value: Any, depth: int) -> Any:
    match value:
        case str() if len(value) > TEXT // depth:
            return value[: TEXT // depth] + MARK
        case list() if len(value) > ITEMS:
            return [*(_cut(each, depth + 1) for each in value[:ITEMS]), MARK.strip()]
        case list():
            return [_cut(each, depth + 1) for each in value]
        case dict():
            kept = {str(k): _cut(v, depth + 1) for k, v in list(value.items())[:ITEMS]}
            return {**kept, "cut": True} if len(value) > ITEMS else kept
        case _:
            return value


def _length(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str))
