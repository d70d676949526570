"""Writes docs/settings.md from the settings' own classes: names, defaults, what is allowed, why.

`make fix` runs it, and a test compares.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from gateway.config import sections
from gateway.plumbing.field_docs import field_docs
from gateway.plumbing.type_words import describe, show

PAGE = Path(__file__).parent.parent / "docs/settings.md"

HEAD = """\
# Settings

Everything has a default, so that no file is needed.
Settings stand in `parley.toml` in the working directory, or in the file that `-c` names.
Relative paths are meant from the folder of that file.
Secrets come from the environment alone; a file that holds one is refused.
A key that does not exist is refused with its line and the nearest right name.

```sh
parley check -c parley.toml
```
"""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    schema = sections()
    for section in dataclasses.fields(schema):
        kind: Any = get_type_hints(schema)[section.name]
        parts.append(f"## `[{section.name}]`\n\n{_first_line(kind)}\n")
        rows = "\n".join(_rows(kind))
        parts.append(f"| setting | default | allowed | |\n|---|---|---|---|\n{rows}\n")
        secrets = [each for each in dataclasses.fields(kind) if "env" in each.metadata]
        if secrets:
            named = " and ".join(f"`{each.metadata['env']}`" for each in secrets)
            parts.append(f"From the environment: {named}.\n")
    return "\n".join(parts)


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _rows(kind: Any) -> Iterator[str]:
    hints = get_type_hints(kind, include_extras=True)
    said = field_docs(kind)
    default = kind()
    for each in dataclasses.fields(kind):
        if "env" in each.metadata:
            continue
        value = getattr(default, each.name)
        shown = "" if value is None else f"`{_toml(value)}`"
        allowed = describe(hints[each.name]).replace("|", "\\|")
        meaning = said.get(each.name, "").replace("|", "\\|")
        yield f"| `{each.name}` | {shown} | {allowed} | {meaning} |"


def _toml(value: object) -> str:
    match value:
        case tuple():
            return show(list(value))
        case Path():
            return show(str(value))
        case dict():
            return "{}"
        case _:
            return show(value)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        print(page(), end="")
