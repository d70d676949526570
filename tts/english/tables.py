"""The tables of `tables.toml`, by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

_ALL: Mapping[str, Any] = tomllib.loads(
    resources.files("tts.english").joinpath("tables.toml").read_text("utf-8")
)


def _words(name: str) -> Mapping[str, str]:
    return {str(key): str(value) for key, value in _ALL[name].items()}


def _pairs(name: str) -> Mapping[str, tuple[str, ...]]:
    return {str(key): tuple(map(str, value)) for key, value in _ALL[name].items()}


def _names(name: str) -> frozenset[str]:
    return frozenset(map(str, _ALL["lists"][name]))


TITLES = _words("titles")
STREETS = _words("streets")
SHORT = _words("short")
BEFORE_NUMBERS = _words("before_numbers")
SYMBOLS = _words("symbols")
SIGNS = _words("signs")
DAYS = _words("days")
MONTHS = _words("months")
MULTIPLES = _words("multiples")
FRACTIONS = _words("fractions")
MONEY = _pairs("money")
UNITS = _pairs("units")
TOUCHING = _names("touching")
ALSO_WORDS = _names("also_words")
SPELLED = _names("spelled")
LETTERED = _names("lettered")
CODED = _names("coded")
ENDINGS = _names("endings")
TOPS = _names("tops")
CALLED = _names("called")
JOINTS = _names("joints")


def either(names: Iterable[str]) -> str:
    """Make a pattern of any of the names, the longest first."""
    longest = sorted(set(names), key=lambda name: (-len(name), name))
    return "|".join(map(re.escape, longest))
