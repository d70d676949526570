"""Whatever is heard, said, answered or left unanswered: turns and overlaps come out well-formed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.turn.windows import RATE, WINDOW, window, windows
from turn.events import (
    AgentAsks,
    AgentBegan,
    AgentSilent,
    AskWords,
    AssessTurn,
    FloorClaimed,
    FloorKept,
    KeyPressed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    ProfileChosen,
    SpeechMoment,
    SpeechStarted,
    SpeechStopped,
    TurnAssessed,
    TurnDrafted,
    TurnEnded,
    TurnInput,
    TurnOutput,
    TurnResumed,
    VoiceScored,
    WordsArrived,
)
from turn.overlap import OverlapSettings
from turn.profile import PROFILES, Profile, profile
from turn.taking import TurnSettings, TurnTaking

SLACK = 2 * WINDOW
"""Decisions fall on window ends."""

TEXTS = (
    "",
    None,
    "Okay.",
    "Wait, no",
    "I want a coffee with",
    "What time is it?",
    "Um,",
    "five five",
)

sounds = st.tuples(
    st.just("sound"),
    st.sampled_from([0.1, 0.3, 0.7, 1.5, 3.0]),
    st.booleans(),
    st.sampled_from([0.0, 0.0, 0.0, 0.9]),
)
agents = st.one_of(
    st.tuples(st.just("agent"), st.sampled_from([True, True, False]), st.booleans(), st.just(0)),
    st.tuples(st.just("fell"), st.just(0), st.just(0), st.just(0)),
)
others = st.one_of(
    st.tuples(st.just("key"), st.sampled_from("0159*#"), st.just(0), st.just(0)),
    st.tuples(st.just("profile"), st.sampled_from(list(PROFILES)), st.just(0), st.just(0)),
    st.tuples(
        st.just("moment"),
        st.sampled_from(["", "yes_no", "name", "digits:4"]),
        st.booleans(),
        st.just(0),
    ),
)
answers = st.lists(
    st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.sampled_from(TEXTS), st.floats(0, 0.6)),
    min_size=1,
    max_size=4,
)


@dataclass
class Referee:
    """Feeds a machine, answers its questions later, and checks everything it says."""

    machine: TurnTaking
    answers: list[tuple[float | None, str | None, float]]
    now: int = 0
    coming: list[tuple[int, TurnInput]] = field(default_factory=list)
    asked: int = 0
    speaking: bool = False
    overlap: OverlapBegan | None = None
    held: bool = False
    drafted: bool = False
    last_end: int = 0

    def window(self, each: VoiceScored) -> None:
        """Let time go on by a window, then let what is due arrive."""
        self.now = each.end
        self.tell(each)
        due = [event for at, event in self.coming if at <= self.now]
        self.coming = [(at, event) for at, event in self.coming if at > self.now]
        for event in due:
            self.tell(event)
        if self.overlap is not None:
            limit = OverlapSettings().limit * RATE + SLACK
            assert self.now - self.overlap.start <= limit, "an overlap stays undecided"

    def tell(self, event: TurnInput) -> None:
        """Give an input; check what it brings."""
        for output in self.machine.handle(event):
            self._check(output)
            self._answer(output)
        assert self.machine.undecided or (self.overlap is None and not self.drafted)

    def _answer(self, output: TurnOutput) -> None:
        probability, text, delay = self.answers[self.asked % len(self.answers)]
        at = self.now + int(delay * RATE)
        match output:
            case AssessTurn():
                self.asked += 1
                assert output.start <= output.at <= output.due
                if delay < 0.5:  # some questions are never answered
                    self.coming.append((at, TurnAssessed(output.at, probability)))
            case AskWords():
                self.asked += 1
                assert output.start < output.end
                if delay < 0.4:
                    self.coming.append((at, WordsArrived(text, output.end)))
            case _:
                pass

    def _check(self, output: TurnOutput) -> None:
        if not isinstance(output, AskWords):
            assert output.at == self.now, "said at another time than now"
        match output:
            case SpeechStarted(start=start):
                assert not self.speaking
                assert start <= self.now
                self.speaking = True
            case SpeechStopped(end=end):
                assert self.speaking
                assert end <= self.now
                self.speaking = False
            case TurnDrafted(start=start, end=end):
                assert not self.drafted, "two drafts of one turn at once"
                assert start <= end <= self.now
                self.drafted = True
            case TurnResumed():
                assert self.drafted, "nothing to void"
                self.drafted = False
            case TurnEnded(start=start, end=end):
                assert self.last_end <= start <= end <= self.now, "turns overlap"
                self.last_end = end
                self.drafted = False
            case _:
                self._check_overlap(output)

    def _check_overlap(self, output: TurnOutput) -> None:
        match output:
            case OverlapBegan():
                assert self.overlap is None
                self.overlap, self.held = output, False
            case OverlapHeld():
                assert self.overlap is not None
                assert not self.held
                self.held = True
            case OverlapDismissed():
                assert self.overlap is not None
                self.overlap = None
            case FloorClaimed(start=start, evidence=evidence):
                assert self.overlap is not None or evidence == "key"
                assert start <= self.now
                self.overlap = None
            case _:
                pass


def play(referee: Referee, course: list[tuple[str, object, object, object]]) -> None:
    """Play a course of sounds and other events to the machine."""
    for what, first, second, third in course:
        match what:
            case "sound":
                assert isinstance(first, float)
                for _ in range(max(1, round(first * RATE / WINDOW))):
                    referee.window(window(referee.now, bool(second), float(third)))  # type: ignore[arg-type]
            case "agent":
                policy = "interruptible" if first else "uninterruptible"
                referee.tell(AgentBegan(referee.now, policy))  # type: ignore[arg-type]
                if second:
                    referee.tell(AgentAsks(referee.now, asks=True))
            case "fell":
                referee.tell(AgentSilent(referee.now))
            case "key":
                referee.tell(KeyPressed(referee.now, str(first)))
            case "profile":
                referee.tell(ProfileChosen(str(first)))
            case _:
                referee.tell(SpeechMoment(str(first)))
                referee.tell(FloorKept(bool(second)))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(sounds, sounds, sounds, agents, others), min_size=4, max_size=20),
    answers,
    st.sampled_from([profile("default"), profile("quick"), Profile.silence(0.7)]),
    st.booleans(),
)
def test_the_floor_is_passed_in_order(
    course: list[tuple[str, object, object, object]],
    given_answers: list[tuple[float | None, str | None, float]],
    chosen: Profile,
    recogniser: bool,
) -> None:
    machine = TurnTaking(RATE, TurnSettings(chosen if recogniser else chosen.without("semantic")))
    referee = Referee(machine, given_answers)
    play(referee, course)
    # Nothing waits for ever: silence decides all that is open.
    for each in windows((7.0, False), start=referee.now):
        referee.window(each)
    assert not machine.undecided
    assert not referee.speaking
    assert not referee.drafted


@pytest.mark.parametrize("voiced", [True, False])
def test_the_same_inputs_give_the_same_outputs(voiced: bool) -> None:
    course = windows((0.32, False), (0.64, voiced), (3.0, False))
    first, second = (TurnTaking(RATE), TurnTaking(RATE))
    assert [first.handle(each) for each in course] == [second.handle(each) for each in course]
