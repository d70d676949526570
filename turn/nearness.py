"""Whose voice it is, by its level: the caller's own, or one behind it that is much weaker.

A radio, an office or a child in the room score as voice like the caller does.
What tells them apart on one channel is how loud they are against this caller; how the caller's
level is learned, and when a low voice is believed after all, is decided here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from turn.events import VoiceScored
from turn.loudness import spread

DOUBTED_WINDOWS = 38
"""Those of the last 1.2 s."""


@dataclass(frozen=True, slots=True)
class NearnessSettings:
    """Decibels are below the caller's own level; `docs/turn-taking.md` has the measurements."""

    below: float = 12.0
    "weaker than this is not this caller, or only the soft end of a word"
    soft: float = 0.4
    "seconds a soft stretch may last: of 96 recordings 6 hold a longer one"
    doubt: float = 6.0
    "sound weaker than this for over a second may be many voices behind the caller's"
    steady: float = 10.0
    """dB between the upper quartile and the tenth percentile of that second under which it is: of
    recorded speech one stretch in a hundred, of eight voices at once 95"""
    faint: float = -46.0
    """dBFS under which a voice is taken for a distant one before the caller's is known: of 130
    recordings none is so weak"""
    masked: float = 9.0
    "a voice that has gone on since the caller stopped is theirs only if it is not weaker"
    alone: float = 1.2
    "seconds after which a low voice in a quiet room is the caller: a telephone handed over"
    word: float = 0.25
    "the same for one that stopped: nothing else was heard before and after it"
    rest: float = 0.5
    "seconds without any voice after which it has stopped"
    evidence: float = 1.0
    "seconds of a voice behind the caller's that make it known"
    kept: float = 4.0
    "seconds of it that are remembered"
    above: float = 6.0
    "dB by which the caller is louder than a voice that is known to be behind"
    fade: float = 1.0
    "dB a second by which the caller's level falls while they speak more softly"
    onset: float = 0.2
    "seconds for which a weak voice may be the soft beginning of the caller's"
    short: float = 0.4
    "seconds of sound that do not raise a level which is known: a cough or a knock is loud"


class Background:
    """A voice that goes on behind the caller's: how loud it is, and whether it is there at all."""

    def __init__(self, settings: NearnessSettings) -> None:
        self._settings = settings
        self.level = settings.faint
        "dBFS"
        self._heard = 0.0
        "seconds of it, less half of those in which it was silent"

    @property
    def known(self) -> bool:
        """Return whether such a voice is there."""
        return self._heard >= self._settings.evidence

    def voice(self, level: float, seconds: float) -> None:
        """Take a window of it."""
        self._heard = min(self._heard + seconds, self._settings.kept)
        self.level += (level - self.level) * min(1.0, seconds / self._heard)

    def quiet(self, seconds: float) -> None:
        """Take a window without any voice."""
        self._heard = max(0.0, self._heard - seconds / 2)

    def holds(self, level: float) -> bool:
        """Return whether a voice so loud is this one."""
        return self.known and level < self.level + self._settings.above


@dataclass(frozen=True, slots=True)
class Alone:
    """A low voice beside which there is no other."""

    start: int
    end: int
    seconds: float
    "of voice in it"
    level: float
    "of its loudest window, in dBFS"


class Nearness:
    """Decides which voiced windows are the caller's; never where their speech begins or ends."""

    def __init__(self, rate: int, settings: NearnessSettings | None = None) -> None:
        self._settings = settings or NearnessSettings()
        self._rate = rate
        self.own: float | None = None
        "level of this caller's voice in dBFS; None before it was heard"
        self._present: float | None = None
        "level of the speech that is going on, or went on last"
        self._learned = 0.0
        "seconds of speech by which the caller's level is known"
        self._near_end = 0
        "one past the last window that was loud enough for this caller"
        self._sure_end = 0
        "the same for one of which there was no doubt"
        self._doubtful = False
        "the voice is too weak and too steady to be the caller's"
        self._masked = False
        "a weak voice goes on in which the caller's end was lost"
        self._recent: deque[float] = deque(maxlen=DOUBTED_WINDOWS)
        "levels of the present speech since there was no doubt"
        self.murmur = 0.0
        "seconds for which a voice goes on that is not the caller's, nor known to be behind"
        self._background = Background(self._settings)
        self._low: Alone | None = None
        "a low voice that may be the caller's after all"
        self._silent = 0.0

    def begin(self, at: int) -> None:
        """The caller's speech begins, as far as can be told, before `at`."""
        self._present = None
        self._near_end = self._sure_end = at
        self._doubtful = self._masked = False
        self.murmur = 0.0
        self._recent.clear()

    def goes_on(self, window: VoiceScored) -> bool:
        """Take a window with voice while the caller speaks; say whether it is still them."""
        settings = self._settings
        self._silent = 0.0
        level = window.level if self._present is None else self._present
        self._recent.append(window.level)
        if window.level >= level - settings.doubt:
            self._sure_end = window.end
            self._recent.clear()
        if window.level >= level - settings.below:
            self._near_end = window.end
        full = len(self._recent) == DOUBTED_WINDOWS
        self._doubtful = full and spread(self._recent) < settings.steady
        soft = window.end - self._near_end <= settings.soft * self._rate
        self._masked = not soft
        return soft and not self._doubtful

    def starts(self, window: VoiceScored, *, taken: bool) -> bool:
        """Take a window with voice while the caller is silent; say whether it may be them.

        `taken`: the floor is not open to a new voice, since the agent sounds or a turn has paused.
        """
        self._silent = 0.0
        seconds = (window.end - window.start) / self._rate
        known = self._doubtful or self._background.holds(window.level)
        self.murmur = 0.0 if known else self.murmur + seconds
        if window.level >= self._least():
            self._low = None
            return True
        if taken or self._background.holds(window.level):
            self._background.voice(window.level, seconds)
            self._low = None
        elif self._low is None:
            self._low = Alone(window.start, window.end, seconds, window.level)
        else:
            low, level = self._low, max(self._low.level, window.level)
            self._low = Alone(low.start, window.end, low.seconds + seconds, level)
        return False

    def quiet(self, window: VoiceScored) -> None:
        """Take a window without voice."""
        seconds = (window.end - window.start) / self._rate
        self._background.quiet(seconds)
        self.murmur = 0.0
        self._silent += seconds
        if self._silent >= self._settings.rest:
            self._doubtful = self._masked = False

    @property
    def begins(self) -> bool:
        """Return whether a weak voice has just begun, which may be the caller's soft beginning."""
        return 0.0 < self.murmur < self._settings.onset

    @property
    def last(self) -> int:
        """One past the last window that was the caller's for certain."""
        return self._sure_end if self._doubtful else self._near_end

    def alone(self) -> Alone | None:
        """Return a low voice that is the only one, once it is believed: it is the caller's now."""
        low = self._low
        if low is None:
            return None
        settings = self._settings
        stopped = self._silent >= settings.rest
        if low.seconds < settings.alone and not stopped:
            return None
        self._low = None
        if low.seconds < (settings.word if stopped else settings.alone):
            return None
        self.own = low.level
        return low

    def learn(self, level: float, seconds: float, passed: float) -> None:
        """Take the level of the caller's speech, `seconds` long so far, `passed` since the last."""
        fall = self._settings.fade * passed
        present = level if self._present is None else max(level, self._present - fall)
        self._present = present
        self._learned += passed
        short = self._settings.short
        cough = seconds < short <= self._learned
        if self.own is None or (level > self.own and not cough):
            self.own = level
        elif level < self.own:
            self.own = max(level, self.own - fall)

    def dismiss(self, level: float) -> None:
        """What was taken for the caller is nobody: it is what this line sounds like."""
        self._background.voice(level, self._settings.kept)
        self.own = None
        self._learned = 0.0

    def _least(self) -> float:
        """Return the level from which a voice in the silence is the caller's."""
        settings, behind = self._settings, self._background.level + self._settings.above
        if self.own is None:
            return behind if self._background.known else settings.faint
        sure = self.own - settings.doubt
        if self._doubtful and self._present is not None:
            return self._present - settings.doubt
        least = self.own - (settings.masked if self._masked else settings.below)
        return max(least, min(behind, sure)) if self._background.known else least
