"""Measures the echo reference on simulated telephone lines, with recordings of people.

For each kind of line and each loss on the way back it prints the share of echo windows that are
known for echo, and of the caller's windows, spoken over the echo, that are not taken for it.

    python -m bench.echo [--speech FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from media.codec import wire_form
from media.echo import WINDOW, EchoReference
from media.frame import Samples
from media.resample import convert

RATE = 8000
FRAME = 160
DELAYS = (0.02, 0.1, 0.25)
LOSSES = (6, 12, 18, 24)
SPEECH_DB = -20.0
LINE_NOISE_DB = -66.0
AUDIBLE_DB = -50.0
LOUD_DB = -40.0

Signal = npt.NDArray[np.float64]
PCMU = wire_form("pcmu", RATE)


def through_mulaw(signal: Signal) -> Signal:
    """Send a signal through one mu-law channel."""
    pcm = np.clip(np.rint(signal), -32768, 32767).astype("<i2").tobytes()
    return np.frombuffer(PCMU.decode(PCMU.encode(pcm)), dtype="<i2").astype(np.float64)


def window_levels(signal: Signal) -> Signal:
    """Return the level of each window in dBFS."""
    whole = len(signal) // WINDOW * WINDOW
    power = np.mean(signal[:whole].reshape(-1, WINDOW) ** 2, axis=1)
    return 10 * np.log10(power / 32768**2 + 1e-10)


def at_level(signal: Signal, decibels: float) -> Signal:
    """Scale speech so that its loud windows have a level."""
    levels = window_levels(signal)
    loud = levels[levels > levels.max() - 30]
    return signal * 10 ** ((decibels - float(np.median(loud))) / 20)


def path(kind: str, random: np.random.Generator) -> Signal:
    """Return the impulse response of an echo path, of unit energy.

    `flat` is a bare reflection, `hybrid` rings for some 4 ms as two-wire junctions do, `room` is a
    small loudspeaker phone's, with a tail of 50 ms.
    """
    if kind == "flat":
        return np.ones(1)
    length, decay = (48, 8.0) if kind == "hybrid" else (400, 80.0)
    response = random.normal(size=length) * np.exp(-np.arange(length) / decay)
    if kind == "room":
        response[0] = 4.0
    response /= np.sqrt(np.sum(response**2))
    return response


@dataclass(frozen=True)
class Line:
    """A line with an echo: what is sent on it, and what comes back."""

    sent: Signal
    echo: Signal
    came: Signal


def line(
    agent: Signal,
    caller: Signal | None,
    *,
    delay: float,
    loss: float,
    kind: str,
    seed: int = 1,
) -> Line:
    """Let an agent speak on a line, and a caller into it."""
    random = np.random.default_rng(seed)
    sent = through_mulaw(agent)
    echo = np.convolve(sent, path(kind, random))[: len(sent)] * 10 ** (-loss / 20)
    echo = np.concatenate((np.zeros(round(delay * RATE)), echo))[: len(sent)]
    noise = random.normal(size=len(sent)) * 32768 * 10 ** (LINE_NOISE_DB / 20)
    came = echo + noise + (0 if caller is None else caller)
    return Line(sent, echo, through_mulaw(came))


def listening(came: Signal | Samples, rate: int = RATE) -> EchoReference:
    """Make a reference that hears `came` and is sent plain samples."""
    samples = came.astype("<i2")
    return EchoReference(wire_form("l16", rate), lambda a, b: samples[max(a, 0) : max(b, 0)])


def scores(
    sent: Signal, came: Signal, reference: EchoReference | None = None, ahead: int = 800
) -> Signal:
    """Score each window of what came, with sent frames told `ahead` samples early."""
    reference = reference or listening(came)
    out = sent.astype("<i2").tobytes()
    told, found = 0, []
    for start in range(0, len(came) - WINDOW + 1, WINDOW):
        while told < min(start + WINDOW + ahead, len(sent)):
            reference.sent(told, out[2 * told : 2 * (told + FRAME)])
            told += FRAME
        found.append(reference.score(start, start + WINDOW))
    return np.array(found)


def speech(folder: Path, chosen: str) -> Signal:
    """Join all recordings of a folder whose name holds one of the words, at one level."""
    parts = []
    with (folder / "manifest.csv").open(newline="") as table:
        names = sorted(row["file"] for row in csv.DictReader(table))
    for name in names:
        if any(word in name for word in chosen.split("|")):
            sound, rate = soundfile.read(folder / name, dtype="int16")
            pcm = convert(sound.tobytes(), rate, RATE)
            parts.append(at_level(np.frombuffer(pcm, dtype="<i2").astype(np.float64), SPEECH_DB))
    return np.concatenate(parts)


def measure(agent: Signal, caller: Signal) -> None:
    """Print the table."""
    seconds = len(agent) / RATE
    print(f"{seconds:.0f} s of agent and caller, delays of {DELAYS} s; shares of windows")
    print(f"{'line':8}{'loss':>6}{'echo > 0.7':>12}{'caller < 0.4':>14}{'ms per s':>16}")
    loud = window_levels(caller)
    for kind in ("flat", "hybrid", "room"):
        for loss in LOSSES:
            alone, over, costs = [], [], [0.0, 0.0]
            for delay in DELAYS:
                one = line(agent, None, delay=delay, loss=loss, kind=kind)
                begun = time.process_time()
                found = scores(one.sent, one.came)
                costs[0] += time.process_time() - begun
                echo = window_levels(one.echo)
                alone += list(found[echo > AUDIBLE_DB])
                both = line(agent, caller, delay=delay, loss=loss, kind=kind)
                begun = time.process_time()
                found = scores(both.sent, both.came)
                costs[1] += time.process_time() - begun
                over += list(found[(loud > LOUD_DB) & (loud > echo - 3)])
            known, free = np.mean(np.array(alone) > 0.7), np.mean(np.array(over) < 0.4)
            spent = " and ".join(f"{1000 * one / seconds / len(DELAYS):.2f}" for one in costs)
            print(f"{kind:8}{loss:4} dB{known:12.3f}{free:14.3f}{spent:>16}")
    clear = line(agent, caller, delay=0.1, loss=100, kind="flat")
    found = scores(clear.sent, clear.came)[loud > LOUD_DB]
    print(f"no echo: caller below 0.1 in {np.mean(found < 0.1):.3f}, highest {found.max():.2f}")


def main() -> None:
    """Measure on the test recordings, or on another folder with such a manifest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speech", type=Path, default=Path("tests/data/speech"))
    parser.add_argument("--agent", default="ar40_agent|sti_c", help="words in file names")
    parser.add_argument("--caller", default="ar40_caller", help="words in file names")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    agent = speech(options.speech, options.agent)
    caller = speech(options.speech, options.caller)
    length = min(len(agent), len(caller), round(options.seconds * RATE))
    measure(agent[:length], caller[:length])


if __name__ == "__main__":
    main()
