"""Callers who call again and again over all lines, and the agent and model's server they meet."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.calls.gateway_process import ROOT, GatewayProcess
from gateway.caller.network import NetworkSettings
from gateway.caller.place import CallOptions, Target, parse_target, place_call
from gateway.caller.plan import CallPlan, CutIn, Keys, Say
from gateway.caller.sound import load
from gateway.doors.owner import settled_owner

SPEECH = ROOT / "tests/data/speech/complete"
HERE = Path(__file__).parent

LINES = ("twilio", "twilio", "sip", "sip", "webrtc")
"""Of every five callers."""


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


def agents(folder: Path, port: int) -> Path:
    """Write the agent whose model's server listens on a port; give the folder of agents."""
    within = folder / "agents"
    within.mkdir(exist_ok=True)
    text = (HERE / "agents/faulty.toml").read_text()
    (within / "faulty.toml").write_text(text.replace("127.0.0.1:1/", f"127.0.0.1:{port}/"))
    (within / "faulty.py").write_text((HERE / "agents/faulty.py").read_text())
    return within


def sections(calls: int, sip_port: int) -> dict[str, dict[str, object]]:
    """Return settings of a gateway that takes so many calls, on all lines."""
    return {
        "agents": {"default": "faulty"},
        "log": {"path": "log/calls.jsonl"},
        "recording": {"enabled": True},
        "limits": {"calls": calls + 5},
        "sip": {"enabled": True, "host": "127.0.0.1", "udp": sip_port, "tcp": 0, "open": True},
    }
