"""When the caller makes a sound and when not: voice scores to clean edges.

The voice activity model is late at both ends: it calls a start one or two windows after it (more
after a soft fricative) and a stop some 70 ms after the voice died away.
The gate moves both edges to where the level says they are, within a bound, and never the decision.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from turn.events import SpeechStarted, SpeechStopped, VoiceScored
from turn.loudness import EchoTail, Loudness
from turn.nearness import Alone, Nearness, NearnessSettings

Line = Literal["silent", "rising", "murmur"]
"""What is heard while nobody is known to speak: nothing, a sound that may just be starting, or a
voice that is too weak for the caller's, and whose is not known."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Numbers of the gate; scores are the model's, levels in dBFS."""

    onset: float = 0.5
    "score at which a window counts towards a start (Silero's own default)"
    offset: float = 0.35
    "score below which a window is silent (Silero's own default: 0.15 below the onset)"
    loud: float = 30.0
    """dB above the line's noise from which a window counts towards a start at `offset` already: on
    the telephone band the model gives single words said clearly after a silence no more than 0.4
    to 0.6, and noise as loud as that less than 0.1"""
    least: float = 0.06
    "seconds of speech that make a start: two windows, so that a click is none"
    stop: float = 0.10
    "seconds of silence that make a stop: longer than the closure of a stop consonant (up to 80 ms)"
    look_back: float = 0.20
    "seconds by which an edge may be moved; the last syllable's decay is shorter"
    fall: float = 30.0
    """dB below the speaker's level at which the voice has died away; against the ends marked on 83
    recordings this is 2 ms late in the median, and the model's own edge 78 ms"""
    above_noise: float = 6.0
    "dB above the line's noise below which nothing is voice"
    echo: float = 0.6
    "share of a window explained by our own sound from which it is not the caller's"
    echo_after: float = 0.2
    """seconds after echo in which a window must be about as loud to be the caller's: the voice
    model stays open for 0.1 s over the faint end of an echo, where there is nothing to explain"""
    echo_below: float = 6.0
    "dB below the echo that are still about as loud"
    nearness: NearnessSettings = field(default_factory=NearnessSettings)


class Gate:
    """Decides where speech starts and stops; never what it means."""

    def __init__(self, rate: int, settings: GateSettings | None = None) -> None:
        self._settings = settings or GateSettings()
        self._rate = rate
        self.voiced = False
        "the caller is speaking"
        self.rising = False
        "the last window was voiced, whether or not it was enough for a start"
        self.start = 0
        "first voiced sample of the present or last speech"
        self.end = 0
        "last voiced sample so far of the present or last speech"
        self.model_end = 0
        "the same as the voice model sees it, some 70 ms later"
        self.seconds = 0.0
        "voiced sound in the present or last speech"
        settings = self._settings
        self._loudness = Loudness()
        self._nearness = Nearness(rate, settings.nearness)
        self._unknown = False
        "nobody was known to be the caller when the present speech began"
        self._echo = EchoTail(settings.echo, int(settings.echo_after * rate), settings.echo_below)
        self._run: tuple[int, int] | None = None
        "where a sound began that may be a start, and how much of it is voiced so far"
        self._recent: deque[VoiceScored] = deque(maxlen=16)

    @property
    def level(self) -> float:
        """Level of the present or last speech in dBFS."""
        return self._loudness.speech

    @property
    def usual(self) -> float | None:
        """Level at which this caller usually speaks; None before the first speech."""
        return self._nearness.own

    @property
    def nobody(self) -> bool:
        """Return whether this speech, the first on this line, is too steady to be a voice."""
        return self.voiced and self._unknown and self._loudness.steady

    def feed(
        self, window: VoiceScored, *, taken: bool = False
    ) -> list[SpeechStarted | SpeechStopped]:
        """Take the next window; give what it decides.

        `taken`: the floor is not open to a voice that is weaker than the caller's.
        """
        settings = self._settings
        self._recent.append(window)
        score = 0.0 if self._echo.holds(window) else window.probability
        loud = window.level > self._loudness.noise + settings.loud
        threshold = settings.offset if self.voiced or loud else settings.onset
        voice = score >= threshold
        self.rising = voice and self._mine(window, taken=taken)
        if self.rising:
            return self._voice(window)
        self._run = None
        if not voice:
            self._nearness.quiet(window)
        if self.voiced:
            return self._silence(window, voice=voice)
        if not voice:
            self._loudness.quiet(window.level)
        found = self._nearness.alone()
        return [] if found is None else self._alone(window, found)

    @property
    def line(self) -> Line:
        """Return what the last window held."""
        if self.rising or self._nearness.begins:
            return "rising"
        return "murmur" if self._nearness.murmur else "silent"

    def dismiss(self, now: int) -> SpeechStopped:
        """What was taken for the caller is nobody; nothing as loud starts a speech again."""
        self._nearness.dismiss(self._loudness.speech)
        self.voiced = self.rising = False
        return SpeechStopped(now, self.end)

    def _mine(self, window: VoiceScored, *, taken: bool) -> bool:
        """Return whether a window with voice is the caller's."""
        if self.voiced:
            return self._nearness.goes_on(window)
        return self._nearness.starts(window, taken=taken)

    def _voice(self, window: VoiceScored) -> list[SpeechStarted | SpeechStopped]:
        length = window.end - window.start
        if self.voiced:
            self._loudness.voiced(window.level)
            self.end = window.end
            self.seconds += length / self._rate
            self._nearness.learn(self._loudness.speech, self.seconds, length / self._rate)
            return []
        first, voiced = self._run or (window.start, 0)
        self._run = first, voiced + length
        if voiced + length < self._settings.least * self._rate:
            return []
        self._loudness.begin(each.level for each in self._recent if each.start >= first)
        self.start = self._onset(first)
        self.end = window.end
        self.seconds = (window.end - self.start) / self._rate
        self._unknown = self._nearness.own is None
        return self._begin(window)

    def _alone(self, window: VoiceScored, low: Alone) -> list[SpeechStarted | SpeechStopped]:
        """Believe a low voice that is the only one."""
        self._loudness.begin(each.level for each in self._recent if each.start >= low.start)
        self.start = max(self.end, low.start)
        self.end = max(self.start, low.end)
        self.seconds = min(low.seconds, (self.end - self.start) / self._rate)
        self._unknown = False
        return self._begin(window)

    def _begin(self, window: VoiceScored) -> list[SpeechStarted | SpeechStopped]:
        self.voiced = True
        self._run = None
        self._nearness.begin(window.end)
        self._nearness.learn(self._loudness.speech, self.seconds, self.seconds)
        return [SpeechStarted(window.end, self.start)]

    def _silence(self, window: VoiceScored, *, voice: bool) -> list[SpeechStarted | SpeechStopped]:
        """Take a window that is not the caller's; `voice`: it is that of somebody behind them."""
        edge = max(self.start, min(self.end, self._nearness.last)) if voice else self._offset()
        self.model_end = self.end
        if window.end - edge < self._settings.stop * self._rate:
            return []
        if edge < self.end:
            self.seconds = max(0.0, self.seconds - (self.end - edge) / self._rate)
            self.end = edge
        self.voiced = False
        return [SpeechStopped(window.end, self.end)]

    def _audible(self) -> float:
        """Return the level under which nothing is this caller's voice."""
        noise, speech = self._loudness.noise, self._loudness.speech
        return max(noise + self._settings.above_noise, speech - self._settings.fall)

    def _offset(self) -> int:
        """Find the last voiced sample: back from the model's edge to where the level was up."""
        bound = max(self.start, self.end - int(self._settings.look_back * self._rate))
        quiet = self._audible()
        edge = self.end
        for window in reversed(self._recent):
            if window.end > edge:
                continue
            if window.level >= quiet or window.start <= bound:
                break
            edge = window.start
        return edge

    def _onset(self, start: int) -> int:
        """Find the first voiced sample: on from the model's edge while the level is up before."""
        bound = max(self.end, start - int(self._settings.look_back * self._rate))
        noise, speech = self._loudness.noise, self._loudness.speech
        loud = max(noise + 2 * self._settings.above_noise, speech - self._settings.fall)
        edge = start
        for window in reversed(self._recent):
            if window.end > edge:
                continue
            half_voiced = window.probability >= self._settings.offset
            echo = window.echo >= self._settings.echo
            if echo or window.start < bound or not (window.level >= loud or half_voiced):
                break
            edge = window.start
        return edge
