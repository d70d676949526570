"""The gateway as a process: real sockets, real signals, the embedded models."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import soundfile

from bench.calls.gateway_process import ROOT, GatewayProcess, gateway
from gateway.caller.measure import Figures, measure
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan, CutIn, Say
from gateway.caller.sound import load
from gateway.caller.twilio import TwilioCaller
from gateway.doors.owner import proof
from gateway.observe.lines import LogLine

pytestmark = pytest.mark.live

SPEECH = ROOT / "tests/data/speech"
RECORDED = {"recording": {"enabled": True, "folder": "recordings"}}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[GatewayProcess]:
    with gateway({**RECORDED, "server": {"port": 0, "drain": 20.0}}, folder=tmp_path) as process:
        yield process


async def place(to: GatewayProcess, plan: CallPlan) -> tuple[str, Phone]:
    """Place one call and wait for its end."""
    line = TwilioCaller(parse_target(to.target).address)
    phone = Phone(plan, line.form, NetworkSettings())
    call_id = line.new_id()
    await line.call(call_id, phone)
    return call_id, phone


async def calls_in_progress(of: GatewayProcess, wanted: int) -> None:
    """Wait until so many calls are in progress."""
    for _ in range(400):
        if (await asyncio.to_thread(of.health))["calls"] == wanted:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"there were never {wanted} calls at once")


async def turned_away(to: GatewayProcess) -> bool:
    """Try one more call until it is refused; False if it never is."""
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        for _ in range(100):
            form = {"CallSid": "CA" + "7" * 32}
            asked = f"{to.address}/twilio/voice"
            answer = await client.post(asked, data=form, headers=proof(to.address))
            if "<Connect>" not in answer.text:
                return True
            await asyncio.sleep(0.05)
    return False


def reason(lines: list[LogLine]) -> list[tuple[str, str]]:
    """Return how calls ended, by the log."""
    ended = [line for line in lines if line.event == "call_ended"]
    return [(line.fields["ended_by"], line.fields["reason"]) for line in ended]


def test_a_call_of_two_turns_and_a_cut_in(running: GatewayProcess) -> None:
    opening = load(SPEECH / "demo/tel_ar40_caller_light.flac", 8000)
    cut = load(SPEECH / "complete/sti_c13_45e6e6bb.flac", 8000)
    plan = CallPlan(steps=(Say(opening), CutIn(cut, 0.5)), linger=0.3)
    call_id, phone = asyncio.run(place(running, plan))
    lines = running.ended(call_id)
    figures: Figures = measure(phone.tape)
    (turn,) = figures.turns
    assert turn.response is not None
    logged = [line.fields["response"] for line in lines if line.event == "turn"]
    assert logged[0] == pytest.approx(turn.response, abs=0.1)
    stages = next(line for line in lines if line.event == "turn").fields["stages"]
    assert sum(stages.values()) == pytest.approx(logged[0], abs=0.02)
    (cut_in,) = figures.cut_ins
    assert cut_in.stop_delay is not None
    assert cut_in.stop_delay < 1.0
    assert figures.audio_after_clear_seconds == 0
    interrupted = [line for line in lines if line.event == "interrupted" and line.fields["heard"]]
    heard = interrupted[0].fields["heard"]
    assert heard == pytest.approx(cut_in.heard_of_reply, abs=0.1)
    assert reason(lines) == [("caller", "caller hung up")]


@pytest.mark.real_time
async def test_calls_in_progress_finish_after_sigterm(running: GatewayProcess) -> None:
    async with asyncio.TaskGroup() as group:
        plan = CallPlan(hang_up_after=4.0)
        calls = [group.create_task(place(running, plan)) for _ in range(2)]
        await calls_in_progress(running, 2)
        running.process.send_signal(signal.SIGTERM)
        assert await turned_away(running)
    calls = [call.result() for call in calls]
    assert [phone.outcome for _, phone in calls] == [("caller", "done")] * 2
    assert running.process.wait(20) == 0
    assert len(reason(running.lines())) == 2


@pytest.mark.wide
def test_past_the_drain_limit_calls_are_ended_with_a_word(tmp_path: Path) -> None:
    with gateway({"server": {"port": 0, "drain": 0.5}}, folder=tmp_path) as process:

        async def story() -> tuple[str, Phone]:
            async with asyncio.TaskGroup() as group:
                call = group.create_task(place(process, CallPlan(hang_up_after=30.0)))
                await calls_in_progress(process, 1)
                await asyncio.sleep(1.0)
                process.process.send_signal(signal.SIGTERM)
            return call.result()

        call_id, phone = asyncio.run(story())
        assert phone.outcome is not None
        assert phone.outcome[0] == "agent"
        assert process.process.wait(20) == 0
        lines = process.lines(call_id)
    assert reason(lines) == [("agent", "drained")]
    said = [line for line in lines if line.event == "agent_spoke"]
    assert said[-1].fields["kind"] == "goodbye"
    assert "end this call" in said[-1].fields["text"]


@pytest.mark.real_time
async def test_a_killed_process_leaves_a_log_and_a_recording(running: GatewayProcess) -> None:
    begun = time.monotonic()
    async with asyncio.TaskGroup() as group:
        call = group.create_task(place(running, CallPlan(hang_up_after=30.0)))
        await calls_in_progress(running, 1)
        await asyncio.sleep(4.0)
        running.process.kill()
        await call
    lines = running.lines()
    assert lines[0].event == "call_started"
    (recording,) = running.recordings.rglob("*.wav")
    sound, rate = soundfile.read(recording, dtype="int16")
    assert rate == 8000
    assert sound.shape[1] == 2
    assert 1.0 < len(sound) / rate < time.monotonic() - begun
    assert sound[:, 1].any()
    sections = {**RECORDED, "server": {"port": 0, "drain": 20.0}}
    with gateway(sections, folder=running.folder) as restarted:
        finished = restarted.lines(lines[0].call)
    assert reason(finished) == [("failure", "process lost")]
    assert [line.event for line in finished][-1] == "call_summary"


@pytest.mark.wide
def test_a_recording_that_cannot_be_written_is_told_and_the_call_goes_on(tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("no folder")
    with gateway(RECORDED, folder=tmp_path) as process:
        call_id, phone = asyncio.run(place(process, CallPlan(hang_up_after=4.0)))
        lines = process.ended(call_id)
    assert phone.outcome == ("caller", "done")
    assert measure(phone.tape).greeting.first_audio is not None
    (fault,) = [line for line in lines if line.event == "fault"]
    assert fault.fields["part"] == "recording"
    assert fault.fields["reason"].endswith("File exists")


def test_what_a_gateway_keeps_is_for_its_owner_alone(running: GatewayProcess) -> None:
    call_id, _ = asyncio.run(place(running, CallPlan(hang_up_after=3.0)))
    running.ended(call_id)
    assert running.stop() == 0
    (recording,) = running.recordings.rglob("*.wav")
    for path, mode in ((running.log, 0o600), (recording, 0o600), (recording.parent, 0o700)):
        assert path.stat().st_mode & 0o777 == mode, path


@pytest.mark.real_time
@pytest.mark.wide
async def test_a_peer_that_sends_no_whole_request_is_let_go(running: GatewayProcess) -> None:
    host, port = running.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST /twilio/voice HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\na=")
    said = await reader.read()
    writer.close()
    call = await place(running, CallPlan(hang_up_after=2.0))
    assert call[1].outcome == ("caller", "done")
    said = said
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"Traceback" not in running.messages.read_bytes()
