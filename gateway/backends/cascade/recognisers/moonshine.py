"""The embedded recogniser: Moonshine tiny, English, on the processor.

It hears a turn as a whole: what was kept of the caller's sound is decoded when it is asked for.
It is never asked about silence, on which it would say "You".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gateway.backends.cascade.ports import Transcript
from gateway.backends.cascade.recognisers.beam_search import Expected, Written
from gateway.backends.cascade.recognisers.caller_sound import (
    SoundRing,
    loudest,
    speech_span,
    split,
)
from gateway.backends.cascade.recognisers.moonshine_hints import expected_words
from gateway.backends.cascade.recognisers.moonshine_model import MODEL, RATE, MoonshineModel, load
from gateway.backends.cascade.recognisers.moonshine_tokens import Tokens
from inference import find
from inference.errors import in_words
from inference.pool import Priority, again
from inference.runtime import Runtime
from media.frame import AudioFrame, Samples
from media.level import level
from media.resample import convert_samples

Sound = npt.NDArray[np.float32]

INVENTED = frozenset({"", "You", "Thank you for watching!"})
"""What it writes about noise, tones and music, in that spelling."""


@dataclass(frozen=True, slots=True)
class MoonshineSettings:
    """How carefully it listens.

    The shares of wrong words are those that `python -m bench.recognise FOLDER --cuts 5` counts in
    67 recorded turns (764 words) in the telephone band.
    """

    kept: float = 32.0
    "seconds of the caller's sound that can be asked about"
    width: int = 3
    "ways of writing it that are kept in mind: 13.6 % are wrong, with 2 14.0"
    quick: int = 2
    "the same for words that are only evidence"
    doubtful: float = -0.2
    "mean logarithm under which it listens again, a bit faster; never: 14.6 %, and a third cheaper"
    hopeless: float = -1.2
    "under which nothing is given: no words are better than such words, the agent asks again"
    margin: float = 0.2
    "seconds around the speech; anything from 0.15 to 0.3 does as well"
    after: float = 0.1
    """seconds of silence added at the end: without, 15.2 % of short turns are wrong instead of
    11.2; with 0.2 it adds a `Thank you.` of its own where the sound stops short"""
    longest: float = 28.0
    "seconds it hears at once: words are lost at every cut, and it was trained on up to 30"
    shortest: float = 0.06
    "seconds of speech below which there is no word; `no` takes 0.15"


AGAIN = 0.95
"""The second look plays the sound this much shorter; other speeds and levels help less."""

AROUND = 0.3
"""Seconds taken on both sides of a turn, to find its edges anew and to have a margin around it."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was heard in one stretch of sound."""

    text: str
    pieces: tuple[int, ...]
    "as the model wrote its first part, for a second look at the same"


@dataclass(frozen=True, slots=True)
class _Look:
    """The last stretch that was looked at, and what was found."""

    start: int
    end: int
    spoken: Spoken


TAIL = 0.06
"""Seconds of the newest sound by which it is known whether the caller goes on: a third of a
syllable. Words are asked for after a pause twice as long."""

WEAKER = 10.0
"""dB below the loud frames of a turn above which that sound is still the caller's, and no noise
behind them."""

SAME_START = 0.3
"""Seconds by which two looks at one turn may differ in where it began."""


class Moonshine:
    """Recogniser for all calls of the process: one pair of models, one stream a caller."""

    def __init__(self, runtime: Runtime, settings: MoonshineSettings | None = None) -> None:
        """Take the runtime; the models are loaded by `load` or at the first question."""
        self.settings = settings or MoonshineSettings()
        self._runtime = runtime
        self._loaded: tuple[MoonshineModel, Tokens] | None = None

    def load(self) -> tuple[MoonshineModel, Tokens]:
        """Load the models (0.5 s); raise ModelMissing or ModelWrong."""
        if self._loaded is None:
            tokens = Tokens(find(MODEL, "tokenizer.bin").read_bytes())
            model = load(self._runtime)
            self._loaded = model, tokens
        return self._loaded

    @property
    def drives(self) -> bool:
        """It hears a stretch of sound when asked, and judges no turns."""
        return False

    def open(
        self,
        rate: int,
        hints: Sequence[str],
        on_words: Callable[[Transcript], None] | None = None,
    ) -> MoonshineStream:
        """Begin a caller's stream; it gives words when asked and never on its own."""
        return MoonshineStream(self, self._runtime, rate, tuple(hints))

    def write(
        self, samples: Samples, rate: int, hints: tuple[str, ...] = (), *, careful: bool = True
    ) -> str:
        """Return the words of one turn, in the calling thread (tens of milliseconds).

        Careless is for words that are only evidence: fewer ways kept in mind, heard once.
        """
        return self.hear(samples, rate, hints, careful=careful).text

    def hear(
        self,
        samples: Samples,
        rate: int,
        hints: tuple[str, ...] = (),
        *,
        careful: bool = True,
        draft: Sequence[int] = (),
        again: Callable[[], bool] = lambda: True,
    ) -> Spoken:
        """Return the words as `write` does, with what the next look at the same turn begins from.

        `draft` is what an earlier look at this turn wrote; only what it got wrong costs anything.
        `again` is asked whether a second look at doubtful words is still of use.
        """
        chosen = self.settings
        span = speech_span(samples, rate)
        if span is None or span[1] - span[0] < chosen.shortest * rate:
            return Spoken("", ())
        around = int(chosen.margin * rate)
        turn = samples[max(0, span[0] - around) : span[1] + around]
        model, tokens = self.load()
        expected = expected_words(tokens, hints) if hints else None
        pieces: tuple[int, ...] = ()
        texts: list[str] = []
        for part in split(turn, rate, chosen.longest):
            sound = self._prepare(part, rate)
            best = _written(model, sound, chosen, expected, careful, () if texts else draft, again)
            if not texts:
                pieces = best.pieces
            texts.append(_text(tokens, best, chosen))
        return Spoken(" ".join(each for each in texts if each), pieces)

    def _prepare(self, samples: Samples, rate: int) -> Sound:
        """Bring sound to what the model expects: 16 kHz, -1 to 1, with an end."""
        sound = samples.astype(np.float32) / np.float32(32768)
        if rate != RATE:
            sound = convert_samples(sound, rate, RATE)
        return np.pad(sound, (0, int(self.settings.after * RATE)))


class MoonshineStream:
    """One caller's last minute."""

    def __init__(
        self, recogniser: Moonshine, runtime: Runtime, rate: int, hints: tuple[str, ...]
    ) -> None:
        """Begin with nothing heard."""
        self._recogniser = recogniser
        self._runtime = runtime
        self._rate = rate
        self._hints = hints
        self._ring = SoundRing(rate, recogniser.settings.kept)
        self._last: _Look | None = None

    async def serve(self) -> None:
        """Return at once: there is nothing to keep."""

    def feed(self, frame: AudioFrame) -> None:
        """Keep the next frame."""
        self._ring.push(frame.start, frame.samples())

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        """Return the words in [start, end); raise OSError when that cannot be done."""
        around = int(AROUND * self._rate)
        samples = self._ring.take(start - around, end + around)
        evidence = not final or self._goes_on(samples)

        def job() -> Spoken:
            known = self._covering(start, end)
            if evidence and known is not None:
                return known  # more of it was asked about meanwhile, and that was more urgent
            spoken = self._recogniser.hear(
                samples,
                self._rate,
                self._hints,
                careful=not evidence,
                # As it is when the job begins: the look before may be done by then.
                draft=self._draft(start, end),
                again=lambda: not self._goes_on(samples),
            )
            if self._covering(start, end) is None:
                self._last = _Look(start, end, spoken)
            return spoken

        try:
            spoken = await self._runtime.run(
                lambda: again(job),
                priority=Priority.REPLY if evidence else Priority.DECISION,
                model="recogniser",
            )
        except Exception as error:  # fence: refused by the pool, or broken in the models
            raise OSError(f"the recogniser failed: {in_words(error)}") from error
        return Transcript(spoken.text, final=final)

    def _draft(self, start: int, end: int) -> tuple[int, ...]:
        """Return what an earlier look at the same turn wrote; nothing where it was another turn."""
        last = self._last
        if last is None or not self._same_start(last, start) or end < last.end:
            return ()
        return last.spoken.pieces

    def _covering(self, start: int, end: int) -> Spoken | None:
        """Return what was heard in a later look at the same turn, if there was one."""
        last = self._last
        if last is None or not self._same_start(last, start) or last.end <= end:
            return None
        return last.spoken

    def _same_start(self, last: _Look, start: int) -> bool:
        return abs(start - last.start) <= SAME_START * self._rate

    def _goes_on(self, turn: Samples) -> bool:
        """Return whether the caller sounds now: the words of `turn` are evidence then, no more."""
        newest = self._ring.end
        tail = self._ring.take(newest - int(TAIL * self._rate), newest)
        return len(tail) > 0 and level(tail) > loudest(turn, self._rate) - WEAKER

    async def close(self) -> None:
        """Let go of the sound."""
        self._ring = SoundRing(self._rate, 0.1)


def _written(
    model: MoonshineModel,
    sound: Sound,
    chosen: MoonshineSettings,
    expected: Expected | None,
    careful: bool,
    draft: Sequence[int],
    again: Callable[[], bool],
) -> Written:
    """Write down at most `longest` seconds."""
    width = chosen.width if careful else chosen.quick
    best = model.write(model.hear(sound), len(sound), width=width, expected=expected, draft=draft)
    if careful and best.confidence < chosen.doubtful and again():
        faster = convert_samples(sound, RATE, int(RATE * AGAIN))
        second = model.write(
            model.hear(faster), len(faster), width=width, expected=expected, draft=best.pieces
        )
        best = max(best, second, key=lambda each: each.confidence)
    return best


def _text(tokens: Tokens, best: Written, chosen: MoonshineSettings) -> str:
    if best.confidence < chosen.hopeless:
        return ""
    text = tokens.text(best.pieces)
    return "" if text in INVENTED else text
