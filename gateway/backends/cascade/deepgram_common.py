"""What Deepgram's protocols have in common."""

from __future__ import annotations

from collections.abc import Mapping

MOST_HINTS = 100
"""Deepgram takes up to 500 tokens of key terms; a phrase has a handful."""

CLOSE_STREAM = '{"type": "CloseStream"}'
"""Ends a stream of the caller's sound; what is known is still sent."""


def key_headers(api_key: str) -> Mapping[str, str]:
    """Return the key as it is shown; never logged."""
    return {"Authorization": f"Token {api_key}"}
