"""Who is let in, why others are not, and how calls end when the process is to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.call.pacer import Pacer
from gateway.call.refusals import BURST, Missed
from gateway.call.switchboard import AdmissionSettings, Switchboard
from gateway.events import CallInfo
from gateway.lines.sip.admission import rejection
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Refusal
from tests.support.cascade_call import FakeLeg
from tests.support.one_call import make


@dataclass
class Serving:
    """A switchboard at work."""

    board: Switchboard
    pacer: Pacer
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    lines: list[dict[str, Any]] = field(default_factory=list)
    "what was logged, once it is over"


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Serving]:
    """Serve, and stop in a hurry in the end."""
    pacer = Pacer()
    numbers = iter(range(100))
    board = Switchboard(
        pacer,
        lambda leg: make(next(numbers))[0],
        lambda agent: agent == "test",
        AdmissionSettings(**settings),
    )
    it = Serving(board, pacer)
    pacer.start()
    with capture_logs() as lines:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(board.run(it.stop, it.hurry))
            await asyncio.sleep(0.1)
            yield it
            it.stop.set()
            it.hurry.set()
            await running
    pacer.stop()
    it.lines += [dict(line) for line in lines]


def one_call(board: Switchboard) -> None:
    board.begin(make(0)[0].leg)


async def test_a_call_past_the_limit_is_told_the_limit() -> None:
    async with serving(calls=1, retry_after=7) as it:
        assert it.board.admit("test") is None
        one_call(it.board)
        await asyncio.sleep(0.1)
        assert it.board.admit("test") == Refusal("busy", 7, "All lines are busy.", "calls")
    (refused,) = [line for line in it.lines if line["event"] == "call_refused"]
    assert (refused["cause"], refused["limit"], refused["calls"]) == ("calls", 1, 1)


async def test_a_call_that_would_make_sound_late_is_told_so() -> None:
    async with serving(calls=9) as it:
        one_call(it.board)
        await asyncio.sleep(0.1)
        it.pacer.recent.extend([0.0] * 225 + [0.02] * 25)
        refusal = it.board.admit("test")
        assert refusal is not None
        assert refusal.cause == "late"
        assert it.board.would_refuse() == refusal
    (refused,) = [line for line in it.lines if line["event"] == "call_refused"]
    assert (refused["cause"], refused["late_share"]) == ("late", 0.1)


@pytest.mark.parametrize("cause", ["calls", "late", "connecting", "ports"])
def test_sip_says_the_cause_as_a_warning(cause: Any) -> None:
    said = rejection(Refusal("busy", 5, "All lines are busy.", cause), "a")
    assert said.code == 503
    assert dict(said.headers)["Warning"].startswith('399 parley "')
    assert rejection(Refusal("busy", 0, "", cause), "a").code == 486


@pytest.mark.parametrize("hurries", [True, False])
async def test_a_drain_ends_when_it_is_hurried_or_its_time_is_up(hurries: bool) -> None:
    took: list[float] = []
    async with serving(drain_seconds=6.0) as it:
        loop = asyncio.get_running_loop()
        one_call(it.board)
        await asyncio.sleep(1)
        begun = loop.time()
        it.stop.set()
        await asyncio.sleep(2)
        assert len(it.board.calls) == 1
        if hurries:
            it.hurry.set()
        while it.board.calls and it.board.calls[0].conversation.state.end.phase == "open":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        took.append(loop.time() - begun)
    assert took[0] == pytest.approx(2 if hurries else 6, abs=1)


async def test_a_drain_ends_with_its_last_call() -> None:
    async with serving(drain_seconds=200.0) as it:
        it.stop.set()
        await asyncio.sleep(0.1)
        refusal = it.board.would_refuse()
        assert refusal is not None
        assert refusal.kind == "draining"
    assert [line["event"] for line in it.lines] == ["draining"]


async def test_the_info_of_a_sip_call_has_its_own_id_in_the_log() -> None:
    from gateway.events import CallerGone

    page = {"origin": "https://www.example.com", "metadata": {"order": "A-17"}}
    own = {"sip_call_id": "abc@far"}
    info = CallInfo("c1", "sip", "test", negotiated="opus", variables=own, page=page)
    call, log = make(1, info=info)
    async with asyncio.TaskGroup() as group:
        group.create_task(call.run())
        await asyncio.sleep(0.1)
        call.post(CallerGone("done"))
    assert [line.get("sip_call_id") for line in log.of("call_started")][-1] == "abc@far"
    assert [line.get("codec") for line in log.of("call_started")][-1] == "opus"
    assert [line.get("page") for line in log.of("call_started")][-1] == page


async def test_a_call_that_cannot_be_made_ends_its_leg_and_nothing_else() -> None:
    ended: list[str] = []

    class Leg(FakeLeg):
        def hang_up(self, reason: str) -> None:
            ended.append(reason)

    def cannot(leg: object) -> Any:
        raise KeyboardInterrupt

    with capture_logs():
        board = Switchboard(Pacer(), cannot, lambda agent: True, AdmissionSettings())
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(board.run(stop))
            await asyncio.sleep(0.1)
            board.begin(Leg(CallInfo("c1", "twilio", "test")))
            stop.set()
    assert ended == ["internal error"]


async def test_places_that_are_kept_count_until_they_are_free() -> None:
    async with serving(calls=3) as it:
        kept = [it.board.take() for _ in range(3)]
        refusal = it.board.admit("test")
        assert refusal is not None
        assert refusal.cause == "calls"
        kept[0]()
        kept[0]()  # once more is harmless
        assert it.board.admit("test") is None
        one_call(it.board)
        await asyncio.sleep(0.1)
        assert it.board.admit("test") is not None


async def test_agents_are_known_without_asking_for_a_place() -> None:
    async with serving() as it:
        assert it.board.knows("test")
        assert not it.board.knows("nobody")
        assert not it.board.refused


async def test_missed_calls_are_written_down_and_counted_and_a_flood_is_summed_up() -> None:
    written: list[tuple[float, Missed]] = []
    refused = CallRefusedLogged(line="sip", direction="inbound", cause="late")
    failed = CallFailedLogged(line="sip", outcome="busy", agent="a", callee="b")

    loop = asyncio.get_running_loop()

    def write(missed: Missed) -> None:
        written.append((loop.time(), missed))

    board = Switchboard(
        Pacer(), lambda leg: make(0)[0], lambda name: True, AdmissionSettings(), write
    )
    for _ in range(BURST + 30):
        board.missed(refused)
    board.missed(failed)
    await asyncio.sleep(5.0)
    board.missed(refused)
    assert board.refused == {"late": BURST + 31, "busy": 1}
    began = written[0][0]
    told = [missed for _, missed in written]
    summed = CallRefusedLogged(line="sip", direction="inbound", cause="late", count=30)
    assert told == [*[refused] * BURST, failed, summed, refused]
    assert written[-2][0] - began == pytest.approx(1.0)
