"""A caller calls a line through a real socket, and measures what was there to be measured."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from gateway.caller.network import NetworkSettings
from gateway.caller.phone import CallerEvent
from gateway.caller.place import CallOptions, parse_target, place_call, place_calls
from gateway.caller.plan import CallPlan, CutIn, Keys, Say
from gateway.caller.report import CallReport
from gateway.caller.sound import Recording, recording
from gateway.events import CallerGone, CallerKey
from gateway.lines.twilio.settings import TwilioSettings
from gateway.plumbing import virtual_time
from gateway.ports import Refusal
from tests.gateway.caller.agent import Agent, Manners, tone
from tests.gateway.lines.twilio.harness import serving

SILENCE = bytes(2 * 4000)
NEAR = 0.021
"""A frame: what is sent in frames of 20 ms cannot be placed better."""


def voice(name: str, seconds: float = 1.0) -> Recording:
    """Return half a second of silence, a voice, half a second of silence."""
    return recording(name, SILENCE + tone(seconds, 300) + SILENCE, 8000)


def call(
    plan: CallPlan,
    answer: Agent | None = None,
    settings: TwilioSettings | None = None,
    watch: list[CallerEvent] | None = None,
    **options: Any,
) -> CallReport:
    async def story() -> CallReport:
        async with serving(settings, answer or Agent()) as served:  # type: ignore[arg-type]
            seen = None if watch is None else lambda _, event: watch.append(event)
            target = parse_target(f"twilio:{served.url}")
            report = await place_call(plan, target, CallOptions(**options), seen)
            await asyncio.sleep(1)
            return report

    return virtual_time.run(story())


def test_a_conversation_of_two_turns() -> None:
    agent = Agent()
    report = call(CallPlan((Say(voice("a")), Say(voice("b", 2.0)))), agent)
    assert report.answered
    assert (report.ended_by, report.reason) == ("caller", "done")
    assert report.went_well
    assert report.greeting.first_audio == pytest.approx(0.0, abs=NEAR)
    one, two = report.turns
    # The greeting lasts 1 s, 0.7 s later the recording begins, its voice 0.5 s later.
    assert one.speech_end == pytest.approx(1.0 + 0.7 + 0.5 + 1.0, abs=2 * NEAR)
    assert one.response == pytest.approx(0.4, abs=NEAR)
    assert one.reply_seconds == pytest.approx(1.5, abs=NEAR)
    assert two.response == pytest.approx(0.4, abs=NEAR)
    assert two.speech_end - two.speech_start == pytest.approx(2.0, abs=NEAR)
    assert report.missing_or_late_frames == 0
    assert report.late_p99 < 0.001
    assert report.problems == ()
    (heard,) = agent.calls
    assert heard.events == [CallerGone("caller hung up")]
    assert heard.leg.info.call_id == report.call_id


def test_the_agent_hears_every_frame_at_its_place() -> None:
    agent = Agent()
    call(CallPlan((Say(voice("a")),)), agent)
    frames = agent.calls[0].frames
    assert [frame.start for frame in frames] == [n * 160 for n in range(len(frames))]


def test_a_cut_in_that_stops_the_agent() -> None:
    agent = Agent(Manners(greeting=5.0))
    report = call(CallPlan((CutIn(voice("wait"), 1.0),)), agent)
    (cut,) = report.cut_ins
    assert cut.said == "wait"
    assert cut.onset == pytest.approx(1.5, abs=2 * NEAR)
    assert cut.stop_delay == pytest.approx(0.2, abs=NEAR)
    assert not cut.resumed
    assert cut.response == pytest.approx(0.4, abs=NEAR)
    assert report.audio_after_clear_seconds == 0
    # What the ledger says was heard is what the far end did hear.
    (position,) = agent.calls[0].cut
    assert position.heard / 8000 == pytest.approx(cut.heard_of_reply, abs=0.06)
    assert abs(position.heard / 8000 - cut.heard_of_reply) <= position.error / 8000 + 0.001


def test_a_cut_in_that_only_pauses_the_agent() -> None:
    agent = Agent(Manners(greeting=4.0, stops_after=None, holds_after=0.1))
    report = call(CallPlan((CutIn(voice("uh-huh", 0.3), 1.0),)), agent)
    (cut,) = report.cut_ins
    assert cut.resumed
    # What Twilio has ahead, 100 ms, is still played.
    assert cut.stop_delay == pytest.approx(0.2, abs=2 * NEAR)
    assert report.missing_or_late_frames == 0


def test_keys_arrive_in_order() -> None:
    agent = Agent(Manners(greeting=0.0))
    call(CallPlan(keys=(Keys("12#", 1.0),), hang_up_after=3.0), agent)
    keys = [event.key for event in agent.calls[0].events if isinstance(event, CallerKey)]
    assert keys == ["1", "2", "#"]


def test_the_agent_may_hang_up() -> None:
    report = call(CallPlan((Say(voice("bye")),)), Agent(Manners(hangs_up_after_turns=1)))
    assert (report.answered, report.ended_by, report.reason) == (True, "agent", "call ended")
    assert report.turns[0].first_audio is None


def test_events_are_told_as_they_happen() -> None:
    seen: list[CallerEvent] = []
    call(CallPlan((Say(voice("a")),)), watch=seen)
    assert [event.kind for event in seen] == [
        "answered",
        "began",
        "fell",
        "said",
        "began",
        "fell",
        "ended",
    ]
    assert seen[1].at == pytest.approx(0.0, abs=NEAR)
    assert seen[2].at == pytest.approx(1.0, abs=NEAR)


def test_a_recording_holds_both_sides_on_one_clock(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "call.wav"
    report = call(CallPlan((Say(voice("a")),)), record=path)
    samples, rate = soundfile.read(path, dtype="int16")
    assert rate == 8000
    sent, heard = samples[:, 0], samples[:, 1]
    loud = np.flatnonzero(np.abs(sent) > 1000) / 8000
    assert loud[-1] == pytest.approx(report.turns[0].speech_end, abs=0.011)
    assert loud[0] == pytest.approx(report.turns[0].speech_start, abs=0.011)
    after = np.flatnonzero(np.abs(heard[round(loud[-1] * 8000) :]) > 1000)[0] / 8000
    assert after == pytest.approx(report.turns[0].response or 0, abs=0.011)


# --- getting in --------------------------------------------------------------------------------


def test_a_signing_caller_gets_a_token_and_is_let_in() -> None:
    settings = TwilioSettings(auth_token="12345")
    agent = Agent()
    report = call(CallPlan(), agent, settings, auth_token="12345", agent="sales")
    assert report.went_well
    info = agent.calls[0].leg.info
    assert (info.agent, info.caller) == ("sales", "+15550100")


def test_what_is_sent_along_reaches_the_agent() -> None:
    agent = Agent()
    assert call(CallPlan(), agent, parameters={"customer": "Jones", "token": "mine"}).went_well
    assert agent.calls[0].leg.info.variables["customer"] == "Jones"


def test_a_public_address_is_signed_and_the_target_called() -> None:
    settings = TwilioSettings(auth_token="12345", public_url="https://gw.example")
    assert call(CallPlan(), settings=settings, auth_token="12345").went_well


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"auth_token": "another"}, "the webhook answered 403"),
        ({"auth_token": "wrong"}, "the webhook answered 403"),
        ({"webhook": False, "auth_token": "wrong"}, "the socket was refused: HTTP 403"),
        ({"webhook": False, "auth_token": "12345"}, "1008 no token"),
        ({"token": "stale", "auth_token": "12345"}, "1008 token unknown, used or too old"),
    ],
)
def test_callers_that_are_not_let_in(options: dict[str, Any], said: str) -> None:
    report = call(CallPlan(), settings=TwilioSettings(auth_token="12345"), **options)
    assert not report.answered
    assert (report.ended_by, report.reason) == ("failure", said)
    assert not report.went_well


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "the webhook answered with reject busy"),
        ({"refusal": "say", "refusal_text": "Later."}, "the webhook answered with say Later."),
        ({"refusal": "forward", "forward_to": "+49"}, "the webhook answered with dial"),
    ],
)
def test_a_busy_gateway(settings: dict[str, Any], said: str) -> None:
    agent = Agent(refusal=Refusal("busy"))
    report = call(CallPlan(), agent, TwilioSettings(**settings))
    assert (report.answered, report.reason) == (False, said)


@pytest.mark.parametrize("webhook", [True, False])
async def test_nobody_there(webhook: bool) -> None:
    target = parse_target("twilio:ws://127.0.0.1:9/twilio/stream")
    report = await place_call(CallPlan(), target, CallOptions(webhook=webhook))
    assert not report.answered
    assert report.ended_by == "failure"


# --- the network as it is, and many at once ------------------------------------------------------


def test_dropped_silence_leaves_jumps_and_the_call_goes_on() -> None:
    agent = Agent(Manners(greeting=0.5))
    plan = CallPlan((Say(voice("a")),), hang_up_after=5.0)
    call(plan, agent, network=NetworkSettings(drop_silent=True))
    frames = agent.calls[0].frames
    spoken = sum(len(frame.payload) for frame in frames)
    assert spoken == pytest.approx(8000, abs=320)
    assert frames[0].start == pytest.approx((0.5 + 0.7 + 0.5) * 8000, abs=400)


def test_loss_and_jitter() -> None:
    agent = Agent(Manners(greeting=0.0))
    network = NetworkSettings(loss=0.1, jitter=0.06)
    report = call(CallPlan(hang_up_after=10.0), agent, network=network)
    assert report.went_well
    starts = [frame.start for frame in agent.calls[0].frames]
    assert 420 < len(starts) < 480
    assert starts == sorted(set(starts))
    assert all(start % 160 == 0 for start in starts)


async def test_many_calls_at_a_rate() -> None:
    agent = Agent()
    reports: list[CallReport] = []
    begun: list[float] = []

    loop = asyncio.get_running_loop()
    start = loop.time()

    def watch(_: str, event: CallerEvent) -> None:
        if event.kind == "answered":
            begun.append(loop.time() - start)

    async with serving(answer=agent) as served:  # type: ignore[arg-type]
        await place_calls(
            CallPlan((Say(voice("a")),)),
            parse_target(f"twilio:{served.url}"),
            CallOptions(),
            10,
            4.0,
            reports.append,
            watch,
        )
    assert len({report.call_id for report in reports}) == 10
    assert all(report.went_well for report in reports)
    responses = [report.turns[0].response for report in reports]
    assert responses == pytest.approx([0.4] * 10, abs=NEAR)
    assert begun == pytest.approx([n / 4 for n in range(10)], abs=0.01)


@pytest.mark.parametrize(
    "text", ["", "tel:123", "twilio:", "twilio:http://x/", "twilio:ws:///x", "ws://h/twilio/stream"]
)
def test_targets_that_cannot_be_called(text: str) -> None:
    with pytest.raises(ValueError, match="twilio:"):
        parse_target(text)


def test_the_printed_document() -> None:
    document = call(CallPlan((Say(voice("a")),))).document()
    expected = [
        "call_id",
        "answered",
        "ended_by",
        "reason",
        "greeting",
        "turns",
        "cut_ins",
        "audio_after_clear_seconds",
        "missing_or_late_frames",
        "late_p99",
    ]
    assert list(document)[: len(expected)] == expected
    (turn,) = document["turns"]
    assert {"said", "speech_end", "first_audio", "response", "reply_seconds"} <= set(turn)
    assert document["greeting"].keys() == {"first_audio"}
    assert turn["response"] == round(turn["response"], 3)
