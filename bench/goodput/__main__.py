"""`python -m bench.goodput`: the curves of `parley goodput` for three kinds of calls.

The gateway has one core, the callers and the model's stand-in have another. Callers say recorded
sentences; the passed-through model answers with four seconds of sound.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.calls.gateway_process import ROOT, settings_text
from bench.goodput.measuring import Measured, goodput, recorded
from bench.passthrough import AGENT, model_server
from gateway.goodput.curve import TARGET
from gateway.goodput.plot import draw
from gateway.goodput.report import told

REPLY_MS = 4000
SIP_PORT = 15_066

PICTURE = ROOT / "docs/goodput.svg"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of call."""

    title: str
    at_once: Sequence[int]
    "calls that are offered"
    prepare: Callable[[Path], AbstractContextManager[Sequence[str]]]
    "writes `parley.toml` into a folder; gives further arguments"


@contextmanager
def _default(folder: Path) -> Iterator[Sequence[str]]:
    (folder / "parley.toml").write_text(settings_text({"limits": {"calls": 1000}}))
    yield []


@contextmanager
def _model(folder: Path) -> Iterator[Sequence[str]]:
    with _passed_through(folder, {}) as more:
        yield more


@contextmanager
def _sip(folder: Path) -> Iterator[Sequence[str]]:
    sip = {
        "enabled": True,
        "host": "127.0.0.1",
        "udp": SIP_PORT,
        "tcp": SIP_PORT + 1,
        "rate": 1000.0,
    }
    with _passed_through(folder, {"sip": sip}) as more:
        yield ["--line", "sip", *more]


@contextmanager
def _passed_through(
    folder: Path, sections: dict[str, dict[str, object]]
) -> Iterator[Sequence[str]]:
    with model_server(REPLY_MS) as (url, process):
        (folder / "model.toml").write_text(AGENT.format(url=url))
        chosen: dict[str, dict[str, object]] = {
            "agents": {"folder": str(folder), "default": "model"},
            "turn": {"silence": 0.6},
            "limits": {"calls": 1000},
            **sections,
        }
        (folder / "parley.toml").write_text(settings_text(chosen))
        yield ["--stand-in", str(process)]


KINDS = {
    "default": Kind("default agent, embedded models", (10, 15, 20, 25, 30, 35), _default),
    "model": Kind("passed-through model", (20, 40, 60, 80, 100, 120), _model),
    "sip": Kind("passed-through model, SIP", (20, 40, 60, 80, 100, 120), _sip),
}


def measure(kind: Kind, at_once: Sequence[int], further: Sequence[str]) -> Measured:
    """Sweep one kind of call, and print its table."""
    print(f"\n{kind.title}", flush=True)
    with tempfile.TemporaryDirectory(prefix="parley-") as name:
        folder = Path(name)
        with kind.prepare(folder) as more:
            measured = goodput(at_once, [*recorded(), *more, *further], folder)
    print("\n".join(told(measured.points, TARGET)), flush=True)
    return measured


def main() -> int:
    """Measure and print; give 1 where a rate was invalid."""
    parser = argparse.ArgumentParser(prog="python -m bench.goodput", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="all, if none is named")
    parser.add_argument("--at-once", type=int, nargs="+", help="calls that are offered")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--seconds", type=float, default=40.0, help="measured of each rate")
    options = parser.parse_args()
    further = ["--seconds", str(options.seconds)]
    found = {
        KINDS[name].title: measure(KINDS[name], options.at_once or KINDS[name].at_once, further)
        for name in options.kinds or KINDS
    }
    curves = {title: measured.points for title, measured in found.items() if measured.points}
    options.picture.write_text(draw("Good turns on one core, by calls offered at once", curves))
    return 0 if all(measured.valid for measured in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
