"""The bus is away for a minute while calls go on: is anything lost, out of order, or late?

`python -m bench.bus [--calls 10] [--away 60]` holds calls with a gateway that publishes on a real
NATS server, kills the server with its memory, and starts it again. Ends with 1 unless the stream
has every event of the log once and in its order, and as few ticks are late as before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import nats
import uvloop

from bench.calls.gateway_process import ROOT, GatewayProcess, gateway
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan, Say
from gateway.caller.sound import load
from gateway.caller.twilio import TwilioCaller

SERVER = Path(sys.executable).parent / "nats-server"
SPEECH = ROOT / "tests/data/speech/complete"
EVENTS = ("call_started", "turn_ended", "turn", "agent_spoke", "call_ended", "call_summary")
AROUND = 20.0
"""Seconds with the server before it goes away, and after it is back."""

START_SECONDS = 10.0


class Server:
    """A NATS server, which may go away."""

    def __init__(self, folder: Path) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            self._port = taken.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self._port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [str(SERVER), "-js", "-a", "127.0.0.1", "-p", str(self._port)]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [*command, "-sd", str(self._folder / "nats")], stdout=quiet, stderr=quiet
        )
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError("the NATS server never listened")

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def events(self) -> list[dict[str, Any]]:
        """Return what the stream has, in its order."""
        client = await nats.connect(self.url)
        try:
            stream = client.jetstream()
            state = (await stream.stream_info("parley-events")).state
            found = []
            for number in range(max(1, state.first_seq), state.last_seq + 1):
                message = await stream.get_msg("parley-events", seq=number)
                found.append(json.loads(message.data or b"{}"))
            return found
        finally:
            await client.close()


async def caller(to: GatewayProcess, number: int, seconds: float) -> None:
    """Call again and again, for so long, a sentence or two each time."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    files = sorted(SPEECH.glob("*.flac"))
    await asyncio.sleep(number * 0.7)
    while loop.time() < until:
        line = TwilioCaller(parse_target(to.target).address)
        said = load(files[number % len(files)], line.form.rate)
        plan = CallPlan((Say(said),), hang_up_after=min(12.0, max(3.0, until - loop.time())))
        phone = Phone(plan, line.form, NetworkSettings())
        await line.call(line.new_id(), phone)


def ticks(to: GatewayProcess) -> tuple[int, int]:
    """Return how many ticks there were, and how many of them were late."""
    health: Mapping[str, Any] = to.health()
    return int(health["ticks"]), int(health["late_ticks"])


async def measure(calls: int, away: float) -> int:
    """Hold the calls, take the server away, and compare log and stream."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="parley-bus-") as own:
        server = Server(Path(own))
        server.start()
        sections: dict[str, dict[str, object]] = {
            "bus": {"url": server.url, "events": list(EVENTS)},
            "limits": {"calls": calls + 5},
        }
        with gateway(sections) as running:
            async with asyncio.TaskGroup() as group:
                for number in range(calls):
                    group.create_task(caller(running, number, AROUND * 2 + away))
                await asyncio.sleep(AROUND)
                before = await asyncio.to_thread(ticks, running)
                server.kill()
                await asyncio.sleep(away)
                without = await asyncio.to_thread(ticks, running)
                server.start()
            while (await asyncio.to_thread(running.health))["calls"]:  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.2)
            await asyncio.sleep(1.0)  # their last lines
            wanted = [
                (line.call, line.event, line.fields.get("turn"))
                for line in running.lines()
                if line.event in EVENTS
            ]
            until = time.monotonic() + 30.0
            got: list[tuple[str, str, Any]] = []
            while time.monotonic() < until and len(got) < len(wanted):
                await asyncio.sleep(0.5)
                got = [
                    (each["call"], each["type"], each["data"].get("turn"))
                    for each in await server.events()
                ]
        server.kill()
    shares = [
        before[1] / max(before[0], 1),
        (without[1] - before[1]) / max(without[0] - before[0], 1),
    ]
    print(f"{calls} calls, the bus away for {away:.0f} s")
    print(f"  {len(wanted)} events in the log, {len(got)} in the stream")
    print(f"  ticks over 5 ms late: {shares[0]:.2%} with the bus, {shares[1]:.2%} without")
    for call in dict.fromkeys(call for call, _, _ in wanted):
        mine = [each for each in wanted if each[0] == call]
        if [each for each in got if each[0] == call] != mine:
            problems.append(f"{call}: its events are not in the stream as in the log")
    if len(got) != len(wanted):
        problems.append("events are missing, or twice in the stream")
    for problem in problems:
        print(f"✗ {problem}")
    if not problems:
        print("every event once, each call's in its order")
    return 1 if problems else 0


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(prog="python -m bench.bus", description=__doc__)
    options.add_argument("--calls", type=int, default=10)
    options.add_argument("--away", type=float, default=60.0, metavar="SECONDS")
    given = options.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measure(given.calls, given.away))


if __name__ == "__main__":
    sys.exit(main())
