"""When the caller's turn is over: one pause after another, each with its evidence and its limit.

In a pause it asks the semantic detector and the recogniser once, adds up what they say, and waits
for as long as the sum deserves.
Every wait is bounded: without any answer the silence timer decides.
"""

from __future__ import annotations

from turn.events import (
    AskWords,
    AssessTurn,
    KeyPressed,
    TurnAssessed,
    TurnDrafted,
    TurnDropped,
    TurnEnded,
    TurnOutput,
    TurnResumed,
    WordsArrived,
)
from turn.evidence import Asked, belief, owed, series
from turn.gate import Line
from turn.keys import KeyEntry
from turn.pause import EndpointSettings, Pause
from turn.profile import DEFAULT, Profile
from turn.turn_text import TurnText
from turn.words import Reading

NEVER = -(10**9)
"""A position long before every call."""

EVEN = 0.5
"""Belief at which a turn may as well go on as be over."""


class Endpointer:
    """Decides when a turn is over; never whether a sound begins one."""

    def __init__(
        self, rate: int, language: str = "en", settings: EndpointSettings | None = None
    ) -> None:
        self._rate = rate
        self._settings = settings or EndpointSettings()
        self._keys = KeyEntry(rate, self._settings.keys)
        self.profile: Profile = DEFAULT
        self.asked = Asked()
        self.drafting = True
        "whether work that can be thrown away may start"
        self._start: int | None = None
        self._spoken_from = 0
        self._voiced = 0.0
        self._longest_pause = 0.0
        self._drafts = 0
        self._text = TurnText(language)
        self._pause: Pause | None = None
        self._over = 0, NEVER
        "where the turn before ended, since nothing belongs to two turns, and where that was found"

    @property
    def open(self) -> bool:
        """Whether a turn is going on."""
        return self._start is not None or bool(self._keys.keys)

    # --- what happens --------------------------------------------------------------------------

    def started(self, at: int, start: int) -> list[TurnOutput]:
        """The caller makes a sound."""
        outputs: list[TurnOutput] = []
        start = max(start, self._over[0])
        if self._pause is not None:
            if self._pause.drafted:
                outputs.append(TurnResumed(at))
            self._longest_pause = max(self._longest_pause, self._seconds(self._pause.end, start))
            self._pause = None
        if self._start is None:
            self._start = start
            self._voiced = 0.0
            again = self._seconds(self._over[1], start) <= self._settings.rejoins
            self._longest_pause = self._seconds(self._over[0], start) if again else 0.0
            self._drafts = 0
            self._text.begin()
        self._spoken_from = start
        return outputs

    def stopped(self, end: int, voiced: float, model_end: int) -> None:
        """The sound stopped; `voiced` seconds of it were voice.

        A plain silence timer counts from `model_end`, where the voice model saw it stop.
        """
        if self._start is None:
            return
        self._voiced += voiced
        self._text.sound = voiced
        end = max(end, self._start)
        plain = self.profile.means == "silence"
        self._pause = Pause(end, max(end, model_end) if plain else end)

    def passed(self, now: int, line: Line) -> list[TurnOutput]:
        """Time went on to `now`; `line`: what is heard now."""
        if self._keys.keys:
            return self._end_keys(now) if self._keys.expired(now) else []
        if self._start is None:
            return []
        if self._pause is None:
            limit = self._settings.longest_speech
            if self._seconds(self._spoken_from, now) < limit:
                return []
            self._voiced += limit
            self._pause = Pause(now, now)
            return self._end(now, None)
        outputs = self._ask(now, self._pause, self._start)
        return outputs + self._decide(now, line)

    def assessed(self, answer: TurnAssessed, now: int, line: Line) -> list[TurnOutput]:
        """The detector answered; an answer about another pause is dropped."""
        pause = self._pause
        if pause is None or not pause.waiting or pause.asked != answer.at:
            return []
        pause.waiting = False
        pause.took = answer.queue_seconds, answer.model_seconds
        if answer.probability is not None:
            pause.answers.append(answer.probability)
        return self._decide(now, line)

    def words(self, arrived: WordsArrived, now: int, line: Line) -> list[TurnOutput]:
        """The recogniser answered; words that end elsewhere are not of this pause."""
        if self._pause is None or self._pause.words_asked != arrived.end:
            return []
        if arrived.text is None:
            self._pause.wordless = True
            return self._decide(now, line)
        self._pause.reading, self._pause.form = self._text.heard(
            arrived.text, self._voiced, self.asked.dictated(self.profile.name), self.asked.length
        )
        return self._decide(now, line)

    def key(self, pressed: KeyPressed, now: int) -> list[TurnOutput]:
        """A key was pressed: the turn is made of keys from now on."""
        length = self.asked.length if self.asked.kind == "digits" else 0
        at = min(pressed.at, now)
        return self._end_keys(now) if self._keys.press(at, pressed.key, length) else []

    # --- what follows ----------------------------------------------------------------------------

    def _ask(self, now: int, pause: Pause, start: int) -> list[TurnOutput]:
        profile = self.profile
        silence = self._seconds(pause.silent_from, now)
        outputs: list[TurnOutput] = []
        if profile.means == "silence" or self._voiced < self._settings.least:
            return outputs  # of less voice than that no answer makes a turn
        if profile.means == "words" and pause.words_asked is None and silence >= profile.hear:
            pause.words_asked = now
            outputs.append(AskWords(start, now))
        if silence >= profile.ask and (pause.asked is None or self._worth_asking(pause, silence)):
            pause.again = pause.asked is not None
            pause.asked = now
            pause.waiting = True
            due = max(now, pause.end + int(profile.longest * self._rate))
            outputs.append(AssessTurn(now, start, due))
        return outputs

    def _worth_asking(self, pause: Pause, silence: float) -> bool:
        """Return whether a second answer could still end this turn sooner."""
        if pause.again or not pause.answers or silence < self.profile.again:
            return False
        believed = self._belief(pause)
        if believed is None or not self.profile.unfinished < believed < self.profile.end:
            return False
        saves = self._wait(pause, believed) - silence > self._settings.worth
        return saves and not owed(pause.reading or Reading())

    def _decide(self, now: int, line: Line) -> list[TurnOutput]:
        pause = self._pause
        if pause is None:
            return []
        if line != "silent":
            pause.murmured = now
        if line == "rising":
            return []
        believed = self._belief(pause)
        silence = self._seconds(pause.silent_from, now)
        wait = self._wait(pause, believed)
        if self._seconds(pause.murmured, now) < self.profile.shortest:
            wait = max(wait, self._settings.murmur)
        if silence >= wait and not self._words_owed(pause, now):
            return self._end(now, believed)
        return self._draft(now, pause, believed)

    def _belief(self, pause: Pause) -> float | None:
        """Add up what is known; None while nothing is."""
        if pause.probability is None and pause.reading is None:
            return None
        weights = self._settings.weights
        known = (pause.probability, pause.reading, self.asked, self._voiced)
        return belief(*known, weights, pause.form)

    def _wait(self, pause: Pause, believed: float | None) -> float:
        """Return after how much silence the turn is over."""
        profile = self.profile
        if profile.means == "silence":
            return profile.longest
        if believed is None or (not pause.answers and pause.waiting):
            return profile.longest
        habit = self._longest_pause
        if pause.form == "whole":
            return profile.full
        if pause.form == "part":
            return max(profile.dictated, min(profile.stretch * habit, profile.most))
        wait = profile.shortest
        if believed < profile.end:
            reading = pause.reading or Reading()
            unfinished = believed <= profile.unfinished and not series(reading)
            if unfinished or (believed < EVEN and owed(reading)):
                return max(profile.patience, min(profile.stretch * habit, profile.most))
            share = min(1.0, (profile.end - believed) / max(profile.end - EVEN, 0.01))
            wait = profile.unsure + share * (profile.longest - profile.unsure)
        return max(wait, min(profile.habit * habit, profile.longest))

    def _words_owed(self, pause: Pause, now: int) -> bool:
        """Return whether words that could still change the decision are on their way."""
        if pause.words_asked is None or pause.wordless or pause.reading is not None:
            return False
        dictated = self.asked.dictated(self.profile.name) or self._text.form != "none"
        limit = self._settings.form_wait if dictated else self._settings.words_wait
        return self._seconds(pause.words_asked, now) < limit

    def _draft(self, now: int, pause: Pause, believed: float | None) -> list[TurnOutput]:
        assert self._start is not None
        length = self._seconds(self._start, pause.end)
        if (
            believed is None
            or not pause.answers
            or believed < self.profile.draft
            or pause.drafted
            or not self.drafting
            or self._drafts >= self._settings.drafts
            or length > self.profile.longest_draft
        ):
            return []
        pause.drafted = True
        self._drafts += 1
        return [TurnDrafted(now, self._start, pause.end, believed)]

    def _end(self, now: int, believed: float | None) -> list[TurnOutput]:
        start, pause = self._start, self._pause
        assert start is not None
        assert pause is not None
        self._start = self._pause = None
        self._over = pause.end, now
        worded = pause.reading is not None and pause.reading.words > 0
        if self._voiced < self._settings.least and not worded:
            return self._nothing(now, pause)
        sure = believed is not None and believed >= self.profile.end
        heard = (pause.probability or 0.0) >= self.profile.end
        late = pause.asked is not None and not pause.answers
        why = ("semantic" if heard else "words") if sure else "silence"
        return [TurnEnded(now, start, pause.end, why, believed, "", late, *pause.took)]  # type: ignore[arg-type]

    def drop(self, now: int) -> list[TurnOutput]:
        """What the turn was made of so far is nothing that anybody said."""
        if self._start is None:
            return []
        pause, self._pause, self._start = self._pause, None, None
        self._over = now, NEVER
        return self._nothing(now, pause)

    def _nothing(self, now: int, pause: Pause | None) -> list[TurnOutput]:
        void: list[TurnOutput] = [TurnResumed(now)] if pause is not None and pause.drafted else []
        return [*void, TurnDropped(now)]

    def _end_keys(self, now: int) -> list[TurnOutput]:
        outputs: list[TurnOutput] = []
        if self._pause is not None and self._pause.drafted:
            outputs.append(TurnResumed(now))
        start = self._keys.start if self._start is None else min(self._start, self._keys.start)
        end, keys = self._keys.end, self._keys.take()
        self._start = self._pause = None
        self._over = end, NEVER
        return [*outputs, TurnEnded(now, start, end, "keys", keys=keys)]

    def _seconds(self, start: int, end: int) -> float:
        return (end - start) / self._rate
