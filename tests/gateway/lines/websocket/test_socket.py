"""The media socket: whole messages only, bounded both ways, and one end."""

from __future__ import annotations

import asyncio
import json
import socket as sockets

import pytest
from structlog.testing import capture_logs

from gateway.events import CallerGone
from tests.gateway.lines.twilio.harness import (
    CONNECTED,
    Raw,
    media_message,
    raw_end,
    serving,
    start_message,
)

TEXT, CONTINUATION, BINARY, CLOSE, PING, PONG = 1, 0, 2, 8, 9, 10


async def started(raw: Raw) -> None:
    for message in (CONNECTED, start_message()):
        await raw.send(TEXT, json.dumps(message).encode())


async def test_fragments_are_put_together() -> None:
    async with serving() as served, raw_end(served) as raw:
        await started(raw)
        text = json.dumps(media_message(2, 0)).encode()
        await raw.send(TEXT, text[:50], fin=False)
        await raw.send(PING, b"hello")  # control frames may come in between
        await raw.send(CONTINUATION, text[50:100], fin=False)
        await raw.send(CONTINUATION, text[100:])
        assert await raw.frame() == (PONG, b"hello")
        assert len(served.answer.ear.frames) == 1


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([(BINARY, b"\0\1", True, 0)], 1003),
        ([(CONTINUATION, b"x", True, 0)], 1002),
        ([(TEXT, b"{", False, 0), (TEXT, b"}", True, 0)], 1002),
        ([(TEXT, b"{}", True, 4)], 1002),
        ([(3, b"", True, 0)], 1002),
        ([(PING, b"x" * 126, True, 0)], 1002),
        ([(PING, b"x", False, 0)], 1002),
        ([(TEXT, b"x" * 70_000, True, 0)], 1009),
        ([(TEXT, b"x" * 40_000, False, 0), (CONTINUATION, b"x" * 40_000, True, 0)], 1009),
        ([(CLOSE, b"\x03", True, 0)], 1002),
    ],
)
async def test_the_protocols_own_answer(
    frames: list[tuple[int, bytes, bool, int]], code: int
) -> None:
    with capture_logs() as logs:
        async with serving() as served, raw_end(served) as raw:
            await started(raw)
            for opcode, payload, fin, rsv in frames:
                await raw.send(opcode, payload, fin=fin, rsv=rsv)
            got, served = await raw.close_code(), served
    assert got == code
    (gone,) = served.answer.ear.events
    assert isinstance(gone, CallerGone)
    assert gone.failure
    refused = [line for line in logs if line["event"] == "media_socket_refused"]
    assert [line["code"] for line in refused] == [code]


@pytest.mark.parametrize("code", [1000, 1001, 3000, 4999])
async def test_a_close_is_answered_with_its_code(code: int) -> None:
    async with serving() as served, raw_end(served) as raw:
        await started(raw)
        await raw.send(CLOSE, code.to_bytes(2, "big") + b"bye")
        got = await raw.close_code()
        (gone,) = served.answer.ear.events
        assert isinstance(gone, CallerGone)
        assert gone.failure == (code != 1000)
        result = got
    assert result == code


async def test_a_close_without_a_code() -> None:
    async with serving() as served, raw_end(served) as raw:
        await raw.send(CLOSE, b"")
        got = await raw.close_code()
    assert got == 1000


async def test_a_peer_that_does_not_answer_our_close_is_left() -> None:
    loop = asyncio.get_running_loop()
    async with serving() as served, raw_end(served) as raw:
        await started(raw)
        served.answer.leg.hang_up("done")
        assert await raw.close_code() == 1000
        began = loop.time()
        with pytest.raises((EOFError, ConnectionError)):
            await raw.frame()
        assert served.answer.ear.events == [CallerGone("done")]
        got = loop.time() - began
    assert got == pytest.approx(2.0, abs=0.1)


async def test_a_silent_peer_is_asked_and_then_taken_for_gone() -> None:
    async with serving() as served, raw_end(served) as raw:
        await started(raw)
        assert (await raw.frame())[0] == PING
        await raw.send(PONG, b"")
        await asyncio.sleep(20)  # the pong bought time
        assert not served.answer.ear.events
        await asyncio.sleep(20)
        (gone,) = served.answer.ear.events  # type: ignore[return-value]
    assert gone == CallerGone("socket lost: 1006 no sign of life", failure=True)


async def test_a_peer_that_vanishes_is_noticed_at_once() -> None:
    async with serving() as served, raw_end(served) as raw:
        await started(raw)
        raw.writer.transport.abort()
        await asyncio.sleep(0.1)
        (gone,) = served.answer.ear.events  # type: ignore[return-value]
    assert gone.failure


async def test_a_peer_that_does_not_read_is_dropped_and_costs_bounded_memory() -> None:
    with capture_logs() as logs:
        async with serving() as served, raw_end(served) as raw:
            raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
            raw.writer.get_extra_info("socket").setsockopt(
                sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096
            )
            await started(raw)
            leg = served.answer.leg
            sent = 0
            while not served.answer.ear.events and sent < 50_000_000:
                leg.send_keys("1")
                sent += 2200
                await asyncio.sleep(0)
            sent, (gone,) = sent, served.answer.ear.events  # type: ignore[return-value]
    assert gone.failure
    assert "does not read" in gone.reason
    assert sent < 8_000_000, "no more than ours and what the peer's kernel takes"
    (line,) = [line for line in logs if line["event"] == "media_socket_dropped"]
    assert line["unsent"] < 140_000


async def test_several_messages_leave_in_one_write() -> None:
    async with serving() as served, raw_end(served) as raw:
        await started(raw)
        leg = served.answer.leg
        leg.playout.push(1, b"\x10" * 160)
        leg.playout.end(1)
        leg.send(leg.playout.pull(asyncio.get_running_loop().time()))
        leg.clear()
        got = [json.loads((await raw.frame())[1]) for _ in range(3)]
    assert [one["event"] for one in got] == ["media", "mark", "clear"]
