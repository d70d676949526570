"""The metrics of several processes as one page: each series with the number of its process."""

from __future__ import annotations

import re
from collections.abc import Mapping

SAMPLE = re.compile(r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>[^ ]+)")


def together(pages: Mapping[int, str]) -> str:
    """Join pages in the text format, which wants the lines of a family in one piece."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, page in sorted(pages.items()):
        family = ""
        for line in page.splitlines():
            if line.startswith("#"):
                family = line.split(" ", 3)[2]
                if line not in heads.setdefault(family, []):
                    heads[family].append(line)
            elif found := SAMPLE.fullmatch(line):
                rest = f",{found['labels']}" if found["labels"] else ""
                named = f'{found["name"]}{{process="{number}"{rest}}} {found["value"]}'
                samples.setdefault(family, []).append(named)
    lines = [line for name, head in heads.items() for line in (*head, *samples.get(name, ()))]
    return "".join(f"{line}\n" for line in lines)
