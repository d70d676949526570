"""A weaker voice is behind the caller's unless it is the only one; many at once are noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.turn.windows import RATE, WINDOW, only
from turn.events import (
    AgentBegan,
    SpeechStarted,
    SpeechStopped,
    TurnDropped,
    TurnEnded,
    TurnInput,
    TurnOutput,
    VoiceScored,
)
from turn.profile import DEFAULT
from turn.taking import TurnSettings, TurnTaking

CALLER = -20.0
SYLLABLE = (0.0, -2.0, -6.0, -18.0, -26.0, -4.0, -1.0, -12.0)
"""Decibels under a voice's level: syllables rise and fall by more than 20 dB."""

BABBLE = (0.0, -3.0, -1.0, -5.0, -2.0, -4.0, -1.0, -3.0)
"""Many voices at once have no gaps."""


@dataclass
class Room:
    """A line on which several voices are heard; the louder one hides the other."""

    said: list[TurnOutput] = field(default_factory=list)
    at: int = 0

    def __post_init__(self) -> None:
        self.machine = TurnTaking(RATE, TurnSettings(DEFAULT.without("semantic")))

    def tell(self, event: TurnInput) -> list[TurnOutput]:
        outputs = self.machine.handle(event)
        self.said += outputs
        return outputs

    def sound(
        self, seconds: float, caller: float | None, behind: float | None = None, many: bool = False
    ) -> list[TurnOutput]:
        """Hear a caller at a level, and a voice behind them, or many; give what came of it."""
        begun = len(self.said)
        for index in range(round(seconds * RATE / WINDOW)):
            levels = [-70.0]
            if caller is not None:
                levels.append(caller + SYLLABLE[index % len(SYLLABLE)])
            if behind is not None:
                levels.append(behind + (BABBLE if many else SYLLABLE)[index % len(SYLLABLE)])
            level = max(levels)
            self.tell(VoiceScored(self.at, self.at + WINDOW, 0.9 * (level > -60), level))
            self.at += WINDOW
        return self.said[begun:]


@pytest.mark.parametrize(("below", "many"), [(20, False), (15, True)])
def test_a_voice_behind_the_callers_holds_no_turn(below: int, many: bool) -> None:
    room = Room()
    room.sound(2.0, CALLER, CALLER - below, many)
    said = room.sound(6.0, None, CALLER - below, many)
    (stopped,) = only(SpeechStopped, said)
    assert abs(stopped.end / RATE - 2.0) <= 0.3
    (ended,) = only(TurnEnded, said)
    assert (ended.at - ended.end) / RATE <= 1.8  # `default` waits for 1.5 s where nothing is known
    assert only(SpeechStarted, said) == []


def test_a_voice_that_is_known_to_be_behind_begins_no_turn_however_long_it_goes_on() -> None:
    room = Room()
    room.sound(2.0, CALLER, CALLER - 20)
    room.sound(3.0, None, CALLER - 20)
    assert only(SpeechStarted, room.sound(30.0, None, CALLER - 20)) == []
    (started,) = only(SpeechStarted, room.sound(0.5, CALLER, CALLER - 20))
    assert abs(started.start / RATE - 35.0) <= 0.25  # and the caller is heard at once


def test_a_voice_behind_does_not_interrupt_the_agent() -> None:
    room = Room()
    room.sound(2.0, CALLER)
    room.sound(4.0, None)
    room.tell(AgentBegan(room.at))
    assert room.sound(8.0, None, CALLER - 20) == []


def test_a_low_voice_that_is_the_only_one_is_heard_within_two_seconds() -> None:
    """The telephone was handed over."""
    room = Room()
    room.sound(2.0, CALLER)
    room.sound(4.0, None)
    (started,) = only(SpeechStarted, room.sound(3.0, CALLER - 18))
    assert (started.at - started.start) / RATE <= 2.0
    assert abs(started.start / RATE - 6.0) <= 0.25
    room.sound(4.0, None)
    (again,) = only(SpeechStarted, room.sound(1.0, CALLER - 18))  # and it is the caller's now
    assert (again.at - again.start) / RATE <= 0.3


def test_a_short_soft_answer_in_a_quiet_room_is_heard_when_it_is_over() -> None:
    room = Room()
    room.sound(2.0, CALLER)
    room.sound(4.0, None)
    room.sound(0.5, CALLER - 15)
    said = room.sound(4.0, None)
    assert len(only(SpeechStarted, said)) == len(only(TurnEnded, said)) == 1


def test_a_level_that_drifts_is_followed() -> None:
    room = Room()
    for step in range(12):
        said = room.sound(1.0, CALLER - 2 * step)
        assert bool(only(SpeechStarted, said)) == (step == 0)
        assert only(SpeechStopped, said) == []


def test_a_loud_cough_does_not_hide_the_words_after_it() -> None:
    room = Room()
    room.sound(2.0, CALLER)
    room.sound(4.0, None)
    room.sound(0.25, CALLER + 16)
    room.sound(4.0, None)
    (started,) = only(SpeechStarted, room.sound(0.5, CALLER))
    assert (started.at - started.start) / RATE <= 0.3


def test_many_voices_alone_are_no_turn_and_begin_none_again() -> None:
    room = Room()
    room.sound(0.5, None)
    said = room.sound(4.0, None, -30.0, many=True)
    assert len(only(TurnDropped, said)) == 1
    assert room.sound(30.0, None, -30.0, many=True) == []
    (started,) = only(SpeechStarted, room.sound(1.0, CALLER, -30.0, many=True))
    assert abs(started.start / RATE - 34.5) <= 0.25


def test_a_caller_who_speaks_through_many_voices_is_no_noise() -> None:
    room = Room()
    room.sound(0.5, None, -36.0, many=True)
    said = room.sound(8.0, CALLER, -36.0, many=True)
    assert only(TurnDropped, said) == []


def test_a_soft_end_is_not_taken_for_the_end_at_once() -> None:
    """Who trails off may come back: a weak voice of which nothing is known is waited for."""
    room = Room()
    room.sound(2.0, CALLER)
    room.sound(0.6, CALLER - 16)
    said = room.sound(2.0, CALLER)
    assert only(TurnEnded, room.said) == []
    assert len(only(SpeechStarted, said)) <= 1
