"""What the caller did, in time with what they hear: later when the agent answers later.

Between what the caller says nothing depends on when exactly they say it: so a caller who waited
for an answer waits for the later one, with silence in between, and begins as long after it as they
did. What they said meanwhile can't be moved so, and who changes that must stop judging.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from gateway.replay import records
from gateway.replay.file import CallJournal
from gateway.replay.records import form_of

STEP = 0.16
"""Seconds by which the caller is moved: whole frames, and whole windows of the voice model."""

FRAMES = 8
WINDOWS = 5
"""Of sound and of the voice model in a step."""

VOICED = 0.5
"""Score from which a window holds voice."""

R = TypeVar("R", records.Sound, records.Voice)

Source = (
    records.Sound
    | records.Voice
    | records.Line
    | records.Far
    | records.Behind
    | records.Asked
    | records.PutThrough
    | records.Said
)
"""What came to the call whatever it did; of what the backend said, what belongs to no reply."""


class Timeline:
    """The records of what came from outside, each at its time of now."""

    def __init__(self, journal: CallJournal) -> None:
        self._left: deque[Source] = deque(
            each for each in journal.records if isinstance(each, Source) and _by_itself(each)
        )
        self._rate = journal.header.info.rate
        self._form = form_of(journal.header.info)
        self._block: deque[Source] = deque()
        "silence that the caller waits longer"
        self._sound_end = self._voice_end = 0
        self.shift = 0.0
        "seconds by which the caller is later than they were"
        self._moves: list[tuple[int, float]] = [(0, 0.0)]
        "from which position on of now the sound is so much later"

    @property
    def samples(self) -> int:
        """Return the same in samples."""
        return round(self.shift * self._rate)

    def then(self, position: int) -> float:
        """Return where a position of now was in the recording, in seconds of the caller's sound."""
        shift = next(shift for since, shift in reversed(self._moves) if position >= since)
        return position / self._rate - shift

    @property
    def holding(self) -> bool:
        """Return whether the caller waits."""
        return bool(self._block)

    @property
    def over(self) -> bool:
        """Return whether nothing more comes."""
        return not self._left and not self._block

    @property
    def next_at(self) -> float | None:
        """Return when the next record is due."""
        if self._block:
            return self._block[0].t
        return self._left[0].t + self.shift if self._left else None

    def take(self) -> Source:
        """Take the next record, as it is now."""
        if self._block:
            record = self._block.popleft()
        else:
            record = self._moved(self._left.popleft())
        match record:
            case records.Sound():
                self._sound_end = record.start + self._length(record)
            case records.Voice():
                self._voice_end = record.end
            case _:
                pass
        return record

    def hold(self, now: float) -> None:
        """Let the caller wait for one more step."""
        frame, window = round(STEP / FRAMES * self._rate), round(STEP / WINDOWS * self._rate)
        silence = self._form.silence(frame)
        codec = self._form.name if self._form.name != "l16" else ""
        made: list[Source] = []
        sound, voice = self._sound_end, self._voice_end
        for number in range(FRAMES):
            at = now + number * STEP / FRAMES
            start = sound + number * frame
            made.append(records.Sound(at, start, bytes(2 * frame), silence, codec))
        for number in range(WINDOWS):
            at = now + (number + 0.5) * STEP / WINDOWS
            start = voice + number * window
            made.append(records.Voice(at, start, start + window, 0.0, -70.0, ""))
        self._block.extend(sorted(made, key=lambda each: each.t))
        self.shift += STEP
        self._moves.append((sound + FRAMES * frame, self.shift))

    def skip(self, seconds: float) -> None:
        """Let the caller wait less, by whole steps, as far as they only waited."""
        for _ in range(int(seconds / STEP + 1e-6)):
            if not self._skip():
                return

    def _skip(self) -> bool:
        sounds = self._found(records.Sound, FRAMES)
        voices = self._found(records.Voice, WINDOWS)
        step = round(STEP * self._rate)
        whole = sum(self._length(each) for each in sounds) == step
        if not whole or sum(each.end - each.start for each in voices) != step:
            return False
        drop = {id(each) for each in (*sounds, *voices)}
        self._left = deque(each for each in self._left if id(each) not in drop)
        self.shift -= STEP
        self._moves.append((self._sound_end, self.shift))
        return True

    def _found(self, kind: type[R], count: int) -> Sequence[R]:
        found: list[R] = []
        for each in self._left:
            if isinstance(each, kind):
                found.append(each)
                if len(found) == count:
                    break
        return found

    def _length(self, record: records.Sound) -> int:
        if record.pcm:
            return len(record.pcm) // 2
        return len(record.payload) // self._form.bytes_per_sample

    def _moved(self, record: Source) -> Source:
        samples, t = self.samples, record.t + self.shift
        match record:
            case records.Sound(start=start):
                return msgspec.structs.replace(record, t=t, start=start + samples)
            case records.Voice(start=start, end=end):
                return msgspec.structs.replace(
                    record, t=t, start=start + samples, end=end + samples
                )
            case _:
                return msgspec.structs.replace(record, t=t)


def voiced(journal: CallJournal) -> Iterator[tuple[float, float]]:
    """Return the stretches in which the caller made a sound, in seconds of the journal's clock."""
    begun: float | None = None
    end = 0.0
    rate = journal.header.info.rate
    for record in journal.records:
        if not isinstance(record, records.Voice) or record.probability < VOICED:
            continue
        length = (record.end - record.start) / rate
        if begun is not None and record.t - length - end > 0.25:
            yield begun, end
            begun = None
        if begun is None:
            begun = record.t - length
        end = record.t
    if begun is not None:
        yield begun, end


def _by_itself(record: Source) -> bool:
    match record:
        case records.Said(kind=kind):
            return kind in ("BackendReady", "BackendLost", "UsageReported")
        case records.Far(what=what):
            return what in ("set_latency", "measure")
        case _:
            return True
