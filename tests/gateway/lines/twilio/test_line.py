"""Who is let in on a media socket, and that whatever comes on one stays on it."""

from __future__ import annotations

import asyncio
import gc
import json
import random
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.events import CallerGone
from gateway.lines.twilio.connection import TwilioStream
from gateway.lines.twilio.leg import TwilioLeg
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.twilio.signature import sign
from gateway.lines.twilio.tokens import Ticket
from gateway.lines.websocket.socket import MediaSocket
from gateway.log_events import CallRefusedLogged
from gateway.ports import Refusal
from media.playout import Playout
from tests.gateway.lines.twilio.harness import (
    CALL,
    CONNECTED,
    FakeAnswer,
    Served,
    far_end,
    log_lines,
    media_message,
    raw_end,
    serving,
    start_message,
    upgrade,
)

SECURED = TwilioSettings(auth_token="12345")


def stream_signature(port: int) -> dict[str, str]:
    return {"X-Twilio-Signature": sign("12345", f"wss://127.0.0.1:{port}/twilio/stream")}


async def test_an_unsecured_stream_names_its_agent_and_parties() -> None:
    async with serving() as served, far_end(served) as far:
        given = {"agent": "sales", "from": "+1", "to": "+2", "tenant": "acme"}
        await far.start(customParameters=given)
        answer = served.answer
    info = answer.leg.info
    assert answer.asked == ["sales"]
    assert (info.call_id, info.agent, info.caller, info.callee) == (CALL, "sales", "+1", "+2")
    assert info.variables["tenant"] == "acme"
    assert (info.line, info.rate, info.codec) == ("twilio", 8000, "pcmu")


@pytest.mark.parametrize(("settings", "lines"), [(TwilioSettings(), 1), (SECURED, 0)])
async def test_a_line_without_a_secret_says_so_at_its_start(
    settings: TwilioSettings, lines: int
) -> None:
    with capture_logs() as logs:
        async with serving(settings):
            pass
    assert [line["event"] for line in logs] == ["twilio_unsecured"] * lines


async def test_a_token_brings_the_webhooks_ticket_and_is_not_told_on() -> None:
    with log_lines() as logs:
        async with serving(SECURED) as served:
            now = asyncio.get_running_loop().time()
            served.line._tickets.issue("t0k3n", Ticket(CALL, "sales", "+1", "+2"), now)
            async with far_end(served, **stream_signature(served.port)) as far:
                await far.start(customParameters={"token": "t0k3n", "agent": "other"})
                got = served.answer
        info = got.leg.info
    assert (info.agent, info.caller, info.callee) == ("sales", "+1", "+2")
    assert "t0k3n" not in json.dumps([logs, dict(info.variables)], default=str)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "no token"),
        ({"token": "wrong"}, "token unknown, used or too old"),
        ({"token": "of another"}, "token of another call"),
    ],
)
async def test_a_secured_stream_without_its_token_is_refused(
    parameters: dict[str, str], said: str
) -> None:
    with log_lines() as logs:
        async with serving(SECURED) as served:
            now = asyncio.get_running_loop().time()
            served.line._tickets.issue("of another", Ticket("CA2", "sales"), now)
            async with far_end(served, **stream_signature(served.port)) as far:
                await far.start(customParameters=parameters)
                closed, answer = await far.closed(), served.answer
    assert closed == (1008, said)
    assert not answer.legs
    assert [one["reason"] for one in logs if one["event"] == "stream_refused"] == [said]
    (missed,) = answer.turned_away
    assert isinstance(missed, CallRefusedLogged)
    assert (missed.cause, missed.said, missed.known_as) == ("no_token", said, "CA1")


@pytest.mark.parametrize(
    ("kind", "code"),
    [("busy", 1013), ("draining", 1013), ("unknown_agent", 1008), ("forbidden", 1008)],
)
async def test_a_call_that_may_not_come_is_told_why(kind: Any, code: int) -> None:
    answer = FakeAnswer(refusal=Refusal(kind))
    async with serving(answer=answer) as served, far_end(served) as far:
        await far.start()
        got = await far.closed()
    assert got == (code, kind)
    (missed,) = answer.turned_away
    assert isinstance(missed, CallRefusedLogged)
    assert (missed.cause, missed.code, missed.agent) == (kind, code, None)


async def test_another_account_is_refused() -> None:
    async with serving(TwilioSettings(account_sid="AC2")) as served, far_end(served) as far:
        await far.start()
        got = await far.closed()
    assert got == (1008, "another account")


async def test_a_second_stream_of_a_call_is_refused_and_the_first_goes_on() -> None:
    async with serving() as served, far_end(served) as first, far_end(served) as second:
        await first.start()
        await second.start()
        assert await second.closed() == (1008, "this call has a stream already")
        await first.send(media_message(2, 0))
        assert len(served.answer.ear.frames) == 1
        got = served.answer
    assert len(got.legs) == 1


async def test_a_call_may_come_back_after_its_stream_ended() -> None:
    async with serving() as served:
        for _ in range(2):
            async with far_end(served) as far:
                await far.start()
            await asyncio.sleep(1)
        got = len(served.answer.legs)
    assert got == 2


async def test_a_stream_that_never_starts_is_closed() -> None:
    with log_lines() as logs:
        loop = asyncio.get_running_loop()
        async with serving() as served, far_end(served) as far:
            began = loop.time()
            await far.send(CONNECTED)
            closed, seconds = await far.closed(), loop.time() - began
    assert closed == (1008, "the stream did not start in time")
    assert seconds == pytest.approx(5, abs=0.1)
    assert [one["event"] for one in logs] == ["stream_refused", "stream_closed_before_start"]


async def test_a_malformed_start_is_closed_with_a_reason() -> None:
    async with serving() as served, far_end(served) as far:
        await far.send(CONNECTED, {"event": "start", "start": {}})
        code, reason = await far.closed()
    assert code == 1002
    assert "streamSid" in reason


async def test_a_reason_too_long_for_a_close_frame_is_cut() -> None:
    async with serving() as served, far_end(served) as far:
        long = "ü" * 60
        given = {"encoding": long, "sampleRate": 8000, "channels": 1}
        await far.start(mediaFormat=given)
        code, reason = await far.closed()
    assert code == 1003
    assert reason.startswith("media format not supported: üü")


async def test_a_fault_of_ours_ends_that_call_alone() -> None:
    class BrokenEar:
        def hear(self, frame: Any) -> None:
            raise RuntimeError("a bug")

        def notice(self, event: Any) -> None:
            events.append(event)

    events: list[Any] = []

    with log_lines() as logs:
        answer = FakeAnswer(attach=False)
        async with serving(answer=answer) as served, far_end(served) as one, far_end(served) as two:
            await one.start()
            answer.legs[0].attach(BrokenEar())
            await two.start(callSid="CA2", streamSid="MZ2")
            answer.legs[1].attach(answer.ears[1])
            await one.send(media_message(2, 0))
            code, _ = await one.closed()
            await two.send({**media_message(2, 0), "streamSid": "MZ2"})
            got = code, len(answer.ears[1].frames)
        assert got == (1011, 1)
    assert events == [CallerGone("socket lost: 1011 internal error", failure=True)]
    faults = [one for one in logs if one["event"] == "fault_in_media_socket"]
    assert [one["call_id"] for one in faults] == [CALL]


def chaos(rng: random.Random) -> bytes:
    """Make one frame's payload: a good message, a damaged one, or noise."""
    good: list[dict[str, Any]] = [
        CONNECTED,
        start_message(callSid=f"CA{rng.randrange(3)}"),
        media_message(rng.randrange(20), rng.randrange(10**6), rng.randbytes(rng.randrange(400))),
        {"event": "mark", "mark": {"name": rng.choice(["g1:u1:160", "x", "g9:u9:9"])}},
        {"event": "dtmf", "dtmf": {"digit": rng.choice("05#q")}},
        {"event": "stop", "stop": {}},
        {"event": "weather"},
    ]
    data = bytearray(json.dumps(rng.choice(good)).encode())
    for _ in range(rng.choice([0, 0, 0, 1, 5])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@pytest.mark.parametrize("seed", range(20))
async def test_random_sockets_leak_nothing_and_disturb_nobody(seed: int) -> None:
    rng = random.Random(seed)

    async def vandal(served: Any) -> None:
        async with raw_end(served) as raw:
            for _ in range(rng.randrange(40)):
                if rng.random() < 0.05:
                    raw.writer.write(rng.randbytes(rng.randrange(1, 50)))
                else:
                    raw.write(
                        rng.choice([1, 1, 1, 1, 1, 1, 0, 2, 8, 9, 10, 3]),
                        chaos(rng),
                        fin=rng.random() > 0.1,
                    )
                if rng.random() < 0.3:
                    await asyncio.sleep(rng.random())
            if rng.random() < 0.3:
                raw.writer.transport.abort()

    answer = FakeAnswer()
    async with serving(answer=answer) as served, far_end(served) as far:
        await far.start(callSid="CA-good")
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(vandal(served))
            for n in range(10):
                await far.send(media_message(2 + n, 20 * n))
                await asyncio.sleep(0.02)
        answer, heard = answer, len(answer.ears[0].frames)
    assert heard == 10
    for ear in answer.ears:
        gone = [event for event in ear.events if isinstance(event, CallerGone)]
        assert len(gone) == 1
        assert ear.events[-1] is gone[0]


async def test_many_calls_refused_ones_too_leave_nothing_behind() -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def alive() -> list[object]:
        gc.collect()
        kinds = (MediaSocket, TwilioLeg, TwilioStream, Playout)
        return [one for one in gc.get_objects() if type(one) in kinds]

    async def one(served: Served, n: int) -> None:
        if n % 10 == 3:
            raw, answer = await upgrade(served, extra="X-Forwarded-For: 203.0.113.9\r\n")
            assert " 403 " in answer
            raw.writer.close()
            await raw.writer.wait_closed()
            return
        async with far_end(served) as far:
            token = {"token": "wrong"} if n % 10 == 6 else {}
            if n % 10 == 9:
                await far.send("{")
            else:
                await far.start(callSid=f"CA{n}", customParameters=token)
            if n % 10 in (6, 9):
                await far.closed()
            elif n % 2:
                await far.send(media_message(2, 0))
                served.answer.leg.hang_up("bye")
                await far.closed()

    files = []
    async with serving() as served:
        for n in range(100):
            await one(served, n)
            if n % 50 == 9:
                await asyncio.sleep(5)
                files.append(open_files())
        await asyncio.sleep(5)
        files.append(open_files())
        assert len(served.answer.legs) == 70
        served.answer.legs.clear()
        served.answer.ears.clear()
        files, left = files, alive()
    assert files[0] == files[-1]
    assert left == []
