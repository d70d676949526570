"""`python -m bench.peers`: one kind of call on Pipecat, LiveKit Agents and Parley, in turn.

Every server has one core, the callers another; each round measures every server once, so that what
else the machine does meets all of them. The callers are those of `parley goodput`: recorded
sentences, a fifth of them spoken into the answer, which is four seconds long.

Pipecat and LiveKit Agents answer from their own memory. Parley puts its calls through to a model's
stand-in over a second socket, both ways: it does what they do, and that besides.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.calls.gateway_process import ROOT, settings_text
from bench.goodput.measuring import CALLERS_CORE, SERVER_CORE, recorded, sweep
from bench.passthrough import AGENT, model_server
from gateway.goodput.curve import Point

HERE = Path(__file__).parent
REPLY_SECONDS = 4
SILENCE = 0.6
"""Seconds of silence that end a turn where voice activity alone decides, on each side."""

TURNS = {
    "vad": f"voice activity (Silero) and {SILENCE:g} s of silence",
    "turn": "each its own end-of-turn model",
}

PEERS = {"Pipecat": "pipecat", "LiveKit Agents": "livekit"}
OURS = "Parley"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is called, and what `parley goodput` may know of it."""

    folder: Path
    arguments: Sequence[str]


@contextmanager
def peer(name: str, turns: str, environments: Path) -> Iterator[Place]:
    """Run a bot on the server's core."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    python = environments / name / "bin/python"
    command = ["taskset", "-c", SERVER_CORE, str(python), str(HERE / f"{name}_bot.py")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with subprocess.Popen(
        [*command, str(port), turns, str(REPLY_SECONDS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            while (line := process.stdout.readline()) and line.strip() != b"ready":
                pass
            if not line:
                raise RuntimeError(f"{name} did not start; make peers makes its environment")
            address = f"twilio:ws://127.0.0.1:{port}/ws"
            yield Place(ROOT, [address, "--server-pid", str(process.pid)])
        finally:
            process.kill()


@contextmanager
def ours(turns: str) -> Iterator[Place]:
    """Have `parley goodput` run a gateway on the server's core."""
    with (
        tempfile.TemporaryDirectory(prefix="parley-") as name,
        model_server(1000 * REPLY_SECONDS) as (url, process),
    ):
        folder = Path(name)
        (folder / "model.toml").write_text(AGENT.format(url=url))
        sections: dict[str, dict[str, object]] = {
            "agents": {"folder": str(folder), "default": "model"},
            "limits": {"calls": 1000},
        }
        if turns == "vad":
            sections["turn"] = {"silence": SILENCE}
        (folder / "parley.toml").write_text(settings_text(sections))
        arguments = ["-c", "parley.toml", "--server-cores", SERVER_CORE]
        yield Place(folder, [*arguments, "--stand-in", str(process)])


@dataclass(frozen=True, slots=True)
class Row:
    """One server's figures: the median of its rounds."""

    name: str
    points: Sequence[Point]

    @property
    def cost(self) -> float:
        """Processor milliseconds per call and second."""
        return 1000 * median(point.cost or 0.0 for point in self.points)

    def cells(self, ours: Row) -> list[str]:
        """Lay it out; the ratio is to our cost."""
        points = self.points
        costs = sorted(1000 * (point.cost or 0.0) for point in points)
        return [
            self.name,
            f"{median(point.held for point in points):.1f}",
            f"{self.cost:.1f} ({costs[0]:.1f} to {costs[-1]:.1f})",
            f"{self.cost / ours.cost:.1f}",
            _seconds([point.response.p50 for point in points]),
            _seconds([point.response.p95 for point in points]),
            _seconds([point.stop_delay.p50 for point in points]),
            _seconds([point.stop_delay.p95 for point in points]),
            f"{median(point.late + point.missing for point in points):.2%}",
            f"{median(point.good or 0.0 for point in points):.0%}",
            str(sum(point.turns for point in points)),
            str(sum(point.refused + point.broken for point in points)),
            "" if all(point.valid for point in points) else "INVALID",
        ]


def _seconds(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known):.2f}" if known else "-"


COLUMNS = (
    "", "held", "CPU ms per call and s", "to ours", "response p50", "p95", "stop p50", "p95",
    "late + missing", "good", "turns", "lost calls", "",
)  # fmt: skip


def table(rows: Sequence[Row]) -> list[str]:
    """Lay the servers out beside each other."""
    own = next(row for row in rows if row.name == OURS)
    cells = [list(COLUMNS), *(row.cells(own) for row in rows)]
    widths = [max(len(line[n]) for line in cells) for n in range(len(COLUMNS))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]


def measure(
    turns: str, calls: int, rounds: int, seconds: float, environments: Path
) -> Mapping[str, list[Point]]:
    """Measure every server once a round."""
    found: dict[str, list[Point]] = {name: [] for name in (*PEERS, OURS)}
    for number in range(rounds):
        further = ["--seconds", str(seconds), "--settle", "6", "--seed", str(number + 1)]
        for name in found:
            where = ours(turns) if name == OURS else peer(PEERS[name], turns, environments)
            with where as place:
                arguments = [*place.arguments, *recorded(), *further]
                found[name] += sweep([calls], arguments, place.folder).points
    return found


def main() -> int:
    """Measure and print; give 1 where something was invalid."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--turns", choices=TURNS, nargs="+", default=list(TURNS))
    parser.add_argument("--calls", type=int, nargs="+", default=[10], help="at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=25.0, help="measured of each")
    parser.add_argument("--environments", type=Path, default=ROOT / ".peers")
    options = parser.parse_args()
    good = True
    for turns in options.turns:
        for calls in options.calls:
            found = measure(turns, calls, options.rounds, options.seconds, options.environments)
            rows = [Row(name, points) for name, points in found.items()]
            head = f"{calls} calls at once, {TURNS[turns]}; medians of {options.rounds} rounds"
            print(f"\n{head}, callers on core {CALLERS_CORE}, servers on core {SERVER_CORE}")
            print("\n".join(table(rows)), flush=True)
            good = good and all(point.valid for row in rows for point in row.points)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
