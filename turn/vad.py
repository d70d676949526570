"""Knows, window by window, whether the caller's sound holds speech: voice activity for all calls.

One `VoiceActivity` a process, one `VoiceStream` a call.
On the loop a stream is only fed; every few milliseconds all windows that are complete, of all
calls, go through the model in one batch, in a thread:

    voices = VoiceActivity(runtime)                  # loads the model; takes some 0.1 s
    group.create_task(voices.watch())                # ticks until cancelled
    stream = voices.open(8000, hear=call.heard)      # hear(list[VoiceScored]), on the loop
    stream.feed(frame.samples())                     # every frame, in order; gaps as silence
    stream.close()

Without `hear`, results wait in the stream until `stream.take()`.
Offline: `score(voices, samples, rate)`.
Positions are samples of the stream at its own rate, counted from `start`.
Silero VAD takes 32 ms windows at 8 or 16 kHz; other rates are resampled to 8 kHz.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from inference.runtime import Runtime
from media.frame import Samples
from media.resample import Resampler
from turn.events import VoiceScored

Floats = npt.NDArray[np.float32]
Hear = Callable[[list[VoiceScored]], None]

TICK_SECONDS = 0.016
"""Half a window: adds 8 ms to a decision on average, and halves batches against a whole one."""

WINDOW = {8000: 256, 16000: 512}
"""Silero VAD: 32 ms at both of its rates."""

CONTEXT = {8000: 32, 16000: 64}
"""Silero VAD: samples of the window before, put in front."""

CHEAPER: Final = 8000
"""It hears as well: on 49 wide-band recordings speech begins 0.02 s late in the median at either
rate, and ends 0.06 s late, against 0.05 s at 16 kHz."""

PENDING_WINDOWS = 400
"""Windows of one stream that may wait, 12.8 s: a line that resumes after ten seconds brings their
silence all at once. If nobody ticks for longer, the oldest are given up."""

ROOM_WINDOWS = 16
"""Windows there is room for at first: half a second."""

QUIET = 0.1
QUIET_WINDOWS = 31
"""A second of windows that hold no speech, after which the model's memory begins anew: it grows
deaf in long silences. A short "yeah" after 44 s of a caller who mostly listened got 0.65 at most,
and 0.99 with a memory of one second."""

SILENCE_DB: Final = -96.0
"""Level of digital silence, and the least there is: one step of 16 bits is at -90.3 dBFS."""

FULL_SCALE: Final = 32768.0


class Stream(Protocol):
    """One caller's sound on its way to being judged."""

    def feed(self, samples: Samples) -> None:
        """Take the next samples; costs microseconds."""

    def take(self) -> list[VoiceScored]:
        """Give the windows judged since the last time; only without `hear`."""

    def close(self) -> None:
        """Let go of the stream; windows that wait are not judged any more."""


class Voices(Protocol):
    """A voice activity model, for all calls of a process."""

    def open(self, rate: int, hear: Hear | None = None, start: int = 0) -> Stream:
        """Begin a stream of `rate` samples a second whose first sample has position `start`."""

    def score_pending(self) -> None:
        """Judge all complete windows now, in this thread, which must be the one that feeds."""

    async def tick(self) -> None:
        """Judge all complete windows in a worker thread and hand out the results."""

    async def watch(self, period: float = TICK_SECONDS) -> None:
        """Tick until cancelled."""


@dataclass(slots=True)
class Memory:
    """What the model remembers of one stream, and when it forgets."""

    state: Floats = field(default_factory=lambda: np.zeros((2, 1, 128), np.float32))
    "Silero VAD: `[2, batch, 128]`"
    quiet: int = 0
    "windows in a row without speech, since the memory began anew"

    def forgets(self, probability: float) -> bool:
        """Say whether the memory is to begin anew after this window."""
        self.quiet = self.quiet + 1 if probability < QUIET else 0
        if self.quiet < QUIET_WINDOWS:
            return False
        self.quiet = 0
        return True


class VoiceStream:
    """Cuts one caller's sound into windows; made by `VoiceActivity.open`."""

    def __init__(self, rate: int, hear: Hear | None, start: int) -> None:
        """Choose the model's rate: the stream's own if it can be, else the cheaper one."""
        self.model_rate = rate if rate in WINDOW else CHEAPER
        self.hear = hear
        self.closed = False
        self.memory = Memory()
        self.given_up = 0
        "windows that were never judged because nobody ticked"
        self._resampler = None if rate == self.model_rate else Resampler(rate, self.model_rate)
        self._window = WINDOW[self.model_rate]
        self._context = CONTEXT[self.model_rate]
        self._ratio = rate / self.model_rate
        self._start = start
        self._next = 0
        "position at the model's rate of the first sample that is not judged yet"
        self._sound = np.zeros(self._context + ROOM_WINDOWS * self._window, np.int16)
        self._filled = self._context
        self._scored: list[VoiceScored] = []

    def feed(self, samples: Samples) -> None:
        """Take the next samples, at most twelve seconds of them."""
        if self._resampler is not None:
            samples = np.frombuffer(self._resampler.feed(samples.tobytes()), "<i2")
        if len(samples) > len(self._sound) - self._filled:
            self._make_room(len(samples))
        self._sound[self._filled : self._filled + len(samples)] = samples
        self._filled += len(samples)

    def take(self) -> list[VoiceScored]:
        """Give the windows judged since the last time."""
        taken, self._scored = self._scored, []
        return taken

    def close(self) -> None:
        """Let go of the stream; what is being judged right now is not delivered."""
        self.closed = True

    @property
    def complete(self) -> int:
        """Count the windows that can be judged."""
        return (self._filled - self._context) // self._window

    def cut(self, windows: int) -> Samples:
        """Take that many windows off, in one piece, with the context in front of the first."""
        end = self._context + windows * self._window
        piece = self._sound[:end].copy()
        left = self._filled - end + self._context
        self._sound[:left] = self._sound[end - self._context : self._filled]
        self._filled = left
        return piece

    def deliver(self, probabilities: Sequence[float], levels: Sequence[float]) -> None:
        """Place what was judged in the stream's own time and hand it out."""
        if self.closed:
            return
        ratio, start, window = self._ratio, self._start, self._window
        scored = []
        for probability, level in zip(probabilities, levels, strict=True):
            begin = self._next
            self._next = end = begin + window
            scored.append(
                VoiceScored(
                    start + int(begin * ratio), start + int(end * ratio), probability, level
                )
            )
        if self.hear is not None:
            self.hear(scored)
        else:
            self._scored += scored

    def _make_room(self, samples: int) -> None:
        """Let more windows wait, up to the bound, and then give the oldest up."""
        bound = self._context + PENDING_WINDOWS * self._window
        windows = math.ceil((self._filled + samples - bound) / self._window)
        if windows > 0:
            self.cut(windows)
            self._next += windows * self._window
            self.given_up += windows
        size = min(max(2 * len(self._sound), self._filled + samples), bound)
        if size > len(self._sound):
            self._sound = np.concatenate(
                [self._sound[: self._filled], np.zeros(size - self._filled, np.int16)]
            )


@dataclass(slots=True)
class Round:
    """Windows on their way through the model: several of one stream follow each other."""

    rate: int
    streams: list[VoiceStream]
    "those with the most windows first"
    windows: list[int]
    "of each stream"
    sound: list[Samples]
    "of each stream: context, then windows"
    probabilities: list[list[float]] = field(default_factory=list)
    "of each stream, window by window"
    levels: list[list[float]] = field(default_factory=list)


class VoiceActivity:
    """Judges the windows of all streams of a process; belongs to one event loop."""

    def __init__(self, runtime: Runtime) -> None:
        """Load the model, on the processor: a window is too little work to send to a GPU."""
        self._session = runtime.load("silero-vad", providers=("cpu",))
        self._frames = runtime.frames
        self._streams: list[VoiceStream] = []
        self._ticking = False

    def open(self, rate: int, hear: Hear | None = None, start: int = 0) -> VoiceStream:
        """Begin a stream of `rate` samples a second whose first sample has position `start`."""
        stream = VoiceStream(rate, hear, start)
        self._streams.append(stream)
        return stream

    def score_pending(self) -> None:
        """Judge all complete windows now, in this thread, which must be the one that feeds."""
        rounds = self._collect()
        self._judge_all(rounds)
        for each in rounds:
            _deliver(each)

    async def tick(self) -> None:
        """Judge all complete windows in a worker thread and hand out the results.

        Does nothing while an earlier tick is at work: that one's successor takes more windows.
        """
        if self._ticking:
            return
        rounds = self._collect()
        if not rounds:
            return
        self._ticking = True
        try:
            await self._frames.run(partial(self._judge_all, rounds))
        finally:
            self._ticking = False
        for each in rounds:
            _deliver(each)

    async def watch(self, period: float = TICK_SECONDS) -> None:
        """Tick on a fixed schedule until cancelled, leaving out ticks that come too late."""
        await watch(self, period)

    def _collect(self) -> list[Round]:
        """Take all complete windows off the streams, and forget the closed ones."""
        if any(each.closed for each in self._streams):
            self._streams = [each for each in self._streams if not each.closed]
        rounds = []
        for rate in WINDOW:
            ready = [
                (each.complete, each)
                for each in self._streams
                if each.model_rate == rate and each.complete
            ]
            if ready:
                ready.sort(key=lambda pair: pair[0], reverse=True)
                streams = [stream for _, stream in ready]
                windows = [count for count, _ in ready]
                sound = [stream.cut(count) for count, stream in ready]
                rounds.append(Round(rate, streams, windows, sound))
        return rounds

    def _judge_all(self, rounds: Sequence[Round]) -> None:
        for each in rounds:
            self._judge(each)

    def _judge(self, batch: Round) -> None:
        """Run the model over one round; touches nothing that the loop touches."""
        window, context = WINDOW[batch.rate], CONTEXT[batch.rate]
        rate = np.array(batch.rate, np.int64)
        state = np.concatenate([each.memory.state for each in batch.streams], axis=1)
        batch.probabilities = [[] for _ in batch.streams]
        batch.levels = [[] for _ in batch.streams]
        for number in range(batch.windows[0]):
            rows = sum(count > number for count in batch.windows)
            begin = number * window
            raw = np.stack([each[begin : begin + context + window] for each in batch.sound[:rows]])
            sound = raw.astype(np.float32) / np.float32(FULL_SCALE)
            output, after = self._session.run(
                {"input": sound, "state": state[:, :rows], "sr": rate}, ("output", "stateN")
            )
            state[:, :rows] = after
            for row, (probability, level) in enumerate(
                zip(output[:, 0].tolist(), levels(sound[:, context:]), strict=True)
            ):
                batch.probabilities[row].append(probability)
                batch.levels[row].append(level)
                if batch.streams[row].memory.forgets(probability):
                    state[:, row] = 0.0
        for row, each in enumerate(batch.streams):
            each.memory.state = state[:, row : row + 1]


def _deliver(batch: Round) -> None:
    for each, probabilities, found in zip(
        batch.streams, batch.probabilities, batch.levels, strict=True
    ):
        each.deliver(probabilities, found)


async def watch(voices: Voices, period: float) -> None:
    """Tick on a fixed schedule until cancelled, leaving out ticks that come too late."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    number = 0
    while True:
        passed = loop.time() - begun
        number = max(number, math.floor(passed / period)) + 1
        await asyncio.sleep(number * period - passed)
        await voices.tick()


def levels(windows: Floats) -> list[float]:
    """Give the RMS of each row in dBFS; full scale is 1.0."""
    power = np.einsum("ij,ij->i", windows, windows) / windows.shape[1]
    decibels = 10.0 * np.log10(np.maximum(power, 10.0 ** (SILENCE_DB / 10.0)))
    found: list[float] = decibels.tolist()
    return found


def score(voices: Voices, samples: Samples, rate: int) -> list[VoiceScored]:
    """Judge a whole recording; the last piece that fills no window is left out."""
    stream = voices.open(rate)
    scored: list[VoiceScored] = []
    for begin in range(0, len(samples), rate):
        stream.feed(samples[begin : begin + rate])
        voices.score_pending()
        scored += stream.take()
    stream.close()
    return scored
