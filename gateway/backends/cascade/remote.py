"""HTTP to a model's server for sound: streams answers, and gives failures their names."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from gateway.plumbing.measured_http import AnswerBounds, measured
from gateway.plumbing.meter import Measure

KEPT_OPEN = 60.0
"""Seconds an idle connection is kept: longer than people listen, so that a reply finds it open."""


SOUND = AnswerBounds(16_000_000, Measure(2_000_000, 1_000_000))
"""Bytes of one answer: a clause is a few seconds of sound, of which the richest kind, in base64,
takes 130,000 a second, and fast voices make it ten times as fast as it is heard."""


class Remote:
    """One server; one for the process."""

    def __init__(self, url: str, api_key: str, connect_seconds: float, silent_seconds: float):
        """Take the base address, and how long connecting and each silence may last."""
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._url = url.rstrip("/")
        self._client = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(silent_seconds, connect=connect_seconds),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEPT_OPEN),
            event_hooks=measured(SOUND),
        )

    @asynccontextmanager
    async def post(self, path: str, **content: Any) -> AsyncIterator[httpx2.Response]:
        """Send a request and give its answer to be read; raise OSError or TimeoutError.

        Leaving the block before the end closes the connection, which stops the work there.
        """
        try:
            async with self._client.stream("POST", self._url + path, **content) as response:
                if response.status_code >= 400:
                    said = (await response.aread())[:200].decode(errors="replace")
                    raise OSError(f"the server refused: {response.status_code} {said}")
                yield response
        except httpx2.TimeoutException as late:
            raise TimeoutError("the server did not answer in time") from late
        except httpx2.HTTPError as broken:
            said = str(broken) or type(broken).__name__
            raise OSError(f"the server failed: {said[:200]}") from broken

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()


async def events(response: httpx2.Response) -> AsyncGenerator[str, None]:
    """Return the data of server-sent events, up to `[DONE]`; comments keep the line alive."""
    async for line in response.aiter_lines():
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            return
        yield data


def is_json(headers: Mapping[str, str]) -> bool:
    """Return whether an answer is one JSON document."""
    return headers.get("content-type", "").startswith("application/json")
