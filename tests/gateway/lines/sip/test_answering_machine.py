"""Calls that a machine answers are left a message after its beep, by what it recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile

from gateway.call.settings import FixedLines
from gateway.lines.sip.dialing import DialOrder
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings
from media.resample import convert
from tests.support.owner import DOORS
from tests.support.sip_answers import tone
from tests.support.sip_phone import SipPhone
from tests.support.whole_call import Whole, WholeCalls, is_whole, scales_heard

SPEECH = Path("tests/data/speech")
BEEP = tone(1000.0, 0.4, level=0.4)
LATEST = 1.5
"""Seconds after the beep by which the message has begun: a model thinks first."""


def said(name: str) -> bytes:
    """Read somebody's words, at a telephone's rate and without the silence around them."""
    sound, rate = soundfile.read(SPEECH / name, dtype="int16")
    pcm = convert(sound.tobytes(), rate, 8000)
    loud = np.flatnonzero(np.abs(np.frombuffer(pcm, "<i2")) > 1200)
    return pcm[2 * int(loud[0]) : 2 * int(loud[-1])]


def pause(seconds: float) -> bytes:
    return bytes(2 * round(seconds * 8000))


HELLO = said("short_turn/wb_sm_st_when.flac")
SPEAKING = said("complete/tel_ibm2_howcanihelp.flac")
CLAUSES = [said("demo/tel_ar40_caller_dealership.flac"), said("demo/tel_ar40_caller_light.flac")]
LONG = CLAUSES[0] + pause(0.3) + CLAUSES[1] + pause(0.3) + CLAUSES[0]


@asynccontextmanager
async def called(
    answer: bytes, *, listens: bool = True, words: str = "When are you open?", **lines: str
) -> AsyncIterator[tuple[SipPhone, Whole]]:
    """Call a telephone that answers with a sound."""
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        calls = WholeCalls(group, words, lines=FixedLines(**{"greeting": "", **lines}))
        calls.pacer.start()
        settings = SipSettings(host="127.0.0.1", udp=0, tcp=None, answering_machine=listens)
        line = SipLine(settings, calls, DOORS, default_agent="desk")
        serving = group.create_task(line.run(ready.set))
        await ready.wait()
        phone = SipPhone(line.network.port("udp"))
        try:
            phone.say(answer)
            address = await phone.wait()
            outcome = await line.dialler.dial(DialOrder(address))
            assert outcome.outcome == "answered", outcome
            yield phone, calls.all[0]
        finally:
            phone.close()
            serving.cancel()
            await asyncio.sleep(0.1)
            calls.pacer.stop()


def kinds(whole: Whole) -> list[str]:
    return [one["kind"] for one in whole.log.of("answered_by")]


def loud_from(phone: SipPhone) -> float:
    """Return how many seconds of silence the recording begins with."""
    return int(np.flatnonzero(np.frombuffer(phone.recording(), "<i2"))[0]) / 8000


GREETINGS = {
    "a greeting": LONG + pause(0.5) + BEEP,
    "a pause of two seconds within": LONG + pause(2.0) + CLAUSES[0] + pause(0.5) + BEEP,
    "a pause before it": pause(1.5) + LONG + BEEP,
    "a long beep": LONG + pause(0.8) + tone(440.0, 1.5, level=0.2),
    "a short high beep": LONG + pause(0.3) + tone(2400.0, 0.2, level=0.2),
    "a beep at once": tone(1000.0, 0.5, level=0.3),
    "a word and a beep": HELLO + pause(0.5) + BEEP,
    "half a minute": LONG * 4 + pause(1.0) + BEEP,
}


@pytest.mark.parametrize("fixed", [True, False], ids=["a fixed line", "the model's words"])
@pytest.mark.parametrize("name", GREETINGS)
async def test_a_message_is_left_after_the_beep_whole_and_once(name: str, fixed: bool) -> None:
    greeting = GREETINGS[name]
    line = {"voicemail": "Please call us back."} if fixed else {}
    async with called(greeting, **line) as (phone, whole):
        async with asyncio.timeout(90.0):
            await phone.gone.wait()
        (message,) = scales_heard(phone.recording(), 8000)
        assert is_whole(message)
        beep = len(greeting) / 16000
        assert beep - 0.05 < loud_from(phone) < beep + LATEST
        assert kinds(whole)[-1] == "beep"
        assert "person" not in kinds(whole)
        assert whole.log.of("call_ended")[0]["reason"] == "message left"
        assert len(whole.model.asked) == (0 if fixed else 1)


async def test_a_message_is_left_where_there_is_no_beep() -> None:
    async with called(LONG, voicemail="Please call us back.") as (phone, whole):
        await phone.gone.wait()
        (message,) = scales_heard(phone.recording(), 8000)
        assert is_whole(message)
        assert kinds(whole) == ["machine"]
        assert loud_from(phone) == pytest.approx(len(LONG) / 16000 + 3.0, abs=0.3)


async def test_a_beep_after_a_message_began_begins_it_again() -> None:
    """The greeting paused for longer than anybody waits."""
    greeting = LONG + pause(4.0) + BEEP
    async with called(greeting, voicemail="Please call us back.") as (phone, _):
        await phone.gone.wait()
        first, second = scales_heard(phone.recording(), 8000)
        assert not is_whole(first)
        assert is_whole(second)


async def test_a_short_greeting_is_known_by_its_words_and_the_beep_is_waited_for() -> None:
    """A machine that pauses is taken for somebody, until its words are known."""
    greeting = SPEAKING + pause(3.5) + BEEP
    recorded = "I can't come to the phone, please leave a message."
    async with called(greeting, words=recorded, voicemail="Please call us back.") as (phone, whole):
        await phone.gone.wait()
        assert is_whole(scales_heard(phone.recording(), 8000)[-1])
        assert kinds(whole) == ["person", "machine", "beep"]
        assert [one["by"] for one in whole.log.of("answered_by")][1] == "words"


@pytest.mark.parametrize("answer", [HELLO, SPEAKING], ids=["hello", "a receptionist"])
async def test_somebody_is_greeted_as_soon_as_they_wait(answer: bytes) -> None:
    async with called(answer, greeting="Good morning.") as (phone, whole):
        await asyncio.sleep(len(answer) / 16000 + 4.0)
        assert kinds(whole) == ["person"]
        (greeting,) = scales_heard(phone.recording(), 8000)
        assert is_whole(greeting)
        waited = loud_from(phone) - len(answer) / 16000
        assert 0.6 < waited < 1.3
        assert whole.model.asked == []


async def test_somebody_is_answered_where_nothing_is_to_be_said_first() -> None:
    async with called(HELLO) as (phone, whole):
        await asyncio.sleep(6.0)
        assert kinds(whole) == ["person"]
        assert len(scales_heard(phone.recording(), 8000)) == 1
        assert [entry.role for entry in whole.history] == ["caller", "agent"]


async def test_who_lifts_the_receiver_and_says_nothing_is_greeted() -> None:
    async with called(b"", greeting="Good morning.") as (phone, whole):
        await asyncio.sleep(6.0)
        assert kinds(whole) == ["silence"]
        assert loud_from(phone) == pytest.approx(2.5, abs=0.3)


async def test_where_nobody_listens_for_machines_the_greeting_is_said_at_once() -> None:
    async with called(LONG + BEEP, listens=False, greeting="Good morning.") as (phone, whole):
        await asyncio.sleep(3.0)
        assert kinds(whole) == []
        assert loud_from(phone) < 0.5
