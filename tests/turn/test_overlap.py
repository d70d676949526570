"""Over the agent's voice: nods and noises pass, claims stop the agent, all within bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from msgspec import structs

from tests.turn.windows import LOUD, RATE, WINDOW, only, window, windows
from turn.events import (
    AgentAsks,
    AgentBegan,
    AgentSilent,
    AskWords,
    FloorClaimed,
    FloorKept,
    KeyPressed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    TurnEnded,
    TurnInput,
    TurnOutput,
    WordsArrived,
)
from turn.profile import DEFAULT
from turn.taking import TurnSettings, TurnTaking

START = 10 * WINDOW
"""Where the sound over the agent begins."""


@dataclass
class Call:
    """The agent speaks from the start; the recogniser hears what is set, after two windows."""

    texts: tuple[str | None, ...] = ()
    "answers to the questions, in order, the last one repeated; none: it never answers"
    began: AgentBegan = field(default_factory=lambda: AgentBegan(0))
    recogniser: bool = True
    said: list[TurnOutput] = field(default_factory=list)
    asked: int = 0
    at: int = 0

    def __post_init__(self) -> None:
        profile = DEFAULT if self.recogniser else DEFAULT.without("semantic")
        settings = TurnSettings(profile)
        self.machine = TurnTaking(RATE, settings)
        self._coming: list[tuple[int, WordsArrived]] = []
        self.tell(self.began)
        self.sound((0.32, False))

    def sound(self, *spans: tuple[float, bool], level: float = LOUD) -> Call:
        for each in windows(*spans, start=self.at):
            loud = structs.replace(each, level=level) if each.probability > 0.5 else each
            self.at = each.end
            self.tell(loud)
            due = [event for at, event in self._coming if at <= self.at]
            self._coming = [(at, event) for at, event in self._coming if at > self.at]
            for event in due:
                self.tell(event)
        return self

    def tell(self, event: TurnInput) -> Call:
        for output in self.machine.handle(event):
            self.said.append(output)
            if isinstance(output, AskWords) and self.texts:
                text = self.texts[min(self.asked, len(self.texts) - 1)]
                self.asked += 1
                self._coming.append((self.at + 2 * WINDOW, WordsArrived(text, output.end)))
        return self

    def after(
        self, kind: type[OverlapBegan | OverlapHeld | OverlapDismissed | FloorClaimed]
    ) -> float:
        """Return the seconds from the first voiced sample to the first output of a kind."""
        (first, *_) = only(kind, self.said)
        return (first.at - START) / RATE

    @property
    def dismissed(self) -> list[str]:
        return [each.kind for each in only(OverlapDismissed, self.said)]

    @property
    def claims(self) -> list[str]:
        return [each.evidence for each in only(FloorClaimed, self.said)]


@pytest.mark.parametrize("text", ["Okay.", "Uh-huh.", "Yeah, right."])
def test_a_nod_is_let_pass(text: str) -> None:
    call = Call((text,)).sound((0.48, True), (1.0, False))
    assert call.after(OverlapBegan) < 0.1
    assert call.dismissed == ["backchannel"]
    assert call.claims == []
    assert call.after(OverlapDismissed) < 0.7


def test_a_short_nod_does_not_even_make_the_agent_pause() -> None:
    call = Call(("Okay.",)).sound((0.288, True), (1.0, False))
    assert only(OverlapHeld, call.said) == []
    assert call.dismissed == ["backchannel"]


@pytest.mark.parametrize(
    "texts", [("Wait, stop.",), ("No, the.", "No, the other."), ("Can.", "Can I have.")]
)
def test_a_claim_silences_the_agent_within_the_limit_and_takes_the_floor(
    texts: tuple[str, ...],
) -> None:
    call = Call(texts).sound((1.6, True), (0.1, False))
    assert call.after(OverlapHeld) <= 0.4
    assert call.after(FloorClaimed) <= 0.7
    assert call.claims[0].startswith("words: ")
    assert call.dismissed == []


def test_a_short_stop_is_a_claim() -> None:
    call = Call(("Stop.",)).sound((0.32, True), (1.0, False))
    assert len(call.claims) == 1


def test_one_odd_answer_of_the_recogniser_is_no_claim() -> None:
    call = Call(("I'm sorry.", "All right.")).sound((0.48, True), (1.0, False))
    assert call.dismissed == ["backchannel"]


def test_going_on_speaking_is_a_claim_whatever_is_understood() -> None:
    call = Call(("The same thing is that the one who is in the house",)).sound((1.6, True))
    assert call.claims == ["length, 0.93 s"]
    assert call.after(OverlapHeld) <= 0.4


def test_without_a_recogniser_length_decides() -> None:
    short = Call(recogniser=False).sound((0.48, True), (1.0, False))
    assert short.dismissed == ["backchannel"]
    assert only(AskWords, short.said) == []
    long = Call(recogniser=False).sound((1.6, True))
    assert long.after(FloorClaimed) < 1.0


def test_a_recogniser_that_never_answers_holds_nothing_up() -> None:
    short = Call().sound((0.48, True), (1.0, False))
    assert short.after(OverlapDismissed) < 1.0
    long = Call().sound((1.6, True))
    assert long.after(FloorClaimed) < 1.0


def test_a_long_sound_without_words_gives_the_floor_back() -> None:
    call = Call(("",)).sound((3.0, True), (1.0, False))
    assert call.dismissed == ["wordless"]
    assert call.after(OverlapDismissed) <= 2.1
    assert only(TurnEnded, call.sound((5.0, False)).said) == []


def test_a_cough_is_noise() -> None:
    call = Call(("",)).sound((0.128, True), (1.0, False))
    assert call.dismissed == ["noise"]
    assert only(OverlapHeld, call.said) == []


def test_someone_else_in_the_room_is_an_aside() -> None:
    call = Call(("so what did you do then",), began=AgentBegan(0))
    call.tell(AgentSilent(call.at)).sound((0.64, True), (4.0, False))  # the caller's own level
    call.tell(AgentBegan(call.at)).sound((0.32, False))
    call.texts = ("",)
    call.sound((1.6, True), (1.0, False), level=LOUD - 20)
    assert call.claims == call.dismissed == []  # nor does it lower the agent's voice


def test_yes_is_an_answer_to_an_agent_that_asks() -> None:
    call = Call(("Yes.",)).tell(AgentAsks(START, asks=True)).sound((0.4, True), (1.0, False))
    assert call.claims == ["answer: Yes., 0.32 s"]
    assert Call(("Yes.",)).sound((0.4, True), (1.0, False)).claims == []


def test_a_yes_before_the_question_was_heard_is_a_nod() -> None:
    call = Call(("Yes.",)).sound((0.16, True))
    call.tell(AgentAsks(call.at, asks=True)).sound((0.24, True), (1.0, False))
    assert call.claims == []
    assert call.dismissed == ["backchannel"]


def test_a_yes_after_the_agent_went_on_from_its_question_is_a_nod() -> None:
    call = Call(("Yes.",)).tell(AgentAsks(0, asks=True)).tell(AgentAsks(START, asks=False))
    call.sound((0.4, True), (1.0, False))
    assert call.claims == []
    again = Call(("Yes.",)).tell(AgentAsks(0, asks=True)).tell(AgentBegan(START))
    assert again.sound((0.4, True), (1.0, False)).claims == []


def test_without_a_recogniser_a_sound_is_judged_by_its_length() -> None:
    """Whether that is known at the start or only by its first answer."""
    for call in (Call(recogniser=False), Call((None,))):
        call.sound((1.2, True))
        assert call.claims == ["length, 0.93 s"]


@pytest.mark.parametrize(
    ("recogniser", "apart", "within"), [(False, 0.6, 0.2), (False, 1.6, 0.4), (True, 0.6, 0.4)]
)
def test_a_sound_right_after_a_nod_without_words_is_given_way_to_at_once(
    recogniser: bool, apart: float, within: float
) -> None:
    call = Call(recogniser=recogniser, texts=("Okay.",))
    call.sound((0.45, True), (apart, False))
    assert call.dismissed == ["backchannel"]
    begins, held = call.at, len(only(OverlapHeld, call.said))
    call.sound((0.6, True))
    (again,) = only(OverlapHeld, call.said)[held:]
    assert within - 0.15 < (again.at - begins) / RATE < within
    assert not call.claims


def test_legal_text_is_not_interrupted_but_who_goes_on_after_it_is_heard() -> None:
    call = Call(("Wait, no",), AgentBegan(0, "uninterruptible")).sound((1.0, True))
    assert only(OverlapBegan, call.said) == []
    call.tell(AgentSilent(call.at)).sound((0.5, True), (4.0, False))
    (ended,) = only(TurnEnded, call.said)
    assert ended.start == START


def test_nothing_is_interrupted_while_a_write_runs() -> None:
    call = Call(("Wait, no",)).tell(FloorKept(True)).sound((1.0, True), (1.0, False))
    assert only(OverlapBegan, call.said) == []


def test_echo_is_nobody_and_a_claim_through_it_is_somebody() -> None:
    call = Call(("Thank you for calling.",))
    for each in windows((2.0, True), start=call.at, echo=0.9):
        call.tell(each)
    assert only(OverlapBegan, call.said) == []
    through = Call(("Wait, stop.",))
    for index in range(40):  # double talk: the reference explains half of every second window
        through.at = 10 * WINDOW + index * WINDOW
        through.sound((0.032, True))
    assert through.claims


def test_the_turn_of_a_claim_begins_where_the_claim_began() -> None:
    call = Call(("Wait, no",)).sound((1.6, True), (4.0, False))
    (ended,) = only(TurnEnded, call.said)
    assert (ended.start, ended.end) == (START, START + 50 * WINDOW)


def test_a_sound_undecided_when_the_agent_falls_silent_is_a_turn() -> None:
    call = (
        Call().sound((0.32, True)).tell(AgentSilent(14 * WINDOW)).sound((0.64, True), (4.0, False))
    )
    assert call.dismissed == ["open"]
    (ended,) = only(TurnEnded, call.said)
    assert ended.start == START


def test_a_caller_who_is_speaking_as_the_agent_begins_keeps_the_turn() -> None:
    machine = TurnTaking(RATE)
    said: list[TurnOutput] = []
    for each in windows((0.32, False), (0.64, True)):
        said += machine.handle(each)
    said += machine.handle(AgentBegan(30 * WINDOW))
    assert len(only(OverlapBegan, said)) == 1
    for each in windows((1.28, True), (4.0, False), start=30 * WINDOW):
        said += machine.handle(each)
    assert len(only(FloorClaimed, said)) == 1
    (ended,) = only(TurnEnded, said)
    assert ended.start == START


def test_a_key_takes_the_floor() -> None:
    call = Call().tell(KeyPressed(START, "1"))
    assert call.claims == ["key"]
    closed = Call(began=AgentBegan(0, "uninterruptible")).tell(KeyPressed(START, "1"))
    assert closed.claims == []
    assert [each.keys for each in only(TurnEnded, closed.sound((4.0, False)).said)] == ["1"]


def test_words_of_another_sound_change_nothing() -> None:
    call = Call().sound((0.4, True))
    assert call.machine.handle(WordsArrived("Wait, stop", call.at + 1)) == []
    assert call.machine.handle(window(call.at, True)) == []


def test_a_deed_that_is_under_way_is_not_cut_into_and_a_caller_who_goes_on_then_is() -> None:
    call = Call(("Wait, no",)).sound((0.2, True)).tell(FloorKept(True))
    assert call.dismissed == ["kept"], "what was being judged is no claim any more"
    call.sound((2.0, True))
    assert call.claims == []
    call.tell(FloorKept(False)).sound((1.6, True), (1.0, False))
    assert len(call.claims) == 1


def test_a_key_is_no_cut_in_while_a_deed_is_under_way() -> None:
    call = Call().tell(FloorKept(True)).tell(KeyPressed(START, "1"))
    assert call.claims == []
    call.tell(FloorKept(False)).tell(KeyPressed(START, "1"))
    assert len(call.claims) == 1
