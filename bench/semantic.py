"""Measures what voice activity and the end-of-turn model cost, and how well the latter tells.

    python -m bench.semantic [FOLDER] [--json FILE]

FOLDER holds `manifest.csv` (file, kind, lang, speech_start_s, speech_end_s, pauses) and its
recordings; without it only costs are measured.
All is heard through the telephone's band and mu-law.
Costs are processor time of this process, medians, in milliseconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from inference import find
from inference.runtime import Runtime
from media.codec import wire_form
from media.frame import Samples
from turn.features import FRAMES, TurnSound
from turn.mel import Floats, mel_weights
from turn.semantic import LEAD_SECONDS, SemanticSettings, TurnAssessor
from turn.smartturn import INPUT, for_gpu, with_plain_softmax
from turn.vad import VoiceActivity

RATE = 8000
STEP = 160
"""Samples in a telephone frame."""

KINDS = ("complete", "incomplete", "midpause", "short_turn")

DELAYS = (0.2, 0.3, 0.5)
"""Seconds after the end of speech at which is asked."""

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """One question with a known answer."""

    kind: str
    "`complete`, `short_turn`, `midpause` (the end of it), `pause`, `incomplete`, `cut`"
    delay: float
    seconds: float
    "of the turn, with what is taken from before it"
    picture: Floats
    whole: Floats
    "the same, resampled and computed at once, as Whisper defines it"

    @property
    def done(self) -> bool:
        """Return whether the caller is done."""
        return self.kind in ("complete", "short_turn", "midpause")


def cost(work: Callable[[], object], times: int = 20) -> float:
    """Return the median processor time of one run, in milliseconds."""
    spent = []
    for _ in range(times):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return float(np.median(spent)) * 1000.0


def at_once(sound: Samples) -> Floats:
    """Compute the picture of telephone sound from scratch."""
    wide = soxr.resample(sound / 32768.0, RATE, 16000)
    whole = np.concatenate([np.zeros(128000), wide])[-128000:]
    whole = (whole - whole.mean()) / np.sqrt(whole.var() + 1e-7)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(whole, 200, "reflect"), 400)[::160]
    spectrum = np.fft.rfft(windows[:FRAMES] * np.hanning(401)[:-1])
    logs = np.log10(np.maximum(np.abs(spectrum) ** 2 @ mel_weights(16000), 1e-10))
    return ((np.maximum(logs, logs.max() - 8.0).T + 4.0) / 4.0).astype(np.float32)


def noise(seconds: float) -> Samples:
    """Make sound to measure with; none of the costs depends on what is in it."""
    return np.random.default_rng(1).normal(0, 1000, int(seconds * RATE)).astype(np.int16)


def voice_costs(runtime: Runtime) -> dict[str, float]:
    """Measure voice activity for one call and second, with several calls at once."""
    costs = {}
    voices = VoiceActivity(runtime)
    sound = noise(4.0)
    for calls in (1, 5, 25, 100):
        streams = [voices.open(RATE, lambda scored: None) for _ in range(calls)]
        for number, stream in enumerate(streams):
            stream.feed(sound[: number * 37 % 256])  # so that windows do not end together
        begun = time.process_time()
        for at in range(0, len(sound), STEP):
            for stream in streams:
                stream.feed(sound[at : at + STEP])
            voices.score_pending()
        spent = time.process_time() - begun
        costs[f"voice activity, a call's second, {calls} calls"] = spent * 1000 / calls / 4.0
        for stream in streams:
            stream.close()
    return costs


def picture_costs() -> dict[str, float]:
    """Measure a question's picture, from scratch and kept up to date."""
    sound = noise(10.0)
    stream = TurnSound(RATE)

    def feed() -> None:
        for at in range(0, RATE, STEP):
            stream.feed(sound[at : at + STEP])

    costs = {
        "picture from scratch": cost(lambda: at_once(sound[: 4 * RATE])),
        "feeding, a call's second": cost(feed),
    }
    for seconds in (2, 4, 8):
        first, again = [], []
        for _ in range(10):
            stream = TurnSound(RATE)
            for _ in range(10):
                feed()
            begun = time.process_time()
            stream.picture(stream.end - seconds * RATE, stream.end)
            between = time.process_time()
            feed()
            stream.picture(stream.end - seconds * RATE, stream.end - RATE + 2400)
            first.append(between - begun)
            begun = time.process_time()
            stream.picture(stream.end - seconds * RATE, stream.end - RATE + 2400)
            again.append(time.process_time() - begun)
        costs[f"picture of a turn of {seconds} s"] = float(np.median(first)) * 1000
        costs[f"the same, asked again, {seconds} s"] = float(np.median(again)) * 1000
    return costs


def model_costs(runtime: Runtime, assessors: dict[str, TurnAssessor]) -> dict[str, float]:
    """Measure one run of each graph."""
    whole = np.random.default_rng(2).normal(0, 0.4, (1, 80, FRAMES)).astype(np.float32)
    shipped = runtime.load("smart-turn")
    model = find("smart-turn").read_bytes()
    plain = runtime.load(with_plain_softmax(model), name="plain softmax")
    floats = runtime.load(for_gpu(model), name="float")
    costs = {
        "model as shipped, 8 s": cost(lambda: shipped.run({INPUT: whole})),
        "model of float operations, 8 s": cost(lambda: floats.run({INPUT: whole})),
        "model with plain softmax, 8 s": cost(lambda: plain.run({INPUT: whole})),
    }
    for frames, assessor in ((600, assessors["600"]), (400, assessors["400, 800"])):
        short = np.ascontiguousarray(whole[:, :, -frames:])
        costs[f"model with plain softmax, {frames // 100} s"] = cost(
            lambda assessor=assessor, short=short: assessor.probabilities(short)  # type: ignore[misc]
        )
    return costs


def cases(folder: Path) -> Iterator[Case]:
    """Return every question whose answer the recordings show."""
    with (folder / "manifest.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    for row in rows:
        if row["lang"] == "en" and row["kind"] in KINDS:
            yield from _cases(folder, row)


def _cases(folder: Path, row: dict[str, str]) -> Iterator[Case]:
    samples, own = soundfile.read(folder / row["file"], dtype="int16")
    sound = telephone(samples, own)
    start = max(float(row["speech_start_s"]) - LEAD_SECONDS, 0.0)
    ends = [
        (float(each.split("-")[0]), "pause") for each in (row["pauses"] or "").split(";") if each
    ]
    ends.append((float(row["speech_end_s"]), "cut" if "_cut" in row["file"] else row["kind"]))
    stream = TurnSound(RATE)
    for end, kind in ends:
        for delay in DELAYS:
            at = int((end + delay) * RATE) // 80 * 80
            begin = int(start * RATE) // 80 * 80
            while stream.end < at:
                stream.feed(sound[stream.end : stream.end + STEP])
            picture = stream.picture(begin, at)
            yield Case(kind, delay, (at - begin) / RATE, picture, at_once(sound[begin:at]))


def telephone(samples: Samples, rate: int) -> Samples:
    """Put sound through the telephone's band and mu-law, with a second of silence after it."""
    sound = samples / 32768.0
    if rate != RATE:
        sound = soxr.resample(sound, rate, RATE)
    spectrum = np.fft.rfft(sound)
    lines = np.fft.rfftfreq(len(sound), 1 / RATE)
    spectrum[(lines < 300) | (lines > 3400)] = 0
    narrow = np.clip(np.fft.irfft(spectrum, len(sound)) * 32768, -32768, 32767).astype(np.int16)
    form = wire_form("pcmu", RATE)
    decoded = np.frombuffer(form.decode(form.encode(narrow.tobytes())), "<i2")
    return np.concatenate([decoded, np.zeros(RATE, np.int16)])


def area(done: Doubles, going_on: Doubles) -> float:
    """Return the area under the receiver's curve: how often a finished turn scores higher."""
    if not len(done) or not len(going_on):
        return float("nan")
    higher = (done[:, None] > going_on[None, :]).mean()
    return float(higher + (done[:, None] == going_on[None, :]).mean() / 2)


def accuracy(name: str, asked: Sequence[Case], said: Doubles) -> list[dict[str, object]]:
    """Sum up one way of asking, for each delay."""
    lines: list[dict[str, object]] = []
    kinds = np.array([each.kind for each in asked])
    delays = np.array([each.delay for each in asked])
    done = np.array([each.done for each in asked])
    for delay in DELAYS:
        now = delays == delay
        finished = said[now & done]
        pauses = said[now & ~done & (kinds != "cut")]
        cuts = said[now & (kinds == "cut")]
        unfinished = said[now & ((kinds == "incomplete") | (kinds == "cut"))]
        lines.append(
            {
                "asked": name,
                "after": delay,
                "complete v incomplete": area(said[now & (kinds == "complete")], unfinished),
                "all v pauses": area(finished, pauses),
                "all v cuts": area(finished, cuts),
                "recall": float((finished > 0.5).mean()),
                "false, pauses": float((pauses > 0.5).mean()) if len(pauses) else float("nan"),
                "false, cuts": float((cuts > 0.5).mean()) if len(cuts) else float("nan"),
            }
        )
    return lines


def compare(
    runtime: Runtime, assessors: dict[str, TurnAssessor], asked: Sequence[Case]
) -> tuple[list[dict[str, object]], dict[str, float]]:
    """Ask every way there is, and tell how far the ways differ."""
    shipped = runtime.load("smart-turn")

    def as_shipped(picture: Floats) -> float:
        return float(shipped.run({INPUT: picture[None]})[0][0, 0])

    before = np.array([as_shipped(each.whole) for each in asked])
    kept = np.array([as_shipped(each.picture) for each in asked])
    lines = accuracy("as shipped, from scratch", asked, before)
    lines += accuracy("as shipped, kept up to date", asked, kept)
    for name, assessor in assessors.items():
        lines += accuracy(f"windows {name}", asked, _ask(assessor, asked))
    dither = np.random.default_rng(3)
    # Noise below the telephone's own step, to tell what a difference of decisions means.
    shaken = np.array(
        [
            as_shipped(each.whole + dither.normal(0, 0.002, (80, FRAMES)).astype(np.float32))
            for each in asked
        ]
    )
    return lines, {
        "questions": float(len(asked)),
        "picture differs by, mean": float(
            np.mean([np.abs(each.picture - each.whole).mean() for each in asked])
        ),
        "decisions flipped by keeping up to date": float(((kept > 0.5) != (before > 0.5)).mean()),
        "decisions flipped by as much noise": float(((shaken > 0.5) != (before > 0.5)).mean()),
    }


def _ask(assessor: TurnAssessor, asked: Sequence[Case]) -> Doubles:
    windows = sorted(assessor.windows)
    said = []
    for each in asked:
        frames = next((one for one in windows if one >= each.seconds * 100), windows[-1])
        said += assessor.probabilities(np.ascontiguousarray(each.picture[None, :, -frames:]))
    return np.array(said)


def shifts(assessors: dict[str, TurnAssessor], asked: Sequence[Case]) -> dict[str, float]:
    """Measure how much lower, in log odds, a shorter window answers than the whole one."""

    def odds(name: str, cases: Sequence[Case]) -> Doubles:
        said = np.clip(_ask(assessors[name], cases), 1e-6, 1 - 1e-6)
        return np.log(said / (1 - said))

    found = {}
    for name, frames in (("400, 800", 400), ("600", 600)):
        fitting = [each for each in asked if each.seconds * 100 <= frames]
        if fitting:
            found[f"left over after the shift of window {frames}, log odds"] = float(
                (odds("800", fitting) - odds(name, fitting)).mean()
            )
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.semantic")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    runtime = Runtime()
    assessors = {
        name: TurnAssessor(Runtime(), SemanticSettings(windows=windows))
        for name, windows in (("800", (800,)), ("400, 800", (400, 800)), ("600", (600,)))
    }
    figures = voice_costs(runtime) | picture_costs() | model_costs(runtime, assessors)
    for name, value in figures.items():
        print(f"{name:44s} {value:8.3f} ms")
    lines: list[dict[str, object]] = []
    told: dict[str, float] = {}
    if chosen.folder is not None:
        asked = list(cases(chosen.folder))
        lines, told = compare(runtime, assessors, asked)
        told |= shifts(assessors, asked)
        print("\n" + "  ".join(lines[0]))
        for line in lines:
            print("  ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in line.values()))
        for name, value in told.items():
            print(f"{name:60s} {value:.4f}")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({"costs_ms": figures, "accuracy": lines, "told": told}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
