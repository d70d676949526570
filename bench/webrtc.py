"""What calls from web pages cost: CPU of the line per call and second, lateness, what dominates.

The line runs in a process of its own, on one core, and its agent sends back what it hears, as in
aiortc's echo example, which costs 130 to 170 ms per call and second.
The callers, headless ones that speak, run in a second process on the other cores.

A frame is late by the same rule where it leaves the gateway and where it arrives; what is late at
the callers alone, or by no more than their own clocks, is late by the callers' process.
How often the gateway was put off its core says whether the machine had something else to do.
Run: `python -m bench.webrtc [--calls 20] [--seconds 20]`.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import multiprocessing.connection
import os
import resource
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import structlog
import uvicorn
import uvloop
from starlette.applications import Starlette

from bench.sampler import Sampler
from gateway.call.pacer import Pacer
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.plan import CallPlan, Say
from gateway.caller.sound import load, recording
from gateway.caller.webrtc import WebrtcCaller
from gateway.doors.judgement import Doors, Keys
from gateway.doors.owner import settled_owner
from gateway.lines.webrtc.line import WebrtcLine
from gateway.lines.webrtc.settings import WebrtcSettings
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Free, Leg, LineEvent, Refusal, no_place
from media.frame import FRAME_SECONDS, AudioFrame
from media.opus import CLOCK

SPEECH = Path(__file__).parent.parent / "tests/data/speech/complete"

LATE = 0.005
"""Seconds after its schedule from which a frame is late."""

SETTLE_SECONDS = 3.0
"""After the last call has begun, before anything is counted."""


class Echo:
    """An agent that sends back what it hears."""

    def __init__(self, leg: Leg, pacer: Pacer) -> None:
        self._leg = leg
        self._pacer = pacer
        self.left: list[float] = []
        "when each frame left, in the loop's seconds"
        leg.attach(self)
        pacer.add(self)

    def hear(self, frame: AudioFrame) -> None:
        playout = self._leg.playout
        playout.push(1, playout.form.encode(frame.pcm))

    def notice(self, event: LineEvent) -> None:
        self._pacer.remove(self)

    def tick(self, now: float) -> None:
        playout = self._leg.playout
        self._leg.send(playout.pull(now))
        self._leg.poll(now)
        self.left.append(time.monotonic())
        playout.poll(now)


class Agents:
    """Answers every call with an echo."""

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self.echoes: list[Echo] = []

    def admit(self, agent: str) -> Refusal | None:
        return None

    def take(self) -> Free:
        return no_place

    def knows(self, agent: str) -> bool:
        return agent != "nobody"

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        raise AssertionError(call)

    def begin(self, leg: Leg) -> None:
        self.echoes.append(Echo(leg, self.pacer))


# --- the server's process ------------------------------------------------------------------------


def serve(pipe: multiprocessing.connection.Connection, core: int | None, calls: int) -> None:
    """Run the line until told to stop; say the figures of what was between `count` and `stop`."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("warning"))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(pipe, calls))


async def _serve(pipe: multiprocessing.connection.Connection, calls: int) -> None:
    pacer = Pacer(time.sleep)
    agents = Agents(pacer)
    owner = settled_owner()
    line = WebrtcLine(WebrtcSettings(pending=calls), agents, "echo", Doors(Keys(owner.token)))
    config = uvicorn.Config(
        Starlette(routes=line.routes()), port=0, loop="none", lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    sampler = Sampler()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        group.create_task(line.run(lambda: None))
        pacer.start()
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        pipe.send(server.servers[0].sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)
        before, put_off, begun = _cpu(), _put_off(), time.monotonic()
        for echo in agents.echoes:
            echo.left.clear()
        ticks, over = pacer.lateness.ticks, pacer.lateness.over_5_ms
        pacer.lateness.worst = 0.0
        sampler.start()
        await asyncio.to_thread(pipe.recv)
        sampler.stop()
        pipe.send(
            {
                "cpu": _cpu() - before,
                "seconds": time.monotonic() - begun,
                "calls": len(line.calls.sessions),
                "ticks": pacer.lateness.ticks - ticks,
                "late": pacer.lateness.over_5_ms - over,
                "worst": pacer.lateness.worst,
                "put_off": _put_off() - put_off,
                "left": np.concatenate([late(echo.left) for echo in agents.echoes]),
                "samples": sampler.counts,
            }
        )
        pacer.stop()
        line.stop()
        server.should_exit = True


def late(times: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return how late each of a call's frames was, by the earliest schedule that they kept."""
    offsets = np.array(times) - np.arange(len(times)) * FRAME_SECONDS
    return offsets - offsets.min()


def _put_off() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


# --- the callers -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Held:
    """One call, as its caller had it."""

    packets: list[tuple[float, int]]
    "when each came, and its RTP time"
    lateness: list[float]
    "of each tick of the caller's own clock"


async def _call(port: int, number: int, seconds: float, sound: bytes, rate: int) -> Held:
    packets: list[tuple[float, int]] = []
    caller = WebrtcCaller(
        f"http://127.0.0.1:{port}/webrtc/echo",
        rate=rate,
        arrived=lambda stamp: packets.append((time.monotonic(), stamp)),
    )
    plan = CallPlan((Say(recording("speech", sound, rate)),), hang_up_after=seconds, greeting=0.0)
    phone = Phone(plan, caller.form, NetworkSettings())
    await caller.call(f"W{number}", phone)
    return Held(packets, phone.schedule.lateness)


async def _calls(
    pipe: multiprocessing.connection.Connection, port: int, calls: int, seconds: float
) -> dict[str, object]:
    rate = 24000
    one = b"".join(load(path, rate).pcm for path in sorted(SPEECH.glob("*.flac"))[:3])
    sound = one * (1 + int((seconds + 20) * rate * 2 / len(one)))
    begin = 0.1 * calls + SETTLE_SECONDS
    figures: dict[str, object] = {}
    held: list[Held] = []

    async def one_call(number: int) -> None:
        await asyncio.sleep(0.1 * number)
        length = begin + seconds + 1 - 0.1 * number
        held.append(await _call(port, number, length, sound, rate))

    async def watch() -> None:
        await asyncio.sleep(begin)
        pipe.send("count")
        await asyncio.sleep(seconds)
        pipe.send("stop")
        figures.update(await asyncio.to_thread(pipe.recv))

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        for number in range(calls):
            group.create_task(one_call(number))
    frames = round(seconds / FRAME_SECONDS)
    spare = round(0.5 / FRAME_SECONDS)  # a call lasts a second longer than what is counted
    counted = slice(-frames - spare, -spare)
    figures["arrived"] = np.concatenate([_arrived(one.packets[counted]) for one in held])
    figures["callers"] = np.concatenate([np.array(one.lateness[counted]) for one in held])
    return figures


def _arrived(packets: Sequence[tuple[float, int]]) -> npt.NDArray[np.float64]:
    """Return how late each packet came, by the earliest schedule that they kept."""
    at, stamps = np.array(packets, np.float64).T
    offsets = at - np.unwrap(stamps, period=float(1 << 32)) / CLOCK
    return offsets - offsets.min()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    core = cores[-1] if len(cores) > 1 else None
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, core, args.calls)
    )
    process.start()
    port = ours.recv()
    if len(cores) > 1:
        os.sched_setaffinity(0, set(cores[:-1]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        figures = runner.run(_calls(ours, port, args.calls, args.seconds))
    process.join(10)
    _print(figures)


def _print(figures: dict[str, object]) -> None:
    calls, cpu = int(str(figures["calls"])), float(str(figures["cpu"]))
    seconds = float(str(figures["seconds"]))
    counts = figures["samples"]
    assert isinstance(counts, Counter)
    whole = counts.total()
    print(f"{calls} calls for {seconds:.0f} s, each speaking and hearing its echo, on one core")
    print(f"CPU per call and second: {1000 * cpu / calls / seconds:.1f} ms", end="")
    print(f" (the core is busy for {100 * cpu / seconds:.0f} %)")
    print(
        f"ticks of 20 ms: {figures['ticks']}, over 5 ms late: {figures['late']}, "
        f"worst {1000 * float(str(figures['worst'])):.1f} ms"
    )
    for name, said in (
        ("left", "frames that left the gateway"),
        ("arrived", "frames that arrived"),
        ("callers", "ticks of the callers' own clocks"),
    ):
        print(f"{said}: {_lateness(figures[name])}")
    print(f"the gateway was put off its core {figures['put_off']} times")
    for label, count in counts.most_common(14):
        own = 1000 * cpu * count / whole / calls / seconds
        print(f"  {own:5.2f} ms  {100 * count / whole:3.0f} %  {label}")


def _lateness(found: object) -> str:
    assert isinstance(found, np.ndarray)
    over = int((found > LATE).sum())
    return (
        f"{len(found)}, over {1000 * LATE:.0f} ms late: {over} ({100 * over / len(found):.2f} %), "
        f"99th percentile {1000 * np.percentile(found, 99):.1f} ms, "
        f"worst {1000 * found.max():.1f} ms"
    )


if __name__ == "__main__":
    main()
