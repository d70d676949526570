"""How many SIP calls one core carries: SIPp as the far end, a tone as the agent, no detector.

`python -m bench.sip` prints two tables: calls at once with sound in both directions, and call
set-ups a second. The line runs in a process of its own, pinned to one core; SIPp has the others.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gateway.call.pacer import Pacer
from gateway.doors.judgement import Doors, Keys
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Free, Leg, LineEvent, Refusal, no_place
from media.codec import wire_form
from media.frame import AudioFrame

SCENARIO = Path(__file__).parent / "sip_load.xml"
GOAL_SHARE, GOAL_LATE, GOAL_CPU = 0.99, 0.005, 0.005
"""99 % of frames within 5 ms of their schedule, at half a percent of a core for each call."""
SETTLE = 3.0
"""Seconds at either end of the measurement in which calls come and go."""


def _tone(seconds: float) -> bytes:
    at = np.arange(round(8000 * seconds)) / 8000
    pcm = (8000 * np.sin(2 * np.pi * 440 * at)).astype("<i2").tobytes()
    return wire_form("pcmu", 8000).encode(pcm)


# --- the line, in its own process ----------------------------------------------------------------


class _Talker:
    """The agent of one call: plays a tone, hears, and counts."""

    sound = _tone(1.0)

    def __init__(self, leg: Leg, over: Any) -> None:
        self._leg = leg
        self._over = over
        self.frames = 0

    def hear(self, frame: AudioFrame) -> None:
        """Count the caller's frames."""
        self.frames += 1

    def notice(self, event: LineEvent) -> None:
        """Leave when the caller does."""
        if type(event).__name__ == "CallerGone":
            self._over(self)

    def tick(self, now: float) -> None:
        """Do what a call does every 20 ms."""
        playout = self._leg.playout
        if playout.waiting < 4000:
            playout.push(1, self.sound)
        self._leg.send(playout.pull(now))
        self._leg.poll(now)
        playout.poll(now)


class _Answer:
    """Takes every call."""

    def __init__(self) -> None:
        self.pacer = Pacer(time.sleep)
        self.calls = 0
        self.most = 0
        self.heard = 0

    def admit(self, agent: str) -> Refusal | None:
        """Say yes."""
        return None

    def take(self) -> Free:
        return no_place

    def knows(self, agent: str) -> bool:
        return agent != "nobody"

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        """Stop: none is refused here."""
        raise AssertionError(call)

    def begin(self, leg: Leg) -> None:
        """Talk."""
        talker = _Talker(leg, self._over)
        leg.attach(talker)
        self.pacer.add(talker)
        self.calls += 1
        self.most = max(self.most, self.calls)

    def _over(self, talker: _Talker) -> None:
        self.pacer.remove(talker)
        self.calls -= 1
        self.heard += talker.frames


def _serve(port: int) -> None:
    import uvloop

    os.sched_setaffinity(0, {0})

    async def main() -> None:
        answer = _Answer()
        settings = SipSettings(host="127.0.0.1", udp=port, tcp=None, rate=10_000.0)
        line = SipLine(settings, answer, Doors(Keys()), default_agent="tone")
        answer.pacer.start()
        async with asyncio.TaskGroup() as group:
            group.create_task(line.run(lambda: None))
            while True:
                late = answer.pacer.lateness
                print(
                    json.dumps(
                        {
                            "at": time.monotonic(),
                            "cpu": time.process_time(),
                            "calls": answer.calls,
                            "ticks": late.ticks,
                            "late": late.over_5_ms,
                            "worst": late.worst,
                            "heard": answer.heard,
                        }
                    ),
                    flush=True,
                )
                await asyncio.sleep(1.0)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


# --- SIPp ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What SIPp and the line counted."""

    calls: int
    failed: int
    repeated: int
    "messages that SIPp had to send again"
    samples: list[dict[str, float]]


def _load(calls: int, at_once: int, rate: float, seconds: float, port: int) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tone.ul").write_bytes(_tone(10.0))
        serve = subprocess.Popen(
            [sys.executable, "-m", "bench.sip", "--serve", str(port)], stdout=subprocess.PIPE
        )
        assert serve.stdout is not None
        first = serve.stdout.readline()  # it listens
        command = [
            *("sipp", f"127.0.0.1:{port}", "-sf", str(SCENARIO), "-s", "bot"),
            *("-i", "127.0.0.1", "-mi", "127.0.0.1", "-p", "0", "-nostdin"),
            *("-m", str(calls), "-l", str(at_once), "-r", f"{rate:g}"),
            *("-d", f"{seconds * 1000:.0f}", "-trace_stat", "-stf", "stat.csv", "-fd", "1"),
        ]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
        serve.terminate()
        lines = [first, *serve.stdout.readlines()]
        serve.wait()
        with (folder / "stat.csv").open() as file:
            last = list(csv.DictReader(file, delimiter=";"))[-1]
    return Outcome(
        int(last["SuccessfulCall(C)"]),
        int(last["FailedCall(C)"]),
        int(last["Retransmissions(C)"]),
        [json.loads(line) for line in lines if line.strip().startswith(b"{")],
    )


def _steady(samples: list[dict[str, float]], calls: int) -> tuple[float, float, float]:
    """Return share of a core, share of late ticks and worst lateness while all calls were up."""
    up = [one for one in samples if one["calls"] == calls]
    inner = [one for one in up if up[0]["at"] + SETTLE <= one["at"] <= up[-1]["at"] - SETTLE]
    first, last = inner[0], inner[-1]
    seconds = last["at"] - first["at"]
    ticks = last["ticks"] - first["ticks"]
    late = last["late"] - first["late"]
    return (last["cpu"] - first["cpu"]) / seconds, late / ticks, last["worst"]


def main() -> int:
    """Run both, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, default=100, help="at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each call")
    parser.add_argument("--set-ups", type=float, default=50.0, help="a second")
    parser.add_argument("--set-up-seconds", type=float, default=30.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.serve:
        _serve(args.serve)
        return 0
    sound = _load(args.calls, args.calls, 20.0, args.seconds + 10.0, 15_090)
    core, late, worst = _steady(sound.samples, args.calls)
    count = round(args.set_ups * args.set_up_seconds)
    quick = _load(count, 2 * count, args.set_ups, 1.0, 15_092)
    figures = {
        "calls": args.calls,
        "core": core,
        "core_per_call": core / args.calls,
        "on_time": 1 - late,
        "worst_late": worst,
        "failed": sound.failed,
        "repeated": sound.repeated,
        "set_ups": quick.calls,
        "set_ups_failed": quick.failed,
        "set_ups_repeated": quick.repeated,
    }
    if args.json:
        print(json.dumps(figures))
    else:
        _print(figures, args.set_ups, count)
    good = (
        figures["core_per_call"] <= GOAL_CPU
        and figures["on_time"] >= GOAL_SHARE
        and not sound.failed + quick.failed + sound.repeated
    )
    return 0 if good else 1


def _print(figures: dict[str, float], rate: float, count: int) -> None:
    console = Console()
    table = Table(title=f"{figures['calls']} G.711 calls at once, sound both ways, one core")
    for name in ("core", "per call", "frames within 5 ms", "worst", "failed", "sent again"):
        table.add_column(name, justify="right")
    table.add_row(
        f"{figures['core']:.1%}",
        f"{figures['core_per_call']:.3%}",
        f"{figures['on_time']:.2%}",
        f"{figures['worst_late'] * 1000:.1f} ms",
        f"{figures['failed']:.0f}",
        f"{figures['repeated']:.0f}",
    )
    console.print(table)
    table = Table(title=f"{rate:g} call set-ups a second, {count} in all")
    for name in ("answered and ended", "failed", "sent again"):
        table.add_column(name, justify="right")
    table.add_row(
        *(f"{figures[key]:.0f}" for key in ("set_ups", "set_ups_failed", "set_ups_repeated"))
    )
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
