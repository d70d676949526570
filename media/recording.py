"""How a call becomes a stereo file: the caller left, the agent right, both where they sounded.

The loop only appends to a deque; one thread for the process decodes, aligns and writes.
It appends by opening, writing and closing, so that the header is right after every write: a
process that is killed leaves a readable file, and recordings hold no file open between writes.
"""

from __future__ import annotations

import os
import threading
import wave
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from media import private
from media.codec import WireForm
from media.frame import Samples

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

_BLOCK_SECONDS = 10

_RIFF_LENGTH, _DATA_LENGTH = 4, 40
"""Where a WAV file with a header of 44 bytes says how long it is and how long its sound is."""

_LONGEST = 2**32 - 1


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
        """Say whether this continues `other`, so that both can be decoded at once."""
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
        failed: Callable[[str], None] | None = None,
        group_reads: bool = False,
    ) -> None:
        """Begin a recording; made by `Recorder.open`, which says what the arguments are."""
        self.path = path
        self.rate = rate
        self.failed = failed or (lambda reason: None)
        self.group_reads = group_reads
        self.dropped = 0
        """pieces not taken because too many waited"""
        self.lacking = 0
        """of those, what came while the call went on"""
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
        self._created = False

    def round(self) -> bool:
        """Take what waits, write what is settled; False when the recording is complete."""
        recording = self.recording
        closing = recording._closed
        try:
            self._take()
            settled = 0 if closing else round(SETTLE_SECONDS * recording.rate)
            self._write(max(0, len(self._window) - settled))
        except OSError as error:
            recording.failure = f"{recording.path}: {error.strerror or error}"
            closing = True
        except BaseException as error:  # fence: one recording must not end those of the other calls
            recording.failure = f"{recording.path}: {error!r}"
            closing = True
        if closing:
            self._end()
        return not closing

    def _end(self) -> None:
        recording = self.recording
        recording._closed = True
        recording._inbox.clear()
        lacking = f"{recording.path}: the disk was too slow for {recording.lacking} pieces of sound"
        if reason := recording.failure or (lacking if recording.lacking else ""):
            recording.failed(reason)
        recording.finished.set()

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
        while start - self._base > 2 * block:
            self._reach(block)
            self._write(block)

    def _reach(self, length: int) -> None:
        """Let the window be at least `length` samples long."""
        missing = length - len(self._window)
        if missing > 0:
            more = np.zeros((missing, 2), dtype=np.int16)
            self._window = np.concatenate((self._window, more))

    def _write(self, frames: int) -> None:
        """Append the oldest frames of the window to the file, which is valid again after that."""
        if not self._created:
            self._create()
        if not frames:
            return
        # Written without a library: libsndfile tells neither a full disk nor a lost file by name.
        with open(self.recording.path, "r+b") as file:
            end = file.seek(0, os.SEEK_END)
            size = file.write(self._window[:frames].tobytes())
            for place, length in ((_RIFF_LENGTH, end - 8 + size), (_DATA_LENGTH, end - 44 + size)):
                file.seek(place)
                file.write(min(length, _LONGEST).to_bytes(4, "little"))
        self._window = self._window[frames:].copy()
        self._base += frames
        self.recording.seconds = self._base / self.recording.rate

    def _create(self) -> None:
        """Make the file, with nothing but a header."""
        recording = self.recording
        private.make_folder(recording.path.parent, recording.group_reads)
        flags = os.O_RDWR | os.O_TRUNC
        handle = private.open_file(recording.path, flags, recording.group_reads)
        with open(handle, "w+b") as file, wave.open(file, "wb") as header:
            header.setnchannels(2)
            header.setsampwidth(2)
            header.setframerate(recording.rate)
            header.writeframes(b"")
        self._created = True


class Recorder:
    """The thread that writes all recordings of the process."""

    def __init__(self, interval: float = INTERVAL) -> None:
        """Start writing every `interval` seconds."""
        self._interval = interval
        self._new: deque[StereoRecording] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def open(
        self,
        path: Path,
        rate: int,
        failed: Callable[[str], None] | None = None,
        group_reads: bool = False,
    ) -> StereoRecording:
        """Begin a recording; the file is created in the next round.

        `failed` is told on the recorder's thread, once, why the recording is not whole.
        """
        recording = StereoRecording(path, rate, failed, group_reads)
        self._new.append(recording)
        return recording

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
