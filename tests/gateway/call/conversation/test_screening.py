"""What is said to who answers a call that was placed, and what is not."""

from __future__ import annotations

from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import (
    BackendLost,
    BackendTurn,
    BeepHeard,
    CallerClaimed,
    CallerTurnEnded,
    CallerWords,
    CallInfo,
    CallStarted,
    Draft,
    DropDraft,
    Flush,
    HangUp,
    Inform,
    KeepFloor,
    PlayoutDry,
    PlayoutFlushed,
    ReplyEnded,
    Respond,
    Speak,
    TimePassed,
)
from gateway.ports import BackendTraits
from tests.support.playbook import RATE, Playbook, only, records
from turn.events import (
    FloorClaimed,
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnDropped,
    TurnEnded,
)

PLACED = CallInfo("c1", "sip", "test", rate=RATE, direction="outbound", screened=True)
MACHINE = "You have reached Anna. Please leave a message after the beep."


def placed(traits: BackendTraits | None = None, language: str = "en", **lines: str) -> Playbook:
    """Begin a call that was placed."""
    settings = ConversationSettings(lines=FixedLines(**lines), language=language)
    book = Playbook(settings, traits, PLACED)
    assert only(book.happens(CallStarted()), Speak) == []
    return book


def speaks(book: Playbook, seconds: float) -> None:
    """Let them speak for so long, and stop."""
    book.happens(SpeechStarted(0, 0), 0.5)
    book.happens(SpeechStopped(0, 0), seconds)


def ends(book: Playbook, after: float = 0.3) -> list[object]:
    ended = TurnEnded(RATE, 0, RATE, "semantic", 0.9)
    return list(book.happens(CallerTurnEnded(ended, book.now), after))


def waited(book: Playbook) -> list[object]:
    """Let time pass until something is decided."""
    assert book.machine.deadline is not None
    return list(book.happens(TimePassed(), book.machine.deadline - book.now))


def answered_by(book: Playbook) -> list[tuple[object, object]]:
    found = records(book.effects, "answered_by")
    return [(each["kind"], each["by"]) for each in found]


def test_nobody_is_answered_or_greeted_while_nobody_knows_who_it_is() -> None:
    book = placed()
    speaks(book, 0.6)
    assert len(only(book.happens(TurnDrafted(RATE, 0, RATE, 0.9)), Draft)) == 1
    assert ends(book) == []
    assert only(book.effects, Speak) == only(book.effects, Respond) == []
    assert answered_by(book) == []


def test_somebody_who_waits_is_greeted_once() -> None:
    book = placed(greeting="Good morning.")
    speaks(book, 0.6)
    (drafted,) = only(ends(book), Draft)
    book.happens(CallerWords(drafted.turn, "Smith speaking.", final=True), 0.1)
    effects = waited(book)
    assert [one.text for one in only(effects, Speak)] == ["Good morning."]
    assert only(effects, DropDraft) == [DropDraft(drafted.reply)]
    assert answered_by(book) == [("person", "voice")]
    said = [(entry.role, entry.text) for entry in book.machine.state.history.entries()]
    assert said == [("caller", "Smith speaking."), ("agent", "Good morning.")]


def test_a_greeting_that_pauses_is_known_by_its_words_before_anybody_speaks() -> None:
    book = placed(greeting="Good morning.")
    speaks(book, 2.0)
    (drafted,) = only(ends(book), Draft)
    effects = book.happens(CallerWords(drafted.turn, MACHINE, final=True), 0.2)
    assert only(effects, DropDraft) == [DropDraft(drafted.reply)]
    assert answered_by(book) == [("machine", "words")]
    assert only(book.effects, Speak) == []


def test_a_turn_that_is_found_to_be_over_after_the_greeting_began_is_answered_by_it() -> None:
    book = placed(greeting="Good morning.")
    speaks(book, 0.6)
    said = book.now
    assert only(waited(book), Speak)
    ended = TurnEnded(RATE, 0, RATE, "semantic", 0.9)
    assert only(book.happens(CallerTurnEnded(ended, said), 0.2), Respond) == []


def test_what_they_said_is_answered_where_there_is_no_greeting() -> None:
    book = placed(greeting="")
    speaks(book, 0.6)
    ends(book)
    assert len(only(waited(book), Respond)) == 1


def test_two_pieces_of_an_answer_are_one_turn() -> None:
    book = placed(greeting="")
    speaks(book, 0.4)
    ends(book, 0.2)
    book.happens(SpeechStarted(0, 0), 0.2)
    book.happens(SpeechStopped(0, 0), 0.4)
    second = TurnEnded(3 * RATE, 2 * RATE, 3 * RATE, "semantic", 0.9)
    book.happens(CallerTurnEnded(second, book.now), 0.2)
    (respond,) = only(waited(book), Respond)
    assert (respond.start, respond.end) == (0, 3 * RATE)


def test_a_model_that_owns_turns_answers_somebody_who_waits() -> None:
    book = placed(BackendTraits(owns_turns=True), greeting="")
    speaks(book, 0.6)
    assert book.happens(BackendTurn("ended")) == []
    assert len(only(waited(book), Respond)) == 1


def test_who_goes_on_is_a_machine_and_is_left_alone_until_it_beeps() -> None:
    book = placed(greeting="Good morning.")
    book.happens(SpeechStarted(0, 0), 0.5)
    waited(book)
    assert answered_by(book) == [("machine", "voice")]
    for _ in range(3):
        book.happens(SpeechStopped(0, 0), 1.0)
        assert ends(book) == []
        book.happens(SpeechStarted(0, 0), 1.0)
    assert only(book.effects, Speak) == []
    (respond,) = only(book.happens(BeepHeard(), 1.0), Respond)
    assert respond.again
    assert "answering machine" in respond.history[-1].text
    assert only(book.effects, Inform)


def test_after_the_message_the_call_ends_and_meanwhile_nothing_cuts_in() -> None:
    book = placed()
    (respond,) = only(book.happens(BeepHeard(), 0.5), Respond)
    assert only(book.effects, KeepFloor) == [KeepFloor(True)]
    utterance = book.reply(respond, "Please call us back. Goodbye.")
    cut = book.happens(CallerClaimed(FloorClaimed(0, 0, "words: stop"), book.now), 0.1)
    assert only(cut, Flush) == []
    assert ends(book) == []
    book.heard_all(utterance)
    assert only(book.effects, HangUp) == [HangUp("message left")]


def test_a_fixed_message_needs_no_model() -> None:
    book = placed(voicemail="Please call us back.")
    effects = book.happens(BeepHeard(), 0.5)
    assert only(effects, Respond) == []
    (line,) = only(effects, Speak)
    book.hear_line(line)
    assert only(book.effects, HangUp) == [HangUp("message left")]


def test_a_message_that_could_not_be_rendered_ends_the_call_too() -> None:
    book = placed(voicemail="Please call us back.")
    book.happens(BeepHeard(), 0.5)
    assert only(book.happens(PlayoutDry(), 8.0), HangUp) == [HangUp("message left")]


def test_a_model_that_fails_is_not_asked_to_hear_it_again_by_a_machine() -> None:
    book = placed()
    (respond,) = only(book.happens(BeepHeard(), 0.5), Respond)
    lost = book.happens(BackendLost("broken", reply=respond.reply, fatal=False), 0.5)
    again = FixedLines().again
    assert again not in [one.text for one in only(lost, Speak)]


def test_words_that_only_recordings_say_take_the_floor_back() -> None:
    book = placed(greeting="")
    speaks(book, 2.0)
    ends(book)
    (respond,) = only(waited(book), Respond)
    effects = book.happens(CallerWords(respond.turn, MACHINE, final=True), 0.2)
    assert only(effects, Flush)
    assert answered_by(book) == [("person", "voice"), ("machine", "words")]
    # Nobody comes back to a machine that has beeped already, or never does.
    assert only(waited(book), Respond)


def test_the_same_words_of_somebody_who_answered_us_are_words() -> None:
    book = placed(greeting="")
    speaks(book, 0.5)
    ends(book)
    (respond,) = only(waited(book), Respond)
    book.happens(CallerWords(respond.turn, "Hello?", final=True), 0.2)
    book.heard_all(book.reply(respond, "Good morning, this is Parley."))
    second = book.turn("Yes?")
    book.heard_all(book.reply(second, "May I speak to Anna?"))
    third = book.turn("She is out, please leave a message.")
    assert book.machine.state.replies.current is not None
    assert answered_by(book) == [("person", "voice")]
    assert third.turn == 3
    assert book.happens(BeepHeard()) == []


def test_words_are_looked_for_in_the_agents_language() -> None:
    for language, text in (
        ("de", "Bitte hinterlassen Sie eine Nachricht nach dem Signalton."),
        ("fr", "Laissez un message après le bip."),
        ("es-MX", "Deje su mensaje después de la señal."),
        ("xx", ""),
    ):
        book = placed(language=language, greeting="")
        speaks(book, 2.0)
        ends(book)
        (respond,) = only(waited(book), Respond)
        book.happens(CallerWords(respond.turn, text or MACHINE, final=True), 0.2)
        assert (("machine", "words") in answered_by(book)) is bool(text), language


def test_a_sound_that_was_no_voice_is_no_answer() -> None:
    book = placed(greeting="Good morning.")
    book.happens(SpeechStarted(0, 0), 0.5)
    book.happens(SpeechStopped(0, 0), 0.2)
    book.happens(TurnDropped(0), 0.3)
    assert only(waited(book), Speak)
    assert answered_by(book) == [("silence", "silence")]


def test_nobody_is_asked_whether_they_are_there_while_a_machine_speaks() -> None:
    book = placed(greeting="Good morning.")
    book.happens(SpeechStarted(0, 0), 0.5)
    waited(book)
    book.happens(PlayoutFlushed(()))
    book.happens(PlayoutDry(), 20.0)
    book.happens(TimePassed(), 20.0)
    assert only(book.effects, Speak) == []


def test_a_beep_means_nothing_in_a_call_that_came_in() -> None:
    book = Playbook()
    book.hear_line(book.start())
    assert book.happens(BeepHeard()) == []
    respond = book.turn("Please leave a message after the beep.")
    book.happens(ReplyEnded(respond.reply))
    assert answered_by(book) == []
