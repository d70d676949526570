"""Random faults over calls on all lines, for as long as is asked for.

`python -m bench.faults [--minutes 30] [--calls 20] [--seed N]` holds so many calls at once over
Twilio's socket, SIP and WebRTC, with an agent whose model's server and tools fail in every way,
callers who vanish, and a machine and strangers that do what they like. Ends with 1 unless every
call has its end in the log, once, every recording can be read, and memory, descriptors and
threads are as they were.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import soundfile
import structlog
import uvloop

from bench.calls.gateway_process import ROOT, GatewayProcess, gateway
from bench.calls.load import memory
from bench.faults.mischief import Mischief
from gateway.caller.network import NetworkSettings
from gateway.caller.place import CallOptions, Target, parse_target, place_call
from gateway.caller.plan import CallPlan, CutIn, Keys, Say
from gateway.caller.sound import load
from gateway.doors.owner import settled_owner
from gateway.observe.lines import LogLine, parse

SPEECH = ROOT / "tests/data/speech/complete"
HERE = Path(__file__).parent

LINES = ("twilio", "twilio", "sip", "sip", "webrtc")
"""Of every five callers."""

MEGABYTES, DESCRIPTORS, THREADS = 40.0, 10, 4
"""What may be held more at the end than after the first part."""

QUIET_SECONDS = 60.0
"""How long the last calls of a part may take to end."""


@dataclass(slots=True)
class Holdings:
    """What a process without calls holds."""

    memory: float
    files: int
    threads: int

    @classmethod
    def of(cls, running: GatewayProcess) -> Holdings:
        """Look at a process."""
        place = Path(f"/proc/{running.process.pid}")
        files, threads = len(os.listdir(place / "fd")), len(os.listdir(place / "task"))
        return cls(memory(running), files, threads)


@dataclass(slots=True)
class Callers:
    """Keeps so many calls up at once; `ended` counts how they ended."""

    running: GatewayProcess
    sip_port: int
    chance: random.Random
    ended: Counter[str] = field(default_factory=Counter)

    async def hold(self, calls: int, seconds: float) -> None:
        """Hold calls for so long, each caller calling again when a call is over."""
        until = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            for number in range(calls):
                group.create_task(self._caller(LINES[number % len(LINES)], until))

    async def _caller(self, line: str, until: float) -> None:
        loop, chance = asyncio.get_running_loop(), self.chance
        while loop.time() < until:
            await asyncio.sleep(chance.uniform(0.0, 3.0))
            target = self._target(line)
            options = CallOptions(
                token=settled_owner().token if line == "webrtc" else "",
                network=NetworkSettings(
                    loss=chance.choice((0.0, 0.0, 0.1)), seed=chance.getrandbits(20)
                ),
            )
            try:
                async with asyncio.timeout(chance.uniform(3.0, 40.0)):  # some vanish like that
                    report = await place_call(self._plan(target), target, options)
                self.ended[report.ended_by] += 1
            except TimeoutError:
                self.ended["vanished"] += 1
            except (OSError, RuntimeError) as error:
                self.ended[type(error).__name__] += 1
                await asyncio.sleep(0.5)

    def _target(self, line: str) -> Target:
        address = self.running.address
        match line:
            case "sip":
                return parse_target(f"sip:bot@127.0.0.1:{self.sip_port}")
            case "webrtc":
                return parse_target(f"webrtc:{address}/webrtc/faulty")
            case _:
                return parse_target(self.running.target)

    def _plan(self, target: Target) -> CallPlan:
        chance = self.chance
        files = sorted(SPEECH.glob("*.flac"))
        steps = [Say(load(chance.choice(files), target.rate)) for _ in range(chance.randrange(3))]
        cut = load(chance.choice(files), target.rate)
        keys = (Keys("12#", chance.uniform(1, 5)),) if chance.random() < 0.3 else ()
        more = (CutIn(cut, chance.uniform(0.2, 2.0)),) if chance.random() < 0.4 else ()
        return CallPlan((*steps, *more), keys, hang_up_after=chance.choice((None, 8.0, 20.0)))


async def quiet(running: GatewayProcess) -> Holdings:
    """Wait until no call is in progress, and look at what is held then."""
    until = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        try:
            if not (await asyncio.to_thread(running.health))["calls"]:
                break
        except OSError:
            pass
        await asyncio.sleep(0.5)
    await asyncio.sleep(5.0)
    return Holdings.of(running)


def log_lines(folder: Path) -> tuple[list[LogLine], int]:
    """Read every line of every file of the log, and count those that are torn."""
    found, torn = [], 0
    for path in sorted(folder.glob("calls.jsonl*")):
        if path.suffix == ".lock" or path.name.endswith(".lock.kept"):
            continue
        for raw in path.read_bytes().splitlines():
            try:
                found.append(parse(raw))
            except ValueError:
                torn += 1
    return found, torn


def problems(folder: Path, early: Holdings, late: Holdings) -> list[str]:
    """Say what does not hold."""
    lines, torn = log_lines(folder / "log")
    begun = Counter(line.call for line in lines if line.event == "call_started")
    ended = Counter(line.call for line in lines if line.event == "call_ended")
    found = [f"{torn} lines of the log are torn"] if torn else []
    found += [f"{call} has no end in the log" for call in begun if not ended[call]]
    found += [f"{call} ended {n} times" for call, n in ended.items() if n > 1]
    for path in (folder / "recordings").rglob("*.wav"):
        try:
            soundfile.info(path)
        except soundfile.LibsndfileError as error:
            found.append(f"{path.name} cannot be read: {error}")
    for what, before, after, most in (
        ("MB of memory", early.memory, late.memory, MEGABYTES),
        ("descriptors", early.files, late.files, DESCRIPTORS),
        ("threads", early.threads, late.threads, THREADS),
    ):
        if after - before > most:
            found.append(f"{after - before:.0f} {what} more than after the first part")
    return found


@contextmanager
def model_server(seed: int) -> Iterator[int]:
    """Run the model's server in a process of its own; give its port."""
    command = [sys.executable, "-m", "bench.faults.server", str(seed)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def free_port() -> int:
    """Return a UDP port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def soak(folder: Path, minutes: float, calls: int, seed: int) -> list[str]:
    """Hold the calls, and print what came of them."""
    chance, sip_port = random.Random(seed), free_port()
    agents = folder / "agents"
    agents.mkdir()
    with model_server(seed) as port:
        text = (HERE / "agents/faulty.toml").read_text()
        (agents / "faulty.toml").write_text(text.replace("127.0.0.1:1/", f"127.0.0.1:{port}/"))
        (agents / "faulty.py").write_text((HERE / "agents/faulty.py").read_text())
        sections = {
            "agents": {"default": "faulty"},
            "log": {"path": "log/calls.jsonl"},
            "recording": {"enabled": True},
            "limits": {"calls": calls + 5},
            "sip": {
                "enabled": True, "host": "127.0.0.1", "udp": sip_port, "tcp": 0, "open": True,
            },
        }  # fmt: skip
        with gateway(sections, agents=agents, folder=folder) as running:
            callers = Callers(running, sip_port, chance)
            mischief = Mischief(running, sip_port, chance)
            early: Holdings | None = None
            parts = 4
            for part in range(parts):
                async with asyncio.TaskGroup() as group:
                    doing = group.create_task(mischief.run())
                    await callers.hold(calls, minutes * 60 / parts)
                    doing.cancel()
                held = await quiet(running)
                early = early or held
                print(
                    f"part {part + 1} of {parts}: {callers.ended.total()} calls, "
                    f"{held.memory:.0f} MB, {held.files} descriptors, {held.threads} threads",
                    flush=True,
                )
            assert early is not None
            status = running.stop(seconds=60.0)
        print(f"  ended by: {json.dumps(dict(callers.ended.most_common()))}")
        print(f"  done to it: {json.dumps(mischief.done)}")
        lines, _ = log_lines(folder / "log")
        faults = Counter(str(line.fields["part"]) for line in lines if line.event == "fault")
        print(f"  in the log: {len(lines)} lines, faults {json.dumps(dict(faults.most_common()))}")
        found = problems(folder, early, held)
        return found if status == 0 else [*found, f"the gateway ended with {status}"]


def main() -> int:
    """Run and judge."""
    options = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--calls", type=int, default=20)
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    options.add_argument("--keep", type=Path, help="leave log and recordings in this folder")
    given = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.ERROR)  # callers who vanish leave sockets that are written to
    print(f"{given.calls} calls for {given.minutes:g} minutes, seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="parley-faults-") as own:
        folder = given.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            found = runner.run(soak(folder, given.minutes, given.calls, given.seed))
    for problem in found:
        print(f"✗ {problem}")
    if not found:
        print("every call ended once, every recording can be read, nothing is left over")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
