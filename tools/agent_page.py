"""Writes docs/agent-file.md from the classes that read an agent's file.

`make fix` runs it, and a test compares.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from gateway.agents.format import (
    AgentFile,
    BackendChoice,
    CallHabits,
    PageFunction,
    ToolEntry,
    TransferTarget,
    TurnHabits,
)
from gateway.agents.part_kinds import OPTIONS, PARTS
from gateway.agents.schema import required, said_of, settable
from gateway.backends.cascade.choices.race import ChoiceSettings
from gateway.backends.cascade.parts import EmbeddedSettings
from gateway.call.settings import FixedLines
from gateway.plumbing.type_words import describe, show
from gateway.tools.endpoints import HttpEndpoint, McpServer
from gateway.tools.hours import OpeningHours

PAGE = Path(__file__).parent.parent / "docs/agent-file.md"

HEAD = """\
# Everything in an agent's file

[agents.md](agents.md) says what an agent is; this page has every key, its default and \
what is allowed.
Everything but what is marked **needed** can be left out.
Secrets come from the environment: settings that end in `_env` name a variable, and \
`$NAME` in a header stands for one.
A key that does not exist, and one that is missing, is told with the file and the line.

For completion and checks while you type, write the schema beside your agents and name it \
in their first line (`#:schema ./agent.schema.json`), as Taplo and Even Better TOML read it:

```sh
parley agents --schema > agents/agent.schema.json
```
"""

TABLES: Mapping[str, type[Any]] = {
    "The file itself": AgentFile,
    "`[lines]`": FixedLines,
    "`[turns]`": TurnHabits,
    "`[call]`": CallHabits,
    "`[backend]` and `[backends.NAME]`": BackendChoice,
}
LATER: Mapping[str, type[Any]] = {
    "`[[tools]]`": ToolEntry,
    "`[tools.http]`": HttpEndpoint,
    "`[tools.page]`": PageFunction,
    "`[servers.NAME]`": McpServer,
    "`[transfers.NAME]`": TransferTarget,
    "`[hours]`": OpeningHours,
}


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, *_sections(TABLES)]
    for part, kinds in PARTS.items():
        for kind, settings in kinds.items():
            parts.append(f'## `{part} = {{ kind = "{kind}" }}`\n\n{_table(settings)}\n')
    said = "Any model, recogniser and voice may have a second choice, and says when it is asked."
    own = "| `fallback` |  | a table | the second choice: a table with a `kind`, like the first |"
    parts.append(f"## Second choices\n\n{said}\n\n{_table(ChoiceSettings)}\n{own}\n")
    for kind, settings in OPTIONS.items():
        parts.append(
            f'## `options` of `kind = "{kind}"`\n\n{_table(settings)}\n{_secrets(settings)}'
        )
    return "\n".join([*parts, *_sections(LATER)])


def _sections(tables: Mapping[str, type[Any]]) -> Iterator[str]:
    for title, kind in tables.items():
        first = (kind.__doc__ or "").strip().splitlines()[0]
        yield f"## {title}\n\n{first}\n\n{_table(kind)}\n"


def _table(kind: type[Any]) -> str:
    if kind is EmbeddedSettings:
        return (kind.__doc__ or "").strip()
    return "\n".join(["| key | default | allowed | |\n|---|---|---|---|", *_rows(kind)])


def _rows(kind: type[Any]) -> Iterator[str]:
    hints, said, needed = get_type_hints(kind, include_extras=True), said_of(kind), required(kind)
    for each in settable(kind):
        if each.name == "kind" and each.name in needed:
            continue  # the heading has it
        shown = "**needed**" if each.name in needed else _default(each)
        allowed = describe(hints[each.name])
        cells = (f"`{each.name}`", shown, allowed, said.get(each.name, ""))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(each: dataclasses.Field[Any]) -> str:
    made = each.default_factory
    value = each.default if made is dataclasses.MISSING else made()
    if value is None or value == "" or dataclasses.is_dataclass(value):
        return ""
    return f"`{_toml(value)}`"


def _toml(value: object) -> str:
    match value:
        case tuple():
            return "[" + ", ".join(_toml(each) for each in value) + "]"
        case str() | Path():
            return json.dumps(str(value), ensure_ascii=False)
        case dict():
            inner = ", ".join(f"{key} = {_toml(each)}" for key, each in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            return show(value)


def _secrets(kind: type[Any]) -> str:
    named = [each.metadata["env"] for each in dataclasses.fields(kind) if "env" in each.metadata]
    said = " and ".join(f"`{each}`" for each in named)
    return f"\nFrom the environment: {said}.\n" if named else ""


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        print(page(), end="")
