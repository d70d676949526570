"""Writes docs/call-log.md from the log's own classes: events, fields, units, what is personal.

`make fix` runs it, and a test compares.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from gateway.log_events import SCHEMA, Figures, Stages, UsageLogged
from gateway.observe.vocabulary import EVENTS, HEAD, event_name, said
from gateway.plumbing.field_docs import field_docs

PAGE = Path(__file__).parent.parent / "docs/call-log.md"

HEADING = """\
# The call log

One file for all calls, one JSON object a line, appended as things happen: `logs/calls.jsonl`, or what `log.path` names (`-` is standard output).
Past `log.rotate_mb` the file is renamed to `.1`, the one before to `.2`, and so on; `log.keep` of them stay.
Lines are handed to the system at once: a process that is killed leaves everything but the last few milliseconds.
While the disk takes nothing, up to 16 MB of lines are kept and tried again, and a folder that was removed is made again; the log then tells how long it stood (`fault` with `part` `log`) and how many lines were lost (`log_lost`).
Lines that came faster than anybody could write them are counted (`log_dropped`).
Texts of more than 16,000 characters, and what is past 64,000 in a line, are cut, and `cut` names the fields that are not whole.

```sh
parley logs -f                     # as a story, as it happens
parley logs --call 9b3f            # one call, by the last letters of its id, or of SIP's Call-ID
parley logs --since 2h --agent workshop --search "service light"
parley logs --json | jq .event     # as it is written
parley logs --schema               # what a line may hold, as JSON Schema
parley report --since 2h           # medians and 95th percentiles
```

A recording that cannot be written, as on a full disk, is a `fault` with `part` `recording`; the call goes on.

## What is personal

Fields that may hold personal data are marked below: numbers and addresses, keys, words, and the JSON of tools.
`log.mask = "partial"` hides digits and addresses in them, `"full"` hides them altogether and keeps counts.
The log, recordings and what tools keep are made for their owner alone (0600, folders 0700), and for the group where `log.group_reads` or `recording.group_reads` says so; what is there already keeps its mode.
Secrets are never written, whatever the setting: not the configured ones, and nothing that looks like one.

## Lines

This is version {version} of the vocabulary.
Fields may be added, never renamed; one that says nothing is left out, except where it is marked as always there (•).
"""  # noqa: E501


def page() -> str:
    """Return the whole page."""
    parts = [HEADING.format(version=SCHEMA), "Every line begins with:\n"]
    head = [
        f"| `{name}` | • | {each['type']} | {each.get('x-unit', '')} | | {each['description']} |"
        for name, each in HEAD.items()
    ]
    parts.append(_table(head))
    for kind in EVENTS:
        parts.append(f"### `{event_name(kind)}`\n\n{_sentences(kind)}\n")
        if kind is UsageLogged:
            continue
        parts.append(_table(_rows(kind)))
    parts.append(f"## Stages\n\n{_sentences(Stages)}\n")
    parts.append(_table(_rows(Stages)))
    parts.append(
        "A stage that was over before the one ahead of it, as when a draft was ready, took "
        "nothing.\n"
    )
    return "\n".join(parts)


def _table(rows: Iterator[str] | list[str]) -> str:
    head = "| field | always | kind | unit | personal | |\n|---|---|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def _sentences(kind: type) -> str:
    return " ".join(inspect.cleandoc(kind.__doc__ or "").split())


def _rows(kind: Any) -> Iterator[str]:
    docs = field_docs(kind)
    for each in msgspec.structs.fields(kind):
        always = "•" if each.required else ""
        unit, mark = said(each.type, "unit") or "", said(each.type, "personal") or ""
        meaning = docs.get(each.name, "").replace("|", "\\|")
        shown = _kind(each.type)
        yield f"| `{each.encode_name}` | {always} | {shown} | {unit} | {mark} | {meaning} |"


def _kind(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Annotated:
        return _kind(get_args(kind)[0])
    if origin in (Union, UnionType):
        return ", ".join(_kind(each) for each in get_args(kind) if each is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if origin is get_origin(Figures):
        return "object"
    if origin is list:
        return f"list of {_kind(get_args(kind)[0])}"
    if kind is Stages:
        return "[stages](#stages)"
    return {str: "text", int: "count", float: "number", bool: "true, false"}[kind]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        print(page(), end="")
