"""What a sound over the agent's voice is: a nod, a noise, our own echo, or a claim to the floor.

The agent is ducked at once and silent within `hold` seconds of the first voiced sample, unless the
sound is over by then or its words are a nod so far.
Nothing is given up before the decision, so the decision can take the time it needs: a claim is
heard as silence within `hold` whatever its words turn out to be, and a sound that was no claim
costs the caller a short gap and nothing else.
That is why a claim is never taken back: what yields no words is dismissed before it becomes one.
"""

from __future__ import annotations

from dataclasses import dataclass

from turn.events import (
    AskWords,
    FloorClaimed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    TurnOutput,
    WordsArrived,
)
from turn.words import Lexicon, Nod, distinct, nod


@dataclass(frozen=True, slots=True)
class OverlapSettings:
    """Seconds are counted from the first voiced sample of the sound."""

    asks: tuple[float, ...] = (0.25, 0.45, 0.75)
    """When the words so far are asked for: `okay` is recognised from 0.25 s on, the opening of a
    sentence from 0.45 s, and what is a puzzle at 0.75 s is longer than most nods."""
    lead: float = 0.1
    "sound before the first voiced sample that the recogniser is given"
    hold: float = 0.31
    "undecided so long, nothing more is sent; with the model's window this is within 0.4 s"
    hold_nod: float = 0.35
    "the same when the words are a nod so far: a single `okay` is over by then"
    hold_again: float = 0.1
    """the same where no recogniser listens and the sound just before was taken for a nod: two in a
    row are more often a sentence that began with a short word"""
    again: float = 1.0
    "seconds after such a sound in which the next one is in a row with it"
    going_on: float = 0.9
    "voice of this length is a claim whatever it says: recorded nods last 0.3 to 0.9 s"
    nodding: float = 1.4
    "the same where all words are nods: `okay, all right, thank you`, laughter"
    answer: float = 0.25
    "voice of this length answers an agent that asks: `yes` is as short"
    least: float = 0.15
    "voice shorter than this is a click or a cough"
    single: float = 0.6
    "voice shorter than this with one unknown word is a nod misheard: `sure` comes out as `here`"
    aside: float = 15.0
    "dB below the caller's usual level at which a voice is not the caller's, unless it says `wait`"
    echo: float = 0.5
    "mean share of our own sound above which the words may be our own too"
    unheard: float = 0.2
    "sound at the end that a nod may have without its words being known"
    words_wait: float = 0.35
    "after the sound stopped the decision waits so long for its words"
    limit: float = 2.0
    "every overlap is decided by then"


@dataclass(frozen=True, slots=True)
class Sound:
    """What the gate knows about the sound at this moment."""

    now: int
    end: int
    "last voiced sample so far"
    voiced: bool
    "it has not stopped"
    level: float
    "dBFS"
    echo: float
    "mean share of our own sound in it"


class Overlap:
    """One sound over the agent's voice, from its first window to the decision."""

    def __init__(
        self,
        rate: int,
        lists: Lexicon,
        settings: OverlapSettings,
        start: int,
        *,
        asks: bool,
        words: bool,
        usual: float | None,
        again: bool = False,
    ) -> None:
        """`asks`: a question was heard; `words`: a recogniser listens; `usual`: the caller's dB.

        `again`: a sound just before was taken for a nod.
        """
        self.start = start
        "first voiced sample"
        self._rate = rate
        self._lists = lists
        self._settings = settings
        self._asks = asks
        self._words = words
        self._usual = usual
        self._again = again
        self._held = False
        self._asked: list[int] = []
        self._known = 0
        "position up to which the words are known"
        self._text = ""
        self._nod: Nod = "none"
        self._meant = 0
        "answers in a row that held words which are no nod"

    def began(self, now: int) -> list[TurnOutput]:
        """The sound passed the gate."""
        return [OverlapBegan(now, self.start)]

    def heard(self, sound: Sound) -> list[TurnOutput]:
        """Time went on."""
        outputs = self._ask(sound) if self._words else []
        decision = self._decide(sound)
        if decision is not None:
            return [*outputs, decision]
        sounding = sound.now == sound.end
        if sounding and not self._held and self._elapsed(sound.now) >= self._hold:
            self._held = True
            outputs.append(OverlapHeld(sound.now))
        return outputs

    @property
    def _hold(self) -> float:
        """Return after how many seconds of an undecided sound nothing more is sent."""
        if self._nod == "backchannel":
            return self._settings.hold_nod
        return self._settings.hold_again if self._again and not self._words else self._settings.hold

    def words(self, arrived: WordsArrived, sound: Sound) -> list[TurnOutput]:
        """The recogniser answered; words that end elsewhere are not of this sound."""
        if arrived.end not in self._asked or arrived.end < self._known:
            return []
        if arrived.text is None:
            self._words = False
            return []
        self._known = arrived.end
        self._text = arrived.text
        seconds = self._elapsed(min(arrived.end, sound.end))
        self._nod = nod(arrived.text, seconds, self._lists)
        self._meant = self._meant + 1 if self._nod in ("claim", "words") else 0
        decision = self._decide(sound)
        return [] if decision is None else [decision]

    def _ask(self, sound: Sound) -> list[TurnOutput]:
        """Ask at the set times while the sound lasts, and once more for all of it."""
        times = self._settings.asks
        count = len(self._asked)
        if sound.voiced:
            due = count < len(times) and self._elapsed(sound.now) >= times[count]
        else:
            due = not self._asked or self._asked[-1] < sound.end
        if not due:
            return []
        self._asked.append(sound.now)
        lead = int(self._settings.lead * self._rate)
        return [AskWords(max(0, self.start - lead), sound.now)]

    def _decide(self, sound: Sound) -> TurnOutput | None:
        length = self._elapsed(sound.end)
        claimed = self._claimed(sound, length)
        if claimed:
            return FloorClaimed(sound.now, self.start, f"{claimed}, {length:.2f} s")
        if not sound.voiced and (length < self._settings.least or not self._owed(sound)):
            return self._dismiss(sound, length)
        if self._elapsed(sound.now) < self._settings.limit:
            return None
        if self._nod == "none" and self._words:
            return self._dismiss(sound, length)
        return FloorClaimed(sound.now, self.start, f"length, {length:.2f} s")

    def _claimed(self, sound: Sound, length: float) -> str:
        """Name the evidence for a claim; empty: none so far."""
        settings = self._settings
        if sound.echo >= settings.echo:
            return ""
        final = not sound.voiced and self._known >= sound.end
        enough = self._nod == "claim" or distinct(self._text) >= 2
        if final and self._meant and (enough or length >= settings.single):
            return f"words: {self._text}"
        if self._meant >= 2 and enough:
            return f"words: {self._text}"
        if self._usual is not None and sound.level < self._usual - settings.aside:
            return ""
        answers = self._nod in ("backchannel", "claim", "words") if self._words else True
        if self._asks and answers and length >= settings.answer:
            return f"answer: {self._text}"
        limit = settings.nodding if self._nod == "backchannel" else settings.going_on
        silent = self._nod == "none" and self._known > 0
        return "length" if length >= limit and not silent else ""

    def _owed(self, sound: Sound) -> bool:
        """Return whether words of the whole sound are on their way."""
        waited = (sound.now - sound.end) / self._rate
        spare = self._settings.unheard if self._nod == "backchannel" else 0.0
        covered = self._known >= sound.end - spare * self._rate
        return self._words and not covered and waited < self._settings.words_wait

    def _dismiss(self, sound: Sound, length: float) -> OverlapDismissed:
        if sound.echo >= self._settings.echo:
            return OverlapDismissed(sound.now, "echo", self._text)
        if self._nod != "none":
            return OverlapDismissed(sound.now, "backchannel", self._text)
        if length < self._settings.answer or (not sound.voiced and self._known):
            return OverlapDismissed(sound.now, "noise")
        wordless = self._words and bool(self._known)
        return OverlapDismissed(sound.now, "wordless" if wordless else "backchannel")

    def _elapsed(self, position: int) -> float:
        return (position - self.start) / self._rate
