"""When the agent's sound leaves: at the ticks, and on some lines at once where it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.speech import Speech
from gateway.call.conversation.vocabulary import Event
from gateway.call.mouth import STARVED_SECONDS, Mouth
from gateway.events import (
    AgentHeard,
    CallInfo,
    EndUtterance,
    Flush,
    Hold,
    Play,
    PlayoutDry,
    PlayoutStarved,
    Resume,
)
from media.codec import wire_form
from media.frame import FRAME_SECONDS
from media.playout import Chunk, Playout

RATE = 8000
FRAME = 160
LEAD = 5 * FRAME
TICK = FRAME_SECONDS


class Line:
    """A leg that notes what it is sent, and when."""

    witness = None
    page = None

    def __init__(self, *, clocked: bool, lead: int) -> None:
        self.clocked = clocked
        self.info = CallInfo("c1", "test", "agent", rate=RATE)
        self.playout = Playout(wire_form("pcmu", RATE), lead=lead, basis="sent", clears=True)
        self.sent: list[int] = []
        "frames of each `send`"
        self.sound = b""

    def send(self, chunks: Sequence[Chunk]) -> None:
        self.sent.append(len(chunks))
        self.sound += b"".join(each.payload for each in chunks)

    def clear(self) -> None:
        pass


class Told:
    """In place of hearing: notes what left for the caller, and where it is heard."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, bytes]] = []
        self.asks: list[bool] = []

    def agent_asks(self, asks: bool, text: str = "") -> None:
        self.asks.append(asks)

    def agent_sent(self, position: int, chunks: Sequence[Chunk]) -> None:
        self.pieces.append((position, b"".join(each.payload for each in chunks)))

    def __getattr__(self, name: str) -> Any:
        return lambda *told, **more: None


class Speaking:
    """A mouth on a line, with the pacer's two steps as one."""

    def __init__(self, *, clocked: bool = False, lead: int = LEAD) -> None:
        self.line = Line(clocked=clocked, lead=lead)
        self.stream = ContinuousStream(RATE)
        self.stream.idle(10.0)  # positions count from here
        self.hearing = Told()
        self.speech = Speech()
        self.posted: list[Event] = []
        self.mouth = Mouth(
            self.line,  # type: ignore[arg-type]
            self.stream,
            self.hearing,  # type: ignore[arg-type]
            self.speech,
            None,
            self.posted.append,
        )

    def play(self, utterance: int, frames: int, now: float) -> None:
        self.speech.begin(utterance, "reply", 1).sound = True
        pcm = np.full(frames * FRAME, 1000 * utterance, np.int16).tobytes()
        self.mouth.perform(Play(utterance, pcm), now)

    def end(self, utterance: int, now: float) -> None:
        self.speech.begin(utterance, "reply", 1).ended = True
        self.mouth.perform(EndUtterance(utterance), now)

    def ticks(self, first: float, count: int) -> float:
        """Tick as a pacer does; give the time of the tick after."""
        for number in range(count):
            now = first + number * TICK
            self.mouth.send(now)
            self.mouth.tick(now)
        return first + count * TICK


def test_sound_that_begins_between_ticks_leaves_at_once() -> None:
    """The lead, and from the next tick on a frame each."""
    it = Speaking()
    it.play(1, 50, 10.013)
    assert it.line.sent == [5]
    it.ticks(10.02, 10)
    assert it.line.sent == [5] + [1] * 10


def test_all_that_left_was_told_once_and_in_order() -> None:
    """Echo is looked for where the sound was put: the lead before the first tick too."""
    it = Speaking()
    it.play(1, 50, 10.013)
    assert [position for position, _ in it.hearing.pieces] == [pytest.approx(0.013 * RATE, abs=1)]
    it.ticks(10.02, 60)
    assert b"".join(piece for _, piece in it.hearing.pieces) == it.line.sound
    assert len(it.line.sound) == 50 * FRAME
    positions = [position for position, _ in it.hearing.pieces]
    assert positions == sorted(positions)


def test_a_line_whose_clock_is_what_it_is_sent_is_sent_to_at_ticks_alone() -> None:
    """Also with nothing, all the time."""
    it = Speaking(clocked=True)
    assert not it.mouth.silent
    now = it.ticks(10.0, 10)
    assert not it.mouth.silent
    assert it.line.sent == [0] * 10
    it.play(1, 50, now - 0.007)
    assert it.line.sent == [0] * 10
    it.ticks(now, 10)
    assert it.line.sent == [0] * 10 + [6] + [1] * 9


def test_without_a_lead_sound_waits_for_its_tick() -> None:
    """Nothing at the far side would bridge the way to the next one."""
    it = Speaking(lead=0)
    it.play(1, 50, 10.013)
    assert it.line.sent == []
    it.ticks(10.02, 5)
    assert it.line.sent == [1] * 5


def test_what_follows_while_the_agent_sounds_waits_for_its_tick() -> None:
    """More of the same utterance, and the next one."""
    it = Speaking()
    it.play(1, 8, 10.013)
    now = it.ticks(10.02, 2)
    sent = list(it.line.sent)
    it.play(1, 8, now - 0.007)
    it.end(1, now - 0.007)
    it.play(2, 8, now - 0.007)
    assert it.line.sent == sent == [5, 1, 1]
    it.ticks(now, 1)
    assert it.line.sent == [5, 1, 1, 1]


def test_it_is_silent_until_sound_begins_and_after_it_was_heard() -> None:
    it = Speaking()
    assert it.mouth.silent
    it.play(1, 8, 10.013)
    it.end(1, 10.013)
    now = 10.02
    while PlayoutDry() not in it.posted:
        assert not it.mouth.silent
        now = it.ticks(now, 1)
    assert it.mouth.silent
    assert [type(each) for each in it.posted if isinstance(each, AgentHeard)] == [AgentHeard]
    assert now == pytest.approx(10.013 + 8 * TICK, abs=2 * TICK)
    it.play(2, 8, now - 0.003)  # and begins at once again
    assert it.line.sent[-1] == 5


def test_a_flush_leaves_it_silent_and_the_next_answer_begins_at_once() -> None:
    it = Speaking()
    it.play(1, 50, 10.013)
    now = it.ticks(10.02, 5)
    it.mouth.perform(Flush(), now - 0.01)
    assert it.mouth.silent
    it.play(2, 50, now - 0.005)
    assert it.line.sent == [5, 1, 1, 1, 1, 1, 5]


def test_what_is_held_does_not_begin() -> None:
    it = Speaking()
    it.mouth.perform(Hold(), 10.0)
    it.play(1, 50, 10.013)
    now = it.ticks(10.02, 3)
    assert sum(it.line.sent) == 0
    it.mouth.perform(Resume(), now - 0.01)
    it.ticks(now, 3)
    assert it.line.sent[-3:] == [6, 1, 1]


@pytest.mark.parametrize("clocked", [True, False])
def test_an_utterance_whose_model_hangs_is_noticed(clocked: bool) -> None:
    it = Speaking(clocked=clocked)
    it.play(1, 8, 10.013)
    now, found = 10.02, None
    while found is None and now < 20:
        assert not it.mouth.silent
        now = it.ticks(now, 1)
        found = next((each for each in it.posted if isinstance(each, PlayoutStarved)), None)
    assert found is not None
    assert found.seconds == pytest.approx(STARVED_SECONDS, abs=TICK)
    gone = 10.013 + 3 * TICK  # five frames at once, then one a tick
    assert now - TICK == pytest.approx(gone + STARVED_SECONDS, abs=2 * TICK)


def test_a_question_is_told_when_the_caller_has_heard_it_and_not_before() -> None:
    """The utterance lasts 4 s, and its question ends with it."""
    it = Speaking()
    it.speech.begin(1, "reply", 1).text = "It will be ready on Monday. Is that all right?"
    it.play(1, 200, 10.0)
    it.end(1, 10.0)
    now = it.ticks(10.02, 170)
    assert it.hearing.asks == []
    now = it.ticks(now, 15)
    assert it.hearing.asks == [True]
    it.speech.begin(2, "reply", 1).text = "Good."
    it.play(2, 50, now)
    it.end(2, now)
    it.ticks(now, 100)
    assert it.hearing.asks == [True]  # who begins an utterance has asked nothing yet


def test_a_question_that_is_cut_was_not_heard() -> None:
    it = Speaking()
    it.speech.begin(1, "reply", 1).text = "It will be ready on Monday. Is that all right?"
    it.play(1, 200, 10.0)
    it.end(1, 10.0)
    now = it.ticks(10.02, 150)
    it.mouth.perform(Flush(), now)
    it.ticks(now, 50)
    assert it.hearing.asks == []
