"""Makes a log line that is too long short enough, and says what was cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping

LIMITS = (4000, 400, 40, 4)
"""Characters of a text and items of a list or table that stay; the next where that is too long."""


def cut_down(
    fields: Mapping[str, object], most: int, encode: Callable[[object], bytes]
) -> dict[str, object]:
    """Give fields that take fewer than `most` bytes, and in `cut` the names of those that lost."""
    kept = dict(fields)
    for limit in LIMITS:
        kept = {name: _shorter(value, limit) for name, value in fields.items()}
        if len(encode(kept)) < most - RESERVE:
            break
    else:
        kept = {}  # so many fields that not even their names find room
    lost = [name for name, value in fields.items() if kept.get(name) != value]
    return {**kept, "cut": lost[: LIMITS[-2]]}


RESERVE = 10_000
"""Bytes for the head and for the names of what was cut."""


def _shorter(value: object, limit: int) -> object:
    match value:
        case str() if len(value) > limit:
            return f"{value[:limit]}… [{len(value) - limit} characters more]"
        case Mapping():
            names = list(value)[:limit]
            return {str(name)[:limit]: _shorter(value[name], limit) for name in names}
        case list() | tuple():
            return [_shorter(each, limit) for each in value[:limit]]
        case _:
            return value
