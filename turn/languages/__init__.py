"""What is known of each language, one file a language: the floor, forms, and consent."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


def primary(language: str) -> str:
    """Return the language of a tag: `en` of `en-US`."""
    return language.lower().replace("_", "-").partition("-")[0]


@cache
def lists(language: str) -> Mapping[str, Any]:
    """Return the word lists of a language, nothing where there is no file.

    `consent` and `forms` are tables.
    """
    name = primary(language)
    file = resources.files(__name__) / f"{name}.toml"
    if not name.isalpha() or not file.is_file():
        return {}
    return tomllib.loads(file.read_text(encoding="utf-8"))


def known_lists(language: str, found: Mapping[str, Any], known: set[str]) -> None:
    """Raise ValueError where a file holds what nobody reads."""
    if unknown := sorted(set(found) - known):
        file = f"turn/languages/{primary(language)}.toml"
        raise ValueError(f"{file}: unknown lists {unknown}, known {sorted(known)}")
