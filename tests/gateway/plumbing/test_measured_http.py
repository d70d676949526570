"""An answer that has no end, comes too fast or blows up costs whoever asked, and nobody else."""

from __future__ import annotations

import asyncio
import gzip

import httpx2
import pytest

from gateway.plumbing.measured_http import AnswerBounds, measured
from gateway.plumbing.meter import Measure, Meter
from tests.support.http_server import Exchange, HttpServer

BOUNDS = AnswerBounds(100_000, Measure(10_000, 10_000))


def client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(event_hooks=measured(BOUNDS), timeout=60.0)


async def test_an_answer_is_read_at_its_pace() -> None:
    async def serve(exchange: Exchange) -> None:
        await exchange.answer(200, b"x" * 50_000)

    server = HttpServer(serve)
    loop = asyncio.get_running_loop()
    async with server.serving(), client() as asking:
        begun = loop.time()
        answer = await asking.get(server.url)
    assert len(answer.content) == 50_000
    assert loop.time() - begun == pytest.approx(4.0, abs=0.3)


async def test_an_answer_without_end_is_given_up() -> None:
    async def serve(exchange: Exchange) -> None:
        await exchange.begin()
        while True:
            await exchange.send(b"data: x\n\n" * 100)

    server = HttpServer(serve)
    got = 0

    async def read(url: str) -> None:
        nonlocal got
        async with asking.stream("GET", url) as answer:
            async for piece in answer.aiter_bytes():
                got += len(piece)

    async with server.serving(), client() as asking:
        with pytest.raises(httpx2.RemoteProtocolError, match="more than 100000 bytes"):
            await read(server.url)
        await asyncio.sleep(0.1)
    assert 90_000 < got <= 100_000


async def test_an_answer_that_is_compressed_against_the_wish_is_refused_unread() -> None:
    asked: list[str] = []

    async def serve(exchange: Exchange) -> None:
        asked.append(exchange.request.headers["accept-encoding"])
        bomb = gzip.compress(bytes(10_000_000))
        await exchange.answer(200, bomb, {"content-encoding": "gzip"})

    server = HttpServer(serve)
    async with server.serving(), client() as asking:
        with pytest.raises(httpx2.DecodingError, match="compressed"):
            await asking.get(server.url)
    assert asked == ["identity"]


def test_a_meter_lets_through_what_is_within_its_measure_and_says_how_long_more_must_wait() -> None:
    meter = Meter(Measure(100, 10))
    assert [meter.wait(50, 0.0), meter.wait(50, 0.0), meter.wait(20, 0.0)] == [0.0, 0.0, 2.0]
    assert meter.wait(0, 2.0) == 0.0
    assert meter.wait(100, 100.0) == 0.0
