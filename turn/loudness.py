"""How loud the line, the caller and our own echo are: what is heard is judged against that."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Collection, Iterable

from turn.events import VoiceScored

WINDOWS = 31
"""One second of the usual windows of 32 ms: the speaker's level over the last few syllables."""

UNHEARD = -70.0
"""dBFS taken for the line's noise until it is heard: between digital silence and G.711's own."""

DOWN, UP = 0.3, 0.02
"""How fast the noise is followed, a window: within 0.1 s down, within 1.5 s up, since noise is what
is left between sounds."""

STEADY_WINDOWS = 94
"""Three seconds: a speaker pauses for breath, for a stop, between words, and many at once never."""

STEADY = 13.0
"""dB between the tenth and the 95th percentile of those windows under which no single voice is in
them: in recorded speech there are 18 and more, over eight voices 15 dB lower 17 and more, in eight
voices alone 7 to 12."""

ECHO_FADE = 0.5
"""dB by which an echo's level is forgotten a window, 15 dB a second."""


class Loudness:
    """Levels of the line and of the caller, in dBFS."""

    def __init__(self) -> None:
        self.noise = UNHEARD
        "the line without anybody's voice"
        self._voiced: deque[float] = deque(maxlen=WINDOWS)
        self._ordered: list[float] = []
        "the same by level"
        self._run: deque[float] = deque(maxlen=STEADY_WINDOWS)

    @property
    def speech(self) -> float:
        """Return the level of the present or last speech: the upper quartile of its windows."""
        ordered = self._ordered
        return ordered[(len(ordered) * 3) // 4] if ordered else self.noise

    def quiet(self, level: float) -> None:
        """Take a window without voice."""
        self.noise += (level - self.noise) * (DOWN if level < self.noise else UP)

    def begin(self, levels: Iterable[float]) -> None:
        """Take the first voiced windows of a speech."""
        self._voiced.clear()
        self._voiced.extend(levels)
        self._ordered = sorted(self._voiced)
        self._run.clear()

    def voiced(self, level: float) -> None:
        """Take a further voiced window."""
        if len(self._voiced) == WINDOWS:
            del self._ordered[bisect_left(self._ordered, self._voiced[0])]
        self._voiced.append(level)
        insort(self._ordered, level)
        self._run.append(level)

    @property
    def steady(self) -> bool:
        """Return whether the speech went on for long without ever falling, as no speaker does."""
        if len(self._run) < STEADY_WINDOWS:
            return False
        return spread(self._run, 0.95) < STEADY


def spread(levels: Collection[float], high: float = 0.75) -> float:
    """Return how far levels lie apart in dB, from the lowest tenth to the share `high` of them."""
    ordered = sorted(levels)
    return ordered[int(len(ordered) * high)] - ordered[len(ordered) // 10]


class EchoTail:
    """Knows windows that are our own sound, and the faint ends of it."""

    def __init__(self, share: float, after: int, below: float) -> None:
        """`share`: explained by our sound; `after`: samples; `below`: dB under the echo."""
        self._share = share
        self._after = after
        self._below = below
        self._level = UNHEARD
        self._until = 0

    def holds(self, window: VoiceScored) -> bool:
        """Take the next window; say whether it is our own sound or the end of it."""
        if window.echo >= self._share:
            fresh = window.end > self._until
            self._level = window.level if fresh else max(window.level, self._level - ECHO_FADE)
            self._until = window.end + self._after
            return True
        return window.end <= self._until and window.level < self._level - self._below
