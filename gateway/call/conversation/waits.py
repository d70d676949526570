"""Every wait of a conversation, each with its length and its deadline; a stall is an event."""

from __future__ import annotations

from enum import Enum, auto

from gateway.call.settings import ConversationSettings

SILENCE_SECONDS = 1.8
"""Whatever the model does, a caller hears a word before two seconds of silence have passed."""

HELD_SECONDS = 6.0
"""A reply held for a caller who made a sound is played after this, whatever the sound was.
Longer than the longest wait of any profile (5 s), so that a real turn always ends first."""

WORDS_SECONDS = 2.0
"""How long the caller's words are waited for when they answer a proposal: a model writes them down
beside its answer, mostly within a second; without them nothing is done."""


class Wait(Enum):
    """What is waited for."""

    IDLE = auto()
    "the caller says nothing although the floor is theirs"
    REPLY = auto()
    "the backend owes sound"
    FILLER = auto()
    "the wait for the backend is to be bridged"
    HELD = auto()
    "playout is held for a caller who may not be speaking at all"
    WORDS = auto()
    "the caller answered a proposal, and their words are not known yet"
    SURE = auto()
    "the caller may go on with a turn that was found to be over, so that no write begins"
    WHO = auto()
    "it is to be known who answered a call that was placed, or when their machine records"
    ENDING = auto()
    "the goodbye should have been heard by now"
    LIMIT = auto()
    "the longest a call may last"


class Waits:
    """Keeps the deadlines, in loop seconds; only it knows how long each thing is waited for."""

    def __init__(self, settings: ConversationSettings) -> None:
        self._settings = settings
        bridged = settings.filler_after if settings.filler_for_model else SILENCE_SECONDS
        self._seconds = {
            Wait.IDLE: settings.idle_seconds,
            Wait.REPLY: settings.reply_seconds,
            Wait.FILLER: bridged,
            Wait.HELD: HELD_SECONDS,
            Wait.WORDS: WORDS_SECONDS,
            Wait.ENDING: settings.ending_seconds,
            Wait.LIMIT: settings.call_seconds,
        }
        self._due: dict[Wait, float] = {}
        self.deadline: float | None = None
        "the next moment at which something is over; asked for every 20 ms in every call"

    def __contains__(self, wait: Wait) -> bool:
        return wait in self._due

    def due(self, wait: Wait) -> float | None:
        """Return when a wait is over; None: nobody waits for that."""
        return self._due.get(wait)

    def hang_after(self, seconds: float | None) -> None:
        """Wait no longer than this for a backend's sound, where it says so itself."""
        longest = self._settings.reply_seconds
        self._seconds[Wait.REPLY] = longest if seconds is None else min(seconds, longest)

    def begin(self, wait: Wait, now: float) -> None:
        """Wait for as long as one waits for that, from now on."""
        self.until(wait, now + self._seconds[wait])

    def until(self, wait: Wait, at: float) -> None:
        """Wait until a moment of its own."""
        self._due[wait] = at
        self._look()

    def stop(self, *waits: Wait) -> None:
        """Wait no longer for these."""
        for wait in waits:
            self._due.pop(wait, None)
        self._look()

    def stop_all(self) -> None:
        """Wait for nothing any more."""
        self.stop(*self._due.copy())

    def begin_anew(self, now: float) -> None:
        """Begin each wait again that is under way, but for those that know nothing of holds."""
        for wait in self._due:
            if wait not in (Wait.SURE, Wait.WHO, Wait.LIMIT):
                self._due[wait] = now + self._seconds[wait]
        self._look()

    def expired(self, now: float, *, held: bool) -> list[Wait]:
        """Return the waits that are over, and stop them; on hold only the longest."""
        over = [
            wait
            for wait in Wait
            if (wait is Wait.LIMIT or not held) and self._due.get(wait, now + 1.0) <= now
        ]
        self.stop(*over)
        return over

    def _look(self) -> None:
        self.deadline = min(self._due.values(), default=None)
