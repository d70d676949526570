"""How a call becomes a stereo file: the caller left, the agent right, both where they sounded.

The loop only appends to a deque; one thread for the process decodes, aligns and writes.
The header is right after every write, so that a process that is killed leaves a readable file.
A disk that is full, or files that cannot be opened, are tried again: what comes meanwhile is kept
in memory up to a bound, and what goes past it is silent in the file and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from media.codec import WireForm
from media.frame import Samples
from media.wav_file import WavFile

Side = Literal[0, 1]
LEFT: Side = 0
RIGHT: Side = 1

INTERVAL = 0.5
"""Seconds between the writer's rounds; with `SETTLE_SECONDS` what a kill can cost."""

SETTLE_SECONDS = 1.0
"""How long sound may still be put or cut behind the newest: a far side's lead, a late packet."""

INBOX_PIECES = 3000
"""What may wait of one recording: half a minute of both sides, in case the disk hangs."""

LONGEST_GAP = 3600
"""Seconds a position may jump ahead; more is a broken timestamp and not a pause."""

KEPT_SECONDS = 60
"""What is kept of a recording that cannot be written: 2 MB of a telephone call."""

CLOSING_ROUNDS = 20
"""How often the end of a recording is tried while the process goes on: ten seconds."""

_BLOCK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class _Piece:
    """Sound of one side on its way to the file; without sound, a cut of what follows `start`."""

    side: Side
    start: int
    sound: bytes
    form: WireForm | None
    cut: bool = False

    @property
    def end(self) -> int:
        """Position after the last sample."""
        width = 2 if self.form is None else self.form.bytes_per_sample
        return self.start + len(self.sound) // width

    def follows(self, other: _Piece) -> bool:
        """Return whether this continues `other`, so that both can be decoded at once."""
        return not (self.cut or other.cut) and (self.side, self.start, self.form) == (
            other.side,
            other.end,
            other.form,
        )


class StereoRecording:
    """One call's file; its methods only hand over and never wait."""

    def __init__(
        self,
        path: Path,
        rate: int,
        told: Callable[[str], None] | None = None,
        group_reads: bool = False,
    ) -> None:
        """Begin a recording; made by `Recorder.open`, which says what the arguments are."""
        self.file = WavFile(path, rate, group_reads)
        self.rate = rate
        self.told = told or (lambda reason: None)
        self.dropped = 0
        """pieces not taken because too many waited"""
        self.lacking = 0
        """of those, what came while the call went on"""
        self.lost = 0
        """samples of each side that are silent in the file because the disk took nothing, or
        because the file was removed"""
        self.late = 0
        """samples that came when their place was written already"""
        self.seconds = 0.0
        """how much is in the file"""
        self.failure = ""
        """why writing had to be given up"""
        self.finished = threading.Event()
        """set when the file is complete, or given up"""
        self._inbox: deque[_Piece] = deque()
        self._closed = False

    @property
    def path(self) -> Path:
        """Where the file is, or will be."""
        return self.file.path

    def left(self, start: int, sound: bytes, form: WireForm | None = None) -> None:
        """Put the caller's sound at `start`: 16-bit samples, or in the wire form given."""
        self._put(_Piece(LEFT, start, sound, form))

    def right(self, start: int, sound: bytes, form: WireForm | None = None) -> None:
        """Put the agent's sound at `start`; the newest at a place counts."""
        self._put(_Piece(RIGHT, start, sound, form))

    def cut_right(self, start: int) -> None:
        """Take back the agent's sound from `start` on: the far side was cleared."""
        self._put(_Piece(RIGHT, start, b"", None, cut=True))

    def close(self) -> None:
        """Let the file be completed; `finished` says when it is."""
        self.lacking = self.dropped
        self._closed = True

    def _put(self, piece: _Piece) -> None:
        if self._closed or len(self._inbox) >= INBOX_PIECES:
            self.dropped += 1
        else:
            self._inbox.append(piece)


class _Writer:
    """The file's side of one recording; lives on the writer thread alone."""

    def __init__(self, recording: StereoRecording) -> None:
        self.recording = recording
        self._base = 0
        self._window: npt.NDArray[np.int16] = np.zeros((0, 2), dtype=np.int16)
        self.trouble = ""
        "why nothing can be written just now"
        self._rounds = 0
        "that were spent on the end"

    def round(self) -> bool:
        """Take what waits, write what is settled; False when the recording is complete."""
        recording = self.recording
        closing = recording._closed
        try:
            self._take()
            settled = 0 if closing else round(SETTLE_SECONDS * recording.rate)
            self._write(max(0, len(self._window) - settled))
        except BaseException as error:  # fence: one recording must not end those of the others
            self.end(f"{recording.path}: {error!r}")
            return False
        if not closing:
            return True
        self._rounds += 1
        if self.trouble and self._rounds < CLOSING_ROUNDS:
            return True
        self.end(self.trouble)
        return False

    def end(self, failure: str = "") -> None:
        """Complete the recording, or give up what is not written."""
        recording = self.recording
        recording._closed = True
        recording._inbox.clear()
        recording.failure = failure
        if said := f"{failure}; the rest is missing" if failure else self._missing():
            recording.told(said)
        recording.finished.set()

    def _missing(self) -> str:
        """Return what is not in the file although there was nothing wrong at the end."""
        recording = self.recording
        if recording.lacking:
            return (
                f"{recording.path}: the disk was too slow for {recording.lacking} pieces of sound"
            )
        if recording.lost:
            return f"{recording.path}: {recording.lost / recording.rate:.1f} s are missing"
        return ""

    def _take(self) -> None:
        inbox = self.recording._inbox
        pieces = [inbox.popleft() for _ in range(len(inbox))]
        # Pieces of one side lie between those of the other; sorting (stably) brings them together.
        pieces.sort(key=lambda piece: piece.side)
        breaks = [n + 1 for n, (a, b) in enumerate(pairwise(pieces)) if not b.follows(a)]
        for first, last in pairwise([0, *breaks, len(pieces)]):
            if first < last:
                self._place(pieces[first:last])

    def _place(self, run: list[_Piece]) -> None:
        """Put a run of continuous pieces into the window."""
        head = run[0]
        if head.cut:
            self._window[max(0, head.start - self._base) :, head.side] = 0
            return
        sound = b"".join(piece.sound for piece in run)
        pcm = sound if head.form is None else head.form.decode(sound)
        samples: Samples = np.frombuffer(pcm, dtype="<i2")
        if head.start - self._base > LONGEST_GAP * self.recording.rate:
            self.recording.dropped += len(run)
            return
        start = max(head.start, self._base)
        self.recording.late += min(start - head.start, len(samples))
        samples = samples[start - head.start :]
        self._skip_towards(start)
        at = start - self._base
        self._reach(at + len(samples))
        self._window[at : at + len(samples), head.side] = samples

    def _skip_towards(self, start: int) -> None:
        """Write out a long gap in blocks, so that it is never in memory as a whole."""
        block = _BLOCK_SECONDS * self.recording.rate
        while start - self._base - len(self._window) > 2 * block:
            self._reach(len(self._window) + block)
            self._write(len(self._window))

    def _reach(self, length: int) -> None:
        """Let the window be at least `length` samples long."""
        missing = length - len(self._window)
        if missing > 0:
            more = np.zeros((missing, 2), dtype=np.int16)
            self._window = np.concatenate((self._window, more))

    def _write(self, frames: int) -> None:
        """Put the oldest frames of the window into the file; what cannot be written stays."""
        file = self.recording.file
        if not frames and file.made and not self.trouble:
            return
        try:
            self.recording.lost += file.put(self._base, self._window[:frames].tobytes())
        except OSError as error:
            self._failed(f"{file.path}: {error.strerror or error}")
            self._forget(len(self._window) - KEPT_SECONDS * self.recording.rate)
            return
        self._pass(frames)
        self.recording.seconds = self._base / self.recording.rate
        if self.trouble:
            self.trouble = ""
            self.recording.told("")

    def _failed(self, why: str) -> None:
        if not self.trouble:
            self.recording.told(why)
        self.trouble = why

    def _forget(self, frames: int) -> None:
        """Give up the oldest frames; they will be silent in the file."""
        if frames > 0:
            self.recording.lost += frames
            self._pass(frames)

    def _pass(self, frames: int) -> None:
        self._window = self._window[frames:].copy()
        self._base += frames


class Recorder:
    """The thread that writes all recordings of the process."""

    def __init__(self, interval: float = INTERVAL) -> None:
        """Start writing every `interval` seconds."""
        self._interval = interval
        self.troubles: tuple[str, ...] = ()
        "why recordings cannot be written just now, one for each that cannot"
        self._new: deque[StereoRecording] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def open(
        self,
        path: Path,
        rate: int,
        told: Callable[[str], None] | None = None,
        group_reads: bool = False,
    ) -> StereoRecording:
        """Begin a recording; the file is created in the next round, never over another.

        `told` is told on the recorder's thread why nothing can be written, and an empty text when
        it can be again; at the end, what is missing.
        """
        recording = StereoRecording(path, rate, told, group_reads)
        self._new.append(recording)
        return recording

    @property
    def running(self) -> bool:
        """Return whether anything is being written at all."""
        return self._thread.is_alive()

    def close(self, timeout: float | None = 10.0) -> None:
        """Complete all recordings and end the thread, waiting `timeout` seconds at most."""
        self._stop.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        writers: list[_Writer] = []
        stopping = False
        while not stopping:
            stopping = self._stop.wait(self._interval)
            writers += [_Writer(self._new.popleft()) for _ in range(len(self._new))]
            if stopping:
                for writer in writers:
                    writer.recording.close()
            writers = [writer for writer in writers if writer.round()]
            self.troubles = tuple(writer.trouble for writer in writers if writer.trouble)
        for writer in writers:
            writer.end(writer.trouble)
