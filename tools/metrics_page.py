"""Writes the table of metrics into docs/observability.md, from the metrics' own declarations.

`python -m tools.metrics_page` prints the page, `--write` puts it into docs/.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gateway.metrics.families import FAMILIES, Family

PAGE = Path(__file__).parent.parent / "docs/observability.md"

HEADING = "## The metrics"


def page(text: str) -> str:
    """Return the page with the table as it is now; what stands before it stays."""
    return text.partition(HEADING)[0] + table()


def table() -> str:
    """Return the table."""
    return "\n".join(
        [
            f"{HEADING}\n",
            "Made from `gateway/metrics/families.py` by `make fix`.\n",
            "| metric | kind | labels | |",
            "|---|---|---|---|",
            *map(_row, FAMILIES),
            "",
        ]
    )


def _row(family: Family) -> str:
    labels = ", ".join(f"`{each}`" for each in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.said} |"


if __name__ == "__main__":
    made = page(PAGE.read_text("utf-8"))
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(made, "utf-8")
    else:
        print(made, end="")
