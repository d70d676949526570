"""Knows, window by window, whether the caller's sound holds speech: voice activity for all calls.

One `VoiceActivity` a process, one `VoiceStream` a call.
As soon as all sound that has come was fed, the windows that are complete, of all calls, go through
the model in one batch, on the loop: five millionths of a second a window, less than the way to a
thread and back.

    voices = VoiceActivity(runtime)                  # loads the model; takes some 0.1 s
    voices.attend()                                  # from now on windows are judged by themselves
    stream = voices.open(8000, hear=call.heard)      # hear(VoiceScored), on the loop
    stream.feed(frame.samples())                     # every frame, in order; gaps as silence
    stream.close()

Without `hear`, results wait in the stream until `stream.take()`.
A run that fails is tried again, then each stream alone; what the model cannot judge WebRTC's
detector does, for a second of that stream, and the windows say so.
Offline: `score(voices, samples, rate)`.
Positions are samples of the stream at its own rate, counted from `start`.
Silero VAD takes 32 ms windows at 8 or 16 kHz; other rates are resampled to 8 kHz.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from inference.batcher import answers
from inference.manifest import find
from inference.runtime import Runtime, Session
from media.frame import Samples
from media.resample import Resampler
from turn.cheap import Fallback
from turn.events import VoiceScored
from turn.silero import FULL_SCALE, UNITS, with_matrices
from turn.soon import Soon

MODEL: Final = "silero-vad"

Floats = npt.NDArray[np.float32]
Hear = Callable[[VoiceScored], None]

WINDOW = {8000: 256, 16000: 512}
"""Silero VAD: 32 ms at both of its rates."""

CONTEXT = {8000: 32, 16000: 64}
"""Silero VAD: samples of the window before, put in front."""

CHEAPER: Final = 8000
"""It hears as well: on 49 wide-band recordings speech begins 0.02 s late in the median at either
rate, and ends 0.06 s late, against 0.05 s at 16 kHz."""

PENDING_WINDOWS = 400
"""Windows of one stream that may wait, 12.8 s: a line that resumes after ten seconds brings their
silence all at once. If they are not judged for longer, the oldest are given up."""

AT_ONCE = 16
"""Windows of one stream that are judged in one go, half a second: they follow each other and cost
more than those of several streams, and a loop that stands still is heard. The rest come next."""

ROOM_WINDOWS = 4
"""Windows there is room for beside each other, before more is kept aside: 128 ms."""

FEW: Final = 8
"""Streams there is room for at first; room doubles as it is needed."""

QUIET = 0.1
QUIET_WINDOWS = 31
"""A second of windows that hold no speech, after which the model's memory begins anew: it grows
deaf in long silences. A short "yeah" after 44 s of a caller who mostly listened got 0.65 at most,
and 0.99 with a memory of one second."""

SILENCE_DB: Final = -96.0
"""Level of digital silence, and the least there is: one step of 16 bits is at -90.3 dBFS."""


class Stream(Protocol):
    """One caller's sound on its way to being judged."""

    def feed(self, samples: Samples) -> None:
        """Take the next samples; costs microseconds."""

    def take(self) -> list[VoiceScored]:
        """Return the windows judged since the last time; only without `hear`."""

    def close(self) -> None:
        """Let go of the stream; windows that wait are not judged any more."""


class Voices(Protocol):
    """A voice activity model, for all calls of a process."""

    def open(self, rate: int, hear: Hear | None = None, start: int = 0) -> Stream:
        """Begin a stream of `rate` samples a second whose first sample has position `start`."""

    def attend(self) -> None:
        """From now on, judge windows as soon as they are complete, on the running loop."""

    def score_pending(self) -> None:
        """Judge all complete windows now."""


class VoiceStream:
    """One caller's sound on its way through the model; made by `VoiceActivity.open`."""

    def __init__(self, bank: Bank, rate: int, hear: Hear | None, start: int) -> None:
        self.slot = bank.take()
        "row in the bank"
        self.filled = bank.context
        "samples in that row"
        self.closed = False
        self.given_up = 0
        "windows that were never judged because nobody saw to it"
        self._bank = bank
        self._hear = hear
        self._resampler = None if rate == bank.rate else Resampler(rate, bank.rate)
        self._ratio = rate / bank.rate
        self._start = start
        self._next = 0
        "position at the model's rate of the first sample that is not judged yet"
        self._quiet = 0
        "windows in a row without speech, since the model's memory began anew"
        self._fallback = Fallback(bank.rate)
        self._aside: Samples | None = None
        "what there is no room for in the bank"
        self._scored: list[VoiceScored] = []

    def feed(self, samples: Samples) -> None:
        """Take the next samples."""
        bank = self._bank
        if self.closed:
            return
        if self._resampler is not None:
            samples = np.frombuffer(self._resampler.feed(samples.tobytes()), "<i2")
        before = self.filled
        filled = before + len(samples)
        if filled > bank.room:  # as it is while anything is kept aside
            self._put_aside(samples)
        else:
            bank.sound[self.slot, before:filled] = samples
            self.filled = filled
        if before < bank.least <= self.filled:
            bank.complete(self)

    def take(self) -> list[VoiceScored]:
        """Return the windows judged since the last time."""
        taken, self._scored = self._scored, []
        return taken

    def close(self) -> None:
        """Let go of the stream; what was not delivered yet is not."""
        if not self.closed:
            self.closed = True
            self._bank.give_back(self.slot)

    @property
    def trusts(self) -> bool:
        """Whether the model is to be asked about its next window."""
        return self._fallback.rest == 0

    def judged(self, said: float | Exception | None, sound: Floats, level: float) -> None:
        """Hand out what was judged of the first window, placed in the stream's own time.

        An error, or None where the model was not asked, leaves it to the fallback.
        """
        if self.closed:
            return
        fault = ""
        if isinstance(said, float):
            probability = said
        else:
            probability = self._fallback.judge(said, sound)
            fault = self._fallback.reason
            self._bank.forget(self.slot)  # what it remembers may be what is wrong
        if probability >= QUIET:
            self._quiet = 0
        else:
            self._quiet += 1
            if self._quiet >= QUIET_WINDOWS:
                self._quiet = 0
                self._bank.forget(self.slot)
        begin = self._next
        self._next = end = begin + self._bank.window
        start, ratio = self._start, self._ratio
        window = VoiceScored(
            start + int(begin * ratio), start + int(end * ratio), probability, level, fault=fault
        )
        if self._hear is not None:
            self._hear(window)
        else:
            self._scored.append(window)

    def fill_up(self) -> None:
        """Put into the bank what was kept aside, as far as there is room."""
        if self._aside is None:
            return
        bank = self._bank
        some = self._aside[: bank.room - self.filled]
        bank.sound[self.slot, self.filled : self.filled + len(some)] = some
        self.filled += len(some)
        self._aside = self._aside[len(some) :] if len(some) < len(self._aside) else None

    def _put_aside(self, samples: Samples) -> None:
        """Let more windows wait, up to the bound, and then give the oldest up."""
        bank = self._bank
        waits = samples if self._aside is None else np.concatenate([self._aside, samples])
        bound = bank.context + PENDING_WINDOWS * bank.window
        windows = math.ceil((self.filled + len(waits) - bound) / bank.window)
        if windows > 0:
            row = bank.sound[self.slot, : self.filled].astype(np.int16)
            waits = np.concatenate([row, waits])[windows * bank.window :]
            self.filled = 0
            self._next += windows * bank.window
            self.given_up += windows
        self._aside = waits
        self.fill_up()


class Bank:
    """The sound of all streams of one rate, side by side, and what the model remembers of each."""

    def __init__(self, session: Session, rate: int, soon: Soon) -> None:
        """`soon` is asked to have windows judged when some are complete."""
        self.rate = rate
        self.window, self.context = WINDOW[rate], CONTEXT[rate]
        self.least = self.context + self.window
        "samples of a row that make a window with its context"
        self.room = self.context + ROOM_WINDOWS * self.window
        "samples of a row"
        self.sound: Floats = np.zeros((FEW, self.room), np.float32)
        "of each stream: context, then what is not judged yet, as 16-bit numbers"
        self.ready: list[VoiceStream] = []
        "whose first window is complete"
        self._session = session
        self._soon = soon
        self._state: Floats = np.zeros((2, FEW, UNITS), np.float32)
        self._free = list(range(FEW))

    def take(self) -> int:
        """Return a row that nobody has."""
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self._soon.streams += 1
        self.sound[slot, : self.context] = 0.0
        self.forget(slot)
        return slot

    def give_back(self, slot: int) -> None:
        """Take that a row's stream is closed."""
        self._free.append(slot)
        self._soon.streams -= 1

    def complete(self, stream: VoiceStream) -> None:
        """Take that a stream's first window is complete."""
        self.ready.append(stream)
        self._soon.ask()

    def judge(self) -> None:
        """Run the model over the first window of all streams that have one."""
        streams = [each for each in self.ready if not each.closed]
        self.ready = []
        if not streams:
            return
        rows = np.array([each.slot for each in streams], np.intp)
        sound = self.sound[rows, : self.least]
        said = self._ask(streams)
        self._cut(rows, streams)
        windows = sound[:, self.context :]
        found = levels(windows, FULL_SCALE)
        for stream, one, window, level in zip(streams, said, windows, found, strict=True):
            stream.judged(one, window, level)

    def _ask(self, streams: Sequence[VoiceStream]) -> Sequence[float | Exception | None]:
        """Ask the model about the first window of each stream it may be asked about."""
        if all(each.trusts for each in streams):
            return answers(self._run, [each.slot for each in streams])
        asked = [each.slot for each in streams if each.trusts]
        said = dict(zip(asked, answers(self._run, asked) if asked else (), strict=True))
        return [said.get(each.slot) for each in streams]

    def _run(self, slots: Sequence[int]) -> list[float]:
        """Run the model over the first window of these rows, and let it remember them."""
        rows = np.array(slots, np.intp)
        output, after = self._session.run(
            {"input": self.sound[rows, : self.least], "state": self._state[:, rows]},
            ("output", "stateN"),
        )
        said: list[float] = output[:, 0].tolist()
        if not math.isfinite(sum(said)):
            raise ArithmeticError("the model gave no number")
        self._state[:, rows] = after
        return said

    def forget(self, slot: int) -> None:
        """Let the model's memory of a row begin anew."""
        self._state[:, slot] = 0.0

    def _cut(self, rows: npt.NDArray[np.intp], streams: Sequence[VoiceStream]) -> None:
        """Take the first window off each row; its end is the context of the next."""
        window = self.window
        left = max(each.filled for each in streams) - window
        self.sound[rows, :left] = self.sound[rows, window : window + left]
        for each in streams:
            each.filled -= window
            each.fill_up()
            if each.filled >= self.least:
                self.ready.append(each)

    def _grow(self) -> None:
        have = len(self.sound)
        self.sound = np.concatenate([self.sound, np.zeros_like(self.sound)])
        self._state = np.concatenate([self._state, np.zeros_like(self._state)], axis=1)
        self._free = list(range(have, 2 * have))


class VoiceActivity:
    """Judges the windows of all streams of a process; belongs to one event loop."""

    def __init__(self, runtime: Runtime) -> None:
        """Load the model, on the processor: a window is too little work to send to a GPU."""
        model = find(MODEL).read_bytes()
        self._soon = Soon(self._judge_some)
        self._banks = {
            rate: Bank(
                runtime.load(
                    with_matrices(model, rate), name=f"{MODEL}-{rate}", providers=("cpu",)
                ),
                rate,
                self._soon,
            )
            for rate in WINDOW
        }

    def open(self, rate: int, hear: Hear | None = None, start: int = 0) -> VoiceStream:
        """Begin a stream of `rate` samples a second whose first sample has position `start`.

        The model hears it at its own rate if it can, else at the cheaper one.
        """
        return VoiceStream(self._banks[rate if rate in WINDOW else CHEAPER], rate, hear, start)

    def attend(self) -> None:
        """From now on, judge windows as soon as they are complete, on the running loop."""
        self._soon.begin()

    def score_pending(self) -> None:
        """Judge all complete windows now."""
        while self._judge_some():
            pass

    def _judge_some(self) -> bool:
        """Judge what is complete, up to a bound for each stream; say whether more is."""
        for bank in self._banks.values():
            for _ in range(AT_ONCE):
                if not bank.ready:
                    break
                bank.judge()
        more = any(bank.ready for bank in self._banks.values())
        if more:
            self._soon.ask()
        return more


def levels(windows: Floats, full_scale: float = 1.0) -> list[float]:
    """Return the RMS of each row in dBFS."""
    power = np.einsum("ij,ij->i", windows, windows) / (windows.shape[1] * full_scale**2)
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
