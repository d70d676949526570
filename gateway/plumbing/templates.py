"""Texts with gaps: `{name}` is filled, `[...]` left out unless all in it is known."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PART = re.compile(r"\[([^\[\]]*)\]")
_GAP = re.compile(r"\{([^{}]+)\}")

Known = Mapping[str, object]
"""Values by name; a dotted name goes into tables."""


def look_up(known: Known, name: str) -> object:
    """Find a value by its dotted name; None: not known."""
    value: object = known
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def render(text: str, known: Known) -> str:
    """Fill a text; a gap outside brackets that is not known stays empty."""

    def choose(match: re.Match[str]) -> str:
        options = match[1].split("|")
        return next((filled for o in options if (filled := _filled(o, known)) is not None), "")

    chosen = _PART.sub(choose, text)
    filled = _GAP.sub(lambda gap: _said(look_up(known, gap[1])), chosen)
    # `8 a.m.` at the end of a sentence brings its own full stop.
    tidy = re.sub(r"(?<!\.)\.\.(?!\.)", ".", re.sub(r"\s{2,}", " ", filled))
    return re.sub(r"\s+([,.?!])", r"\1", tidy).strip()


def value(template: str, known: Known) -> object:
    """Fill a template for a tool: one lone gap gives the value itself; None: not all is known."""
    alone = _GAP.fullmatch(template.strip())
    if alone is not None:
        found = look_up(known, alone[1])
        if isinstance(found, Mapping) and "value" in found:
            found = found["value"]
        return None if found == "" else found
    filled = _PART.sub(
        lambda part: next((f for o in part[1].split("|") if (f := _filled(o, known))), ""), template
    )
    return _filled(filled, known)


def holds(condition: str, known: Known) -> bool:
    """Decide a step's `when`."""
    name, _, wanted = condition.partition("=")
    name = name.strip()
    negated = name.startswith("!")
    found = look_up(known, name.lstrip("!").strip())
    is_so = _said(found) == wanted.strip() if wanted else bool(found)
    return is_so != negated


def _filled(text: str, known: Known) -> str | None:
    values = {gap: _said(look_up(known, gap)) for gap in _GAP.findall(text)}
    if not all(values.values()):
        return None
    return _GAP.sub(lambda gap: values[gap[1]], text)


def _said(found: object) -> str:
    if isinstance(found, Mapping):
        return _said(found.get("value"))
    if isinstance(found, list | tuple):
        return ", ".join(map(_said, found))
    return "" if found is None or found is False else str(found)


def gaps(text: str) -> tuple[str, ...]:
    """List the names that a text has gaps for, in order, without what hangs on their dots."""
    return tuple(dict.fromkeys(gap.split(".")[0] for gap in _GAP.findall(text)))


def unfilled(text: str, known: Known) -> tuple[str, ...]:
    """List the gaps outside brackets for which nothing is known."""
    bare = _PART.sub("", text)
    return tuple(gap for gap in _GAP.findall(bare) if not _said(look_up(known, gap)))
