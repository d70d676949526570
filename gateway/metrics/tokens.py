"""Reads what models counted: every vendor has names of its own for the same three figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "input": (("input_tokens",), ("prompt_tokens",), ("promptTokenCount",)),
    "output": (
        ("output_tokens",),
        ("completion_tokens",),
        ("responseTokenCount",),
        ("candidatesTokenCount",),
    ),
    "cached": (
        ("cached_tokens",),
        ("input_token_details", "cached_tokens"),
        ("prompt_tokens_details", "cached_tokens"),
        ("cachedContentTokenCount",),
    ),
}
"""Where each figure may stand: OpenAI's realtime and chat protocols, Gemini's, Nova's."""


def tokens(figures: Mapping[str, Any]) -> dict[str, float]:
    """Return what is there of `input`, `output` and `cached`."""
    found: dict[str, float] = {}
    for kind, places in NAMES.items():
        for place in places:
            value = _at(figures, place)
            if isinstance(value, int | float) and value >= 0:
                found[kind] = float(value)
                break
    return found


def _at(figures: Any, place: tuple[str, ...]) -> Any:
    for name in place:
        if not isinstance(figures, Mapping):
            return None
        figures = figures.get(name)
    return figures
