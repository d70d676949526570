"""A leg in a call: sound both ways, marks, clear, keys, hang-up and transfer."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
import requests
from structlog.testing import capture_logs
from twilio.http import HttpClient
from twilio.http.response import Response

from gateway.events import CallerGone, CallerKey, TransferEnded
from gateway.lines.twilio.settings import TwilioSettings
from media.playout import Finished
from tests.gateway.lines.twilio.harness import (
    CALL,
    STREAM,
    FakeAnswer,
    Far,
    far_end,
    media_message,
    serving,
)

WITH_TOKEN = TwilioSettings(auth_token="12345", require_signature=False)

MARK = {"event": "mark", "streamSid": STREAM}


@dataclass
class FakeRest(HttpClient):
    """Twilio's REST API, by word of mouth."""

    status: int = 200
    body: str = "{}"
    fault: Exception | None = None
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def request(self, method: str, url: str, **given: Any) -> Response:
        if self.fault is not None:
            raise self.fault
        form = parse_qs(urlencode(given.get("data") or {}))
        self.asked.append((method, url, {name: values[0] for name, values in form.items()}))
        return Response(self.status, self.body)


async def speak(leg: Any, samples: int, utterance: int = 1, *, seconds: float = 2.0) -> None:
    """Play an utterance, ticking as the call would."""
    loop = asyncio.get_running_loop()
    leg.playout.push(utterance, b"\x20" * samples)
    leg.playout.end(utterance)
    start = loop.time()
    for n in range(int(seconds * 50)):
        leg.send(leg.playout.pull(start + n * 0.02))
        await asyncio.sleep(start + (n + 1) * 0.02 - loop.time())


async def all_messages(far: Far) -> list[dict[str, Any]]:
    messages = []
    try:
        while True:
            messages.append(await far.receive())
    except TimeoutError:
        return messages


async def test_sound_leaves_with_marks_behind_the_first_every_100_ms_and_the_last() -> None:
    async with serving() as served, far_end(served) as far:
        await far.start()
        await speak(served.answer.leg, 160 * 12 + 40)
        messages = await all_messages(far)
    sent = 0
    marks = []
    for message in messages:
        assert message["streamSid"] == STREAM
        if message["event"] == "media":
            sent += len(base64.b64decode(message["media"]["payload"]))
        else:
            marks.append((message["mark"]["name"], sent))
    assert sent == 160 * 13
    assert marks == [
        ("g1:u1:160", 160),
        ("g1:u1:960", 960),
        ("g1:u1:1760", 1760),
        ("g1:u1:1960", 160 * 13),
    ]


async def test_the_tail_is_marked_when_the_end_becomes_known_late() -> None:
    async with serving() as served, far_end(served) as far:
        await far.start()
        leg = served.answer.leg
        leg.playout.push(1, b"\x20" * 480)
        leg.send(leg.playout.pull(1000.0))
        leg.playout.end(1)
        leg.send(leg.playout.pull(1000.02))
        leg.send(leg.playout.pull(1000.04))
        messages = await all_messages(far)
        got = [one["mark"]["name"] for one in messages if one["event"] == "mark"]
    assert got == ["g1:u1:160", "g1:u1:480"]


async def test_an_echoed_mark_is_hearing_and_one_after_clear_is_not() -> None:
    loop = asyncio.get_running_loop()
    async with serving() as served, far_end(served) as far:
        await far.start()
        leg = served.answer.leg
        await speak(leg, 1600, seconds=0.06)
        await far.send({**MARK, "mark": {"name": "g1:u1:160"}, "sequenceNumber": "2"})
        before = leg.playout.heard(1, loop.time())
        (cut,) = leg.playout.flush(loop.time())
        leg.clear()
        await far.send({**MARK, "mark": {"name": "g1:u1:960"}, "sequenceNumber": "3"})
        after = leg.playout.heard(1, loop.time())
        assert (await all_messages(far))[-1] == {"event": "clear", "streamSid": STREAM}
        heard, later, events = before.heard, after.heard - cut.heard, leg.playout.poll(loop.time())
    assert heard >= 160
    assert later == 0
    assert not [one for one in events if isinstance(one, Finished)]


async def test_strange_marks_are_told_once_a_time_and_change_nothing() -> None:
    with capture_logs() as logs:
        async with serving() as served, far_end(served) as far:
            await far.start()
            await far.send({**MARK, "mark": {"name": "hello"}, "sequenceNumber": "2"})
            await far.send(media_message(3, 0))
            assert len(served.answer.ear.frames) == 1
    assert [line["what"] for line in logs if line["event"] == "stream_odd"] == ["strange mark"]


async def test_what_comes_before_the_call_is_ready_is_kept_in_order_and_bounded() -> None:
    with capture_logs() as logs:
        answer = FakeAnswer(attach=False)
        async with serving(TwilioSettings(early_seconds=0.1), answer) as served:
            async with far_end(served) as far:
                await far.start()
                await far.send(media_message(2, 0))
                await far.send({"event": "dtmf", "streamSid": STREAM, "dtmf": {"digit": "7"}})
                for n in range(1, 20):
                    await far.send(media_message(2 + n, 20 * n))
                answer.leg.attach(answer.ear)
                await far.send(media_message(30, 400))
            await asyncio.sleep(1)
        got = answer
        ear = got.ear
    assert [frame.start for frame in ear.frames] == [0, 160, 320, 480, 3200]
    assert ear.events == [CallerKey("7"), CallerGone("stream closed")]
    (lost,) = [line for line in logs if line["event"] == "early_sound_lost"]
    assert lost["frames"] == 16


async def test_a_caller_gone_before_the_call_is_ready_is_told_on_attaching() -> None:
    answer = FakeAnswer(attach=False)
    async with serving(answer=answer) as served, far_end(served) as far:
        await far.start()
        await far.send({"event": "stop", "streamSid": STREAM, "stop": {}})
        await far.closed()
        await asyncio.sleep(1)
        answer.leg.attach(answer.ear)
    got = answer.ear.events
    assert got == [CallerGone("caller hung up")]


async def test_stop_ends_the_call_once_and_closes_the_socket() -> None:
    async with serving() as served, far_end(served) as far:
        await far.start()
        await far.send({"event": "stop", "streamSid": STREAM, "stop": {"callSid": CALL}})
        code, _ = await far.closed()
        served.answer.leg.hang_up("too late")
        served.answer.leg.send_keys("1")
        served.answer.leg.clear()
        got = code, served.answer.ear.events
    assert got == (1000, [CallerGone("caller hung up")])


async def test_keys_are_played_as_tones() -> None:
    async with serving() as served, far_end(served) as far:
        await far.start()
        served.answer.leg.send_keys("1x#")
        sounds = [base64.b64decode(one["media"]["payload"]) for one in await all_messages(far)]
    assert [len(sound) for sound in sounds] == [1600, 1600]


# --- hang-up and transfer ----------------------------------------------------------------------


async def test_hanging_up_without_credentials_closes_the_stream() -> None:
    async with serving() as served, far_end(served) as far:
        await far.start()
        served.answer.leg.hang_up("goodbye")
        served.answer.leg.hang_up("again")
        assert await far.closed() == (1000, "call ended")
        await asyncio.sleep(1)
        got = tuple(served.answer.ear.events)
    assert got == (CallerGone("goodbye"),)


async def test_hanging_up_with_credentials_asks_twilio_and_waits_for_its_stop() -> None:
    rest = FakeRest()

    async with serving(WITH_TOKEN, http_client=rest) as served, far_end(served) as far:
        await far.start(customParameters={})
        served.answer.leg.hang_up("goodbye")
        await asyncio.sleep(0.5)
        assert not served.answer.ear.events
        await far.send({"event": "stop", "streamSid": STREAM, "stop": {}})
        await far.closed()
        got = served.answer.ear.events
    assert got == [CallerGone("goodbye")]
    ((method, url, form),) = rest.asked
    assert (method, form) == ("POST", {"Status": "completed"})
    assert url.endswith(f"/Accounts/AC1/Calls/{CALL}.json")


@pytest.mark.parametrize(
    "rest",
    [
        FakeRest(status=500, body='{"message": "broken", "code": 20500}'),
        FakeRest(fault=requests.ConnectionError("no route")),
        FakeRest(status=404, body='{"message": "gone", "code": 20404}'),
        FakeRest(),
    ],
    ids=["refused", "unreachable", "already over", "no stop comes"],
)
async def test_hanging_up_succeeds_whatever_twilio_says(rest: FakeRest) -> None:
    with capture_logs() as logs:
        async with serving(WITH_TOKEN, http_client=rest) as served, far_end(served) as far:
            await far.start()
            served.answer.leg.hang_up("goodbye")
            assert (await far.closed())[0] == 1000
            await asyncio.sleep(1)
            got = served.answer.ear.events
        assert got == [CallerGone("goodbye")]
    failed = [line for line in logs if line["event"] == "hang_up_failed"]
    assert len(failed) == (rest.status == 500 or rest.fault is not None)


async def test_a_transfer_takes_the_call_out_of_its_stream() -> None:
    rest = FakeRest()
    settings = TwilioSettings(auth_token="1", require_signature=False, caller_id="+491")

    async with serving(settings, http_client=rest) as served, far_end(served) as far:
        await far.start()
        served.answer.leg.transfer("+4930123", "wants a refund")
        await asyncio.sleep(0.1)
        served.answer.leg.hang_up("transferred")  # must not end the call that goes on
        await far.send({"event": "stop", "streamSid": STREAM, "stop": {}})
        await far.closed()
        got = served.answer.ear.events
    assert got == [TransferEnded(True), CallerGone("transferred")]
    ((_, _, form),) = rest.asked
    assert form["Twiml"].endswith(
        '<Dial answerOnBridge="true" callerId="+491" timeout="30">'
        "<Number>+4930123</Number></Dial></Response>"
    )


async def test_a_refused_transfer_leaves_the_call_as_it_was() -> None:
    rest = FakeRest(status=400, body='{"message": "bad number", "code": 21211}')

    async with serving(WITH_TOKEN, http_client=rest) as served, far_end(served) as far:
        await far.start()
        served.answer.leg.transfer("nobody", "")
        await asyncio.sleep(0.1)
        await far.send(media_message(2, 0))
        assert len(served.answer.ear.frames) == 1
        (ended,) = list(served.answer.ear.events)
    assert isinstance(ended, TransferEnded)
    assert not ended.accepted
    assert "400" in ended.reason


async def test_a_transfer_without_credentials_is_refused() -> None:
    async with serving() as served, far_end(served) as far:
        await far.start()
        served.answer.leg.transfer("+4930", "")
        (ended,) = list(served.answer.ear.events)
    assert isinstance(ended, TransferEnded)
    assert not ended.accepted
