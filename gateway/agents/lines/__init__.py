"""The fixed lines that an agent's file leaves out, in the agent's language: one file a language.

English ones are the defaults of `FixedLines`, and are said in languages without a file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Container, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources

from gateway.call.settings import FixedLines
from turn.languages import primary


@cache
def texts(language: str) -> Mapping[str, str]:
    """Return the lines of a language by their names, nothing where there is no file."""
    name = primary(language)
    file = resources.files(__name__) / f"{name}.toml"
    if not name.isalpha() or not file.is_file():
        return {}
    return tomllib.loads(file.read_text(encoding="utf-8"))


def in_language(lines: FixedLines, language: str, given: Container[str]) -> FixedLines:
    """Say in a language what is not among the keys of a file, as in `lines.greeting`."""
    own = {name: text for name, text in texts(language).items() if f"lines.{name}" not in given}
    return replace(lines, **own)  # type: ignore[arg-type]
