"""What the agent has said so far: each utterance's text, words and fate."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from gateway.events import Heard, Word

ASKED_SECONDS = 0.4
"""A question of which less than this is missing was understood: people answer on its last word."""

ANSWER_SECONDS = 2.0
"""How long after a question what is said still answers it, when the agent goes on with something
else: an answer is begun within a second; later ones nod at the agent's next sentence."""

FAST = 20.0
"""Characters a second of fast speech: how soon a question can have been said at the soonest, while
neither its words' times nor the length of the whole are known."""

MARKS = ("?", "？", "؟")

UtteranceKind = Literal["greeting", "reply", "filler", "line", "proposal", "goodbye"]


@dataclass(frozen=True, slots=True)
class Before:
    """What went before an utterance that goes on after a pause."""

    source: int
    "the model's number of both"
    samples: int


@dataclass(slots=True)
class Given:
    """How much of an utterance the model gave, and where it paused."""

    samples: int = 0
    "so far"
    after: Before | None = None
    "the model counts what came before as the same utterance"
    unsaid: str | None = None
    """it was ended here since nothing more came, and more of it is an utterance of its own: the
    words that were written by then and not spoken yet"""


@dataclass(slots=True)
class Utterance:
    """One piece of agent speech on its way to the caller's ear."""

    id: int
    kind: UtteranceKind
    reply: int = 0
    "0: a fixed line, not the model's"
    turn: int = 0
    "the caller's turn that it answers or follows; 0: before the first"
    text: str = ""
    words: list[Word] = field(default_factory=list)
    proposal: str = ""
    "what it reads back"
    interruptible: bool = True
    sound: bool = False
    "some of its sound is queued"
    ended: bool = False
    "all of its sound is queued"
    done: bool = False
    "heard to the end, or flushed"
    given: Given = field(default_factory=Given)
    _read: int = 0
    "how many of its words were looked at for a question: each once, since this is asked every tick"
    _asks: list[tuple[int, float]] = field(default_factory=list)
    "which of those end one, and where, in seconds"

    @property
    def questions(self) -> bool:
        """Return whether there is a question in it, as far as it is written."""
        return any(mark in self.text for mark in MARKS)

    @property
    def question(self) -> str:
        """Return its last question, without the sentences before it."""
        end = max(self.text.rfind(mark) for mark in MARKS) + 1
        return re.split(r"[.!?？؟]\s+", self.text[:end].strip())[-1]

    def asking(self, heard_seconds: float, queued_seconds: float) -> bool:
        """Return whether a yes after `heard_seconds` answers a question of it."""
        for end, last in self._asked(queued_seconds):
            if heard_seconds >= end - ASKED_SECONDS and (
                last or heard_seconds < end + ANSWER_SECONDS
            ):
                return True
        return False

    def _asked(self, queued_seconds: float) -> list[tuple[float, bool]]:
        """Return where its questions end, in seconds, and whether nothing follows."""
        if self.words:
            for index in range(self._read, len(self.words)):
                if ends_asking(self.words[index].text):
                    self._asks.append((index, self.words[index].end))
            self._read = len(self.words)
            final = len(self.words) - 1 if ends_asking(self.text) else len(self.words)
            return [(end, index == final) for index, end in self._asks]
        length = len(self.text.rstrip())
        ends = [at + 1 for at, letter in enumerate(self.text) if letter in MARKS]
        pace = queued_seconds / max(length, 1) if self.ended else 1 / FAST
        return [(end * pace, end >= length) for end in ends]

    def heard_text(self, heard_seconds: float, queued_seconds: float) -> str:
        """Return the words of which at least half had sounded after `heard_seconds`.

        Where the voice gave no word times, by proportion of the sound there is so far.
        """
        if self.words:
            heard = [w for w in self.words if (w.start + w.end) / 2 <= heard_seconds]
            return "".join(w.text if w.glued else f" {w.text}" for w in heard).lstrip()
        if queued_seconds <= 0 or heard_seconds <= 0:
            return ""
        share = min(1.0, heard_seconds / queued_seconds)
        words = self.text.split()
        return " ".join(words[: int(share * len(words) + 0.5)])


class Speech:
    """Keeps the utterances of a call; decides nothing."""

    def __init__(self) -> None:
        self._utterances: dict[int, Utterance] = {}
        self._goes_on: dict[int, int] = {}
        "what a model's utterance that paused goes on as"
        self._last_id = 0

    def new_id(self) -> int:
        """Return the next utterance id."""
        self._last_id += 1
        return self._last_id

    def begin(self, utterance: int, kind: UtteranceKind, turn: int, reply: int = 0) -> Utterance:
        """Enter an utterance, or give the one that has this id."""
        known = self._utterances.get(utterance)
        if known is None:
            self._last_id = max(self._last_id, utterance)
            known = self._utterances[utterance] = Utterance(utterance, kind, reply, turn)
        return known

    def present(self, utterance: int, turn: int, reply: int) -> tuple[Utterance, str]:
        """Return what a model's utterance goes on as, another one where it paused, and the words
        that it begins with."""
        known = self.begin(self._goes_on.get(utterance, utterance), "reply", turn, reply)
        if known.given.unsaid is None:
            return known, ""
        new = self.begin(self.new_id(), "reply", turn, reply)
        before = 0 if known.given.after is None else known.given.after.samples
        new.given.after = Before(utterance, before + known.given.samples)
        new.text = known.given.unsaid
        self._goes_on[utterance] = new.id
        return new, new.text

    def pause(self) -> list[Utterance]:
        """End what the model has begun to say and does not go on with; what follows is new."""
        paused = [u for u in self._utterances.values() if u.sound and not u.ended and not u.done]
        for each in paused:
            each.ended, each.given.unsaid = True, ""
            if each.words:
                spoken = sum(not word.glued for word in each.words)
                each.given.unsaid = "".join(f"{word} " for word in each.text.split()[spoken:])
                each.text = " ".join(each.text.split()[:spoken])
        return paused

    def torn(self, reply: int) -> bool:
        """Return whether a reply paused in the middle of an utterance and did not go on."""
        own = [u for u in self._utterances.values() if u.reply == reply]
        return bool(own) and own[-1].given.unsaid is not None

    def written(self, reply: int) -> bool:
        """Return whether a reply has words, spoken already or not."""
        return any(u.reply == reply and u.text.strip() for u in self._utterances.values())

    def get(self, utterance: int) -> Utterance | None:
        """Find an utterance that is not forgotten yet."""
        return self._utterances.get(utterance)

    def finish(self, heard: Heard) -> Utterance | None:
        """Mark an utterance as over and forget the ones before it that are over too."""
        utterance = self._utterances.get(heard.utterance)
        if utterance is None or utterance.done:
            return None
        utterance.done = True
        # The last few stay for late questions about them; a long call must not grow.
        for old in [u for u in self._utterances if u < heard.utterance - 8]:
            if self._utterances[old].done:
                before = self._utterances.pop(old).given.after
                if before is not None and self._goes_on.get(before.source) == old:
                    del self._goes_on[before.source]
        return utterance

    def abandon(self) -> list[Utterance]:
        """Give up the read-backs of which nothing sounds yet: what they ask is answered."""
        gone = [u for u in self._utterances.values() if u.proposal and not u.sound and not u.done]
        for each in gone:
            each.done = True
        return gone

    def bridging(self) -> bool:
        """Return whether a line that bridges a wait is on its way or being heard."""
        return any(u.kind == "filler" and not u.done for u in self._utterances.values())

    def unfinished(self) -> bool:
        """Return whether some of an utterance was given and the rest is still to come."""
        return any(u.sound and not u.ended and not u.done for u in self._utterances.values())

    def sounding(self) -> list[Utterance]:
        """List the utterances that are queued or being heard."""
        return [u for u in self._utterances.values() if u.sound and not u.done]


def ends_asking(text: str) -> bool:
    """Return whether a text ends on a question."""
    return text.rstrip("\"')»” ").endswith(MARKS)
