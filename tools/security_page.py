"""Writes the table of who may what into docs/security.md, from the table that the doors go by.

`python -m tools.security_page` prints the page, `--write` puts it into docs/.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gateway.doors.table import DOORS, PORTS, WORDS, Door

PAGE = Path(__file__).parent.parent / "docs/security.md"

HEADING = "## The doors"


def page(text: str) -> str:
    """Return the page with the tables as they are now; what stands before them stays."""
    return text.partition(HEADING)[0] + tables()


def tables() -> str:
    """Return both tables."""
    http = [
        f"| `{each.path}` | {_methods(each)} | {_opens(each)} | {each.gives} |" for each in DOORS
    ]
    ports = [f"| {each.name} | {each.asks} | {each.opens} |" for each in PORTS]
    return "\n".join(
        [
            f"{HEADING}\n",
            "Made from `gateway/doors/table.py` by `make fix`; `make test-doors` tries it.\n",
            "| path | method | opens to | gives |",
            "|---|---|---|---|",
            *http,
            "",
            "| port | asks | opens to |",
            "|---|---|---|",
            *ports,
            "",
        ]
    )


def _methods(door: Door) -> str:
    return ", ".join(door.methods)


def _opens(door: Door) -> str:
    said = [f"everybody, with `{door.setting}`" if w == "setting" else WORDS[w] for w in door.opens]
    return "; ".join(said)


if __name__ == "__main__":
    made = page(PAGE.read_text("utf-8"))
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(made, "utf-8")
    else:
        print(made, end="")
