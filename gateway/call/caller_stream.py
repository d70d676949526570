"""The caller's sound on its way in: one continuous stream, whatever the line left out.

Positions are the ear's own: sound is appended in the order it comes, gaps are filled with silence
(by the line's positions where it has them, by the clock where nothing comes at all), and nothing
that arrives late is dropped.
"""

from __future__ import annotations

from collections.abc import Callable

from media.frame import AudioFrame
from media.recent import RecentSound

KEPT_SECONDS = 12.0
"""Sound kept for questions about the recent past: the eight seconds that the turn detector hears,
and some for it to wait in; the tail of a turn, in which its end is found."""

SILENT_AFTER = 0.12
"""When nothing came for this long the clock feeds silence: six telephone frames, more than the
jitter of a usable line, less than the pause after which a turn is judged."""

LONGEST_GAP = 10.0
"""A jump in the line's positions beyond this is a fault of the line, not a silence."""


class ContinuousStream:
    """Gives the caller's sound unbroken positions, and those positions a place on the clock."""

    def __init__(self, rate: int, behind: Callable[[], float] = lambda: 0.0) -> None:
        """`behind` says by how many seconds a frame comes after it was spoken."""
        self.rate = rate
        self._behind = behind
        self.recent = RecentSound(int(KEPT_SECONDS * rate))
        "the newest sound, by position"
        self.end = 0
        "position one past the last sample so far"
        self.silence_fed = 0
        "samples of silence that stand for sound that never came"
        self._ahead = 0
        "silence fed by the clock since the last frame, which the line's next position may cover"
        self._line_end: int | None = None
        self._offset: float | None = None
        self.silent_at = 0.0
        "before this time there is nothing to be said about silence"

    def push(self, frame: AudioFrame, now: float) -> list[AudioFrame]:
        """Append a frame from the line; give it re-positioned, after the silence before it."""
        before, start, pcm = self._line_end, frame.start, frame.pcm
        frames = []
        if before is not None and start > before + self._ahead:
            missing = start - before - self._ahead
            if missing <= LONGEST_GAP * self.rate:
                frames.append(self._silence(missing))
        self._line_end = start + len(pcm) // 2
        self._ahead = 0
        if start != self.end:
            frame = AudioFrame(pcm, frame.rate, self.end, frame.payload, frame.codec)
        recent = self.recent
        recent.push(self.end, pcm)
        self.end = recent.end
        self._observe(now)
        frames.append(frame)
        return frames

    def idle(self, now: float) -> AudioFrame | None:
        """Return the silence that stands for frames that did not come, if it is time for any."""
        if self._offset is None:
            self._offset = now - self.end / self.rate
        if now < self.silent_at:
            return None
        due = int((now - self._offset - SILENT_AFTER) * self.rate)
        step = self.rate // 50
        missing = (due - self.end) // step * step
        if missing <= 0:
            return None
        self._ahead += missing
        return self._silence(missing)

    def close(self) -> None:
        """Let go of the sound; who still reads it keeps what there was."""
        self.recent = RecentSound(1)

    def when(self, position: int) -> float:
        """Return the loop time at which the sample at `position` was spoken, as far as is known."""
        return (self._offset or 0.0) + position / self.rate - self._behind()

    def position(self, now: float) -> int:
        """Return the position of the sample that arrives at `now`."""
        return int((now - (self._offset or now)) * self.rate)

    def _silence(self, samples: int) -> AudioFrame:
        frame = AudioFrame(bytes(2 * samples), self.rate, self.end)
        self.end += samples
        self.recent.push(frame.start, frame.pcm)
        self.silence_fed += samples
        return frame

    def _observe(self, now: float) -> None:
        """Follow the earliest arrivals (they met no queue), and slowly, clocks that drift."""
        spoken = self.end / self.rate
        offset, known = now - spoken, self._offset
        if known is not None and 0.0 <= offset - known <= SILENT_AFTER:
            offset = known + (offset - known) * 0.001
        # Else it is the first or the earliest; or the line stalled and resumed behind us, and
        # positions now mean a later time.
        self._offset = offset
        self.silent_at = offset + SILENT_AFTER + spoken
