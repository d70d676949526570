"""HTTP clients that take no more of an answer than it can be worth.

An answer has a size and a pace at which it is read: one that comes faster waits in the network,
where its server waits with it. It is read in pieces between which the loop comes round, so that no
answer holds up anybody else's. Compressed ones are refused, which were not asked for: what a
kilobyte of them becomes is only known once it fills the memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from gateway.plumbing.meter import Measure, Meter

PIECE = 2048
"""Bytes that are taken in one go: ten tokens of a language model, 40 ms of sound."""


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """What an answer may be."""

    size: int
    "bytes in all"
    pace: Measure
    "bytes"


def measured(bounds: AnswerBounds) -> dict[str, list[Callable[..., Any]]]:
    """Return the `event_hooks` of a client whose answers are within bounds."""

    async def ask(request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "identity"

    async def take(response: httpx2.Response) -> None:
        coding = response.headers.get("content-encoding", "identity")
        if coding != "identity":
            said = f"the answer is compressed ({coding[:20]}), which nobody asked for"
            raise httpx2.DecodingError(said, request=response.request)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Measured(response.stream, bounds, response.request)

    return {"request": [ask], "response": [take]}


class _Measured(httpx2.AsyncByteStream):
    """The body of one answer."""

    def __init__(
        self, body: httpx2.AsyncByteStream, bounds: AnswerBounds, request: httpx2.Request
    ) -> None:
        self._body = body
        self._bounds = bounds
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop, meter, size = asyncio.get_running_loop(), Meter(self._bounds.pace), 0
        async for block in self._body:
            for at in range(0, len(block), PIECE):
                piece = block[at : at + PIECE]
                size += len(piece)
                if size > self._bounds.size:
                    said = f"the answer has more than {self._bounds.size} bytes"
                    raise httpx2.RemoteProtocolError(said, request=self._request)
                yield piece
                await asyncio.sleep(meter.wait(len(piece), loop.time()))

    async def aclose(self) -> None:
        await self._body.aclose()
