"""Turns end when they should, drafts are started and voided, keys are input, and nobody waits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.turn.windows import RATE, WINDOW, feed, only, windows
from turn.events import (
    AgentAsks,
    AgentBegan,
    AgentSilent,
    AskWords,
    AssessTurn,
    FloorKept,
    KeyPressed,
    ProfileChosen,
    SpeechMoment,
    SpeechStarted,
    SpeechStopped,
    TurnAssessed,
    TurnDrafted,
    TurnDropped,
    TurnEnded,
    TurnInput,
    TurnOutput,
    TurnResumed,
    WordsArrived,
)
from turn.profile import DEFAULT, Profile, profile
from turn.taking import TurnSettings, TurnTaking

SEMANTIC = TurnSettings(DEFAULT.without("semantic"))


class Caller:
    """Speaks and pauses; the models answer each question at once with what is set."""

    def __init__(
        self,
        settings: TurnSettings | None = None,
        probability: float | None = 0.5,
        text: str | None = None,
    ) -> None:
        self.machine = TurnTaking(RATE, settings or SEMANTIC)
        self.probability = probability
        self.text = text
        self.at = 0
        self.answers = True
        self.deaf = False
        "each question about words is answered by saying that nobody listens for them"
        self.said: list[TurnOutput] = []

    def sound(self, *spans: tuple[float, bool]) -> list[TurnOutput]:
        """Make sound and silence for (seconds, voiced); give what came of it."""
        begun = len(self.said)
        for each in windows(*spans, start=self.at):
            self.at = each.end
            self._answer(self.machine.handle(each))
        return self.said[begun:]

    def tell(self, *events: TurnInput) -> list[TurnOutput]:
        """Tell the machine something else."""
        outputs = feed(self.machine, events)
        self.said += outputs
        return outputs

    def _answer(self, outputs: Sequence[TurnOutput]) -> None:
        for output in outputs:
            self.said.append(output)
            if isinstance(output, AssessTurn) and self.answers:
                self._answer(self.machine.handle(TurnAssessed(output.at, self.probability)))
            if isinstance(output, AskWords) and (self.deaf or self.text is not None):
                self._answer(self.machine.handle(WordsArrived(self.text, output.end)))


SPEECH = ((0.32, False), (1.28, True))
SPOKEN = 50 * WINDOW
"""Where the voice of SPEECH ends."""


def seconds(ended: TurnEnded) -> float:
    return (ended.at - ended.end) / RATE


def test_a_turn_that_sounds_finished_ends_at_once() -> None:
    caller = Caller(probability=0.95)
    caller.sound(*SPEECH)
    said = caller.sound((1.0, False))
    assert [type(each) for each in said] == [SpeechStopped, AssessTurn, TurnEnded]
    (ended,) = only(TurnEnded, said)
    believed = pytest.approx(0.95)
    assert ended == TurnEnded(SPOKEN + 7 * WINDOW, 10 * WINDOW, SPOKEN, "semantic", believed)  # type: ignore[arg-type]
    assert seconds(ended) == pytest.approx(0.224)


@pytest.mark.parametrize(
    ("probability", "least", "most"),
    [(0.82, 1.0, 1.1), (0.6, 1.2, 1.5), (0.3, 1.5, 1.55), (0.02, 2.4, 2.45)],
)
def test_the_less_finished_it_sounds_the_longer_the_wait(
    probability: float, least: float, most: float
) -> None:
    caller = Caller(probability=probability)
    caller.sound(*SPEECH)
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert ended.why == "silence"
    assert least <= seconds(ended) < most


def test_a_short_word_at_the_end_makes_it_wait() -> None:
    caller = Caller(TurnSettings(), 0.95, "I would like an appointment for")
    caller.sound(*SPEECH)
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert seconds(ended) == pytest.approx(2.4, abs=0.04)


def test_words_end_a_turn_that_the_melody_leaves_open() -> None:
    caller = Caller(TurnSettings(), 0.75, "What time do you open?")
    caller.sound(*SPEECH)
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert ended.why == "words"
    assert seconds(ended) < 0.3


def test_late_words_are_waited_for_only_so_long() -> None:
    caller = Caller(TurnSettings(), 0.95, text=None)
    caller.sound(*SPEECH)
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert seconds(ended) == pytest.approx(0.12 + 0.25, abs=0.04)


@pytest.mark.parametrize("answers", [True, False])
def test_without_the_detector_the_timer_decides_and_the_turn_says_so(answers: bool) -> None:
    caller = Caller(probability=None)
    caller.answers = answers
    caller.sound(*SPEECH)
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert ended.late
    assert ended.why == "silence"
    assert ended.probability is None
    assert seconds(ended) == pytest.approx(1.5, abs=0.04)


def test_an_answer_about_an_earlier_pause_is_dropped() -> None:
    caller = Caller()
    caller.answers = False
    caller.sound(*SPEECH)
    (asked,) = only(AssessTurn, caller.sound((0.32, False)))
    caller.sound((0.32, True), (0.256, False))
    assert caller.machine.handle(TurnAssessed(asked.at, 0.99)) == []


def test_a_doubtful_pause_is_asked_about_twice_and_no_more() -> None:
    caller = Caller(probability=0.3)
    caller.sound(*SPEECH)
    first, second = only(AssessTurn, caller.sound((4.0, False)))
    assert second.at - first.at >= 0.25 * RATE
    sure = Caller(probability=0.02)
    sure.sound(*SPEECH)
    assert len(only(AssessTurn, sure.sound((4.0, False)))) == 1


def test_a_probable_end_is_drafted_and_a_caller_who_goes_on_voids_it() -> None:
    caller = Caller(probability=0.7)
    caller.sound(*SPEECH)
    (drafted,) = only(TurnDrafted, caller.sound((0.64, False)))
    assert drafted.end == SPOKEN
    said = caller.sound((0.64, True))
    assert [type(each) for each in said] == [SpeechStarted, TurnResumed]
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert ended.start == drafted.start
    assert ended.end == SPOKEN + 40 * WINDOW


def test_no_draft_while_a_tool_runs_nor_in_a_long_story() -> None:
    caller = Caller(probability=0.7)
    caller.tell(FloorKept(True))
    caller.sound(*SPEECH)
    assert only(TurnDrafted, caller.sound((4.0, False))) == []
    story = Caller(probability=0.7)
    story.sound((0.32, False), (21.0, True))
    assert only(TurnDrafted, story.sound((4.0, False))) == []


def test_a_speaker_who_pauses_long_is_given_as_long_again() -> None:
    caller = Caller(probability=0.3)
    caller.sound(*SPEECH, (0.96, False), (0.64, True))
    caller.probability = 0.95
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert seconds(ended) == pytest.approx(1.2 * 0.96, abs=0.04)


def test_an_unfinished_turn_is_given_longer_than_its_longest_pause() -> None:
    caller = Caller(probability=0.02)
    caller.sound(*SPEECH, (1.92, False), (0.64, True))
    (ended,) = only(TurnEnded, caller.sound((5.0, False)))
    assert seconds(ended) == pytest.approx(1.8 * 1.92, abs=0.04)


def test_a_window_of_voice_puts_the_end_off() -> None:
    caller = Caller(TurnSettings(profile=Profile.silence(0.32)))
    caller.sound(*SPEECH, (0.288, False))
    assert caller.sound((0.032, True)) == []  # it may be the next word
    assert len(only(TurnEnded, caller.sound((0.5, False)))) == 1


def test_a_click_makes_no_turn() -> None:
    caller = Caller(probability=0.99)
    said = caller.sound((0.32, False), (0.096, True), (6.0, False))
    assert [type(each) for each in said] == [SpeechStarted, SpeechStopped, TurnDropped]


def test_a_stuck_line_ends_its_turn() -> None:
    caller = Caller()
    caller.sound(*SPEECH, (5.0, False))
    said = caller.sound((61.0, True))
    (ended,) = only(TurnEnded, said)
    assert ended.why == "silence"


def test_a_silence_timer_counts_from_where_the_model_stopped_and_asks_nothing() -> None:
    caller = Caller(TurnSettings(profile=Profile.silence(1.0)))
    caller.sound(*SPEECH)
    said = caller.sound((2.0, False))
    assert only(AssessTurn, said) == []
    assert seconds(only(TurnEnded, said)[0]) == pytest.approx(1.0, abs=0.04)


def test_a_profile_can_be_chosen_in_the_middle_of_a_pause() -> None:
    caller = Caller(probability=0.3)
    caller.deaf = True
    caller.sound(*SPEECH, (1.2, False))
    caller.tell(ProfileChosen("quick"))
    assert len(only(TurnEnded, caller.sound((0.1, False)))) == 1


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown"):
        TurnTaking(RATE).handle(ProfileChosen("hasty"))


# --- keys ----------------------------------------------------------------------------------------


def press(caller: Caller, keys: str) -> list[TurnEnded]:
    return only(TurnEnded, caller.tell(*(KeyPressed(caller.at, key) for key in keys)))


def test_the_terminator_ends_keys() -> None:
    caller = Caller()
    caller.sound((0.32, False))
    (ended,) = press(caller, "1234#")
    assert (ended.why, ended.keys) == ("keys", "1234")


def test_the_length_that_was_asked_for_ends_keys() -> None:
    caller = Caller()
    caller.tell(SpeechMoment("digits:4"))
    assert press(caller, "123") == []
    (ended,) = press(caller, "4")
    assert ended.keys == "1234"


def test_a_pause_ends_keys() -> None:
    caller = Caller()
    assert press(caller, "12") == []
    (ended,) = only(TurnEnded, caller.sound((4.0, False)))
    assert ended.keys == "12"
    assert ended.at == pytest.approx(3.0 * RATE, abs=WINDOW)


def test_a_terminator_alone_is_a_key() -> None:
    (ended,) = press(Caller(), "#")
    assert ended.keys == "#"


def test_keys_after_words_belong_to_the_same_turn() -> None:
    caller = Caller(probability=0.7)
    caller.sound(*SPEECH, (0.5, False))
    said = caller.tell(*(KeyPressed(caller.at, key) for key in "5#"))
    assert [type(each) for each in said] == [TurnResumed, TurnEnded]  # the draft knew no keys
    (ended,) = only(TurnEnded, said)
    assert ended.start == 10 * WINDOW
    assert only(TurnEnded, caller.sound((4.0, False))) == []


def test_sound_that_keys_ended_belongs_to_no_second_turn() -> None:
    caller = Caller()
    caller.sound(*SPEECH)
    (ended,) = press(caller, "#")
    feed(caller.machine, (AgentBegan(caller.at, "uninterruptible"), AgentSilent(caller.at)))
    (after,) = only(TurnEnded, caller.sound((0.32, True), (4.0, False)))
    assert ended.end <= after.start


def test_no_recogniser_is_not_no_words() -> None:
    """Where nobody listens for words, a detector that is sure ends the turn by itself."""
    caller = Caller(TurnSettings(), probability=0.95)
    caller.deaf = True
    heard = Caller(TurnSettings(), probability=0.95, text="")
    for each in (caller, heard):
        each.sound((0.96, True), (2.0, False))
    (ended,) = only(TurnEnded, caller.said)
    assert (ended.at - ended.end) / RATE <= 0.3
    assert ended.why == "semantic"
    (waited,) = only(TurnEnded, heard.said)
    assert (waited.at - waited.end) / RATE >= 1.0


def dictated(expects: str, *groups: tuple[str, float], profile: Profile = DEFAULT) -> Caller:
    """Let groups be dictated, each followed by so much silence; the detector is always sure."""
    caller = Caller(TurnSettings(profile), probability=0.95)
    caller.tell(SpeechMoment(expects))
    caller.sound((0.32, False))
    for text, silence in groups:
        caller.text = text
        caller.sound((1.28, True), (silence, False))
    return caller


def test_who_dictates_keeps_the_floor_until_the_form_is_full() -> None:
    number = ("five five five", 2.5), ("555 012", 2.5), ("5550127849", 2.0)
    (ended,) = only(TurnEnded, dictated("phone", *number).said)
    assert seconds(ended) == pytest.approx(0.45, abs=0.04)
    assert ended.end / RATE == pytest.approx(0.32 + 3 * 1.28 + 5.0, abs=0.1)


def test_a_form_that_stays_short_is_over_after_a_long_silence() -> None:
    (ended,) = only(TurnEnded, dictated("phone", ("five five five", 6.0)).said)
    assert seconds(ended) == pytest.approx(3.0, abs=0.04)


def test_a_recogniser_that_writes_the_rest_of_a_number_is_not_believed() -> None:
    """Ten digits are not said in a second."""
    assert only(TurnEnded, dictated("phone", ("617-848-6170", 2.5)).said) == []


def test_a_digit_by_itself_is_no_number_where_digits_are_listened_for() -> None:
    caller = dictated("", ("Five.", 2.5), profile=profile("digits"))
    assert only(TurnEnded, caller.said) == []


def test_the_words_of_the_question_say_what_is_dictated() -> None:
    caller = Caller(TurnSettings(), probability=0.95, text="five five five")
    caller.tell(AgentBegan(0), AgentAsks(0, True, "What is your phone number?"), AgentSilent(0))
    caller.sound((0.32, False), (1.28, True), (2.5, False))
    assert only(TurnEnded, caller.said) == []
