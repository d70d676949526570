"""A deed from its proposal to the moment the caller knows what came of it."""

from __future__ import annotations

import pytest

from gateway.call.settings import ConversationSettings
from gateway.events import (
    AnswerTool,
    CallerAnswered,
    CallerClaimed,
    CallerTurnEnded,
    CallerTyped,
    CallerWords,
    CancelReply,
    Flush,
    HangUp,
    Inform,
    PlayoutDry,
    PlayoutFlushed,
    Record,
    ReplyEnded,
    Respond,
    RunTool,
    Speak,
    TimePassed,
    ToolAnswered,
    ToolAsked,
)
from gateway.log_events import ToolLogged
from gateway.ports import BackendTraits, ToolSpec
from gateway.tools.builtins import BUILTINS
from tests.support.playbook import BOOK, LOOKUP, Playbook, heard, only
from turn.events import FloorClaimed, SpeechStarted, TurnEnded

PLAIN = ToolSpec("note", "Note.", {"type": "object"}, effect="write", timeout=5.0)
SETTINGS = ConversationSettings(
    tools=(
        LOOKUP,
        BOOK,
        PLAIN,
        BUILTINS["hang_up"],
        BUILTINS["switch_profile"],
        BUILTINS["transfer"],
    )
)
SURE = SETTINGS.lines.sure


def greeted(traits: BackendTraits | None = None) -> Playbook:
    book = Playbook(SETTINGS, traits)
    book.hear_line(book.start())
    return book


def propose(book: Playbook, respond: Respond, at: str = "nine", ask: str = "a1") -> Speak:
    """Let the model ask for the booking; give the read-back that follows."""
    book.happens(ToolAsked(respond.reply, ask, "book", {"at": at}), 0.1)
    effects = book.happens(TimePassed(), 0.1)
    (answer,) = only(effects, AnswerTool)
    assert (answer.result["status"], answer.proceed, answer.ends) == ("asked", False, True)
    assert not only(effects, Speak), "the model may still be speaking"
    (said,) = only(book.happens(ReplyEnded(respond.reply), 0.1), Speak)
    return said


def proposed(traits: BackendTraits | None = None) -> Playbook:
    """Return a call in which a booking at nine was read back and heard."""
    book = greeted(traits)
    said = propose(book, book.turn("I need a slot"))
    assert said.text == "Shall I book nine?"
    book.hear_line(said)
    return book


def outcomes(book: Playbook) -> list[str]:
    told = [each.event for each in only(book.effects, Record)]
    return [each.outcome for each in told if isinstance(each, ToolLogged)]


def test_a_yes_commits_exactly_what_was_read_back_and_the_model_tells_it() -> None:
    book = proposed()
    respond = book.turn("Yes, please.")
    (run,) = only(book.effects, RunTool)
    assert (run.name, run.arguments) == ("book", {"at": "nine"})
    assert CancelReply(respond.reply) in book.effects, "what the model would say now is no answer"
    effects = book.happens(ToolAnswered(run.ask, {"ok": 1}, "done"), 0.4)
    assert only(effects, Inform)
    (again,) = only(effects, Respond)
    assert again.again
    roles = [(entry.role, entry.text) for entry in again.history[-3:]]
    assert roles == [("caller", "Yes, please."), ("tool_ask", ""), ("tool_result", "")]
    assert outcomes(book) == ["asked", "proposed", "agreed", "done"]


@pytest.mark.parametrize(
    "said", ["Yes, make it ten.", "What does it cost?", "No.", "Good evening.", "If it's free."]
)
def test_whatever_else_is_said_runs_nothing_and_is_the_models_to_answer(said: str) -> None:
    book = proposed()
    respond = book.turn(said)
    assert not only(book.effects, RunTool)
    assert CancelReply(respond.reply) not in book.effects
    book.turn("Yes.")
    assert not only(book.effects, RunTool), "a proposal is answered once"


def test_in_doubt_the_caller_is_asked_again_in_other_words_and_then_the_model_is_left_to_it() -> (
    None
):
    book = proposed()
    respond = book.turn("I think so.")
    assert CancelReply(respond.reply) in book.effects
    said = only(book.effects, Speak)[-1]
    assert said.text == f"{SURE} Shall I book nine?"
    book.hear_line(said)
    respond = book.turn("Maybe.")
    assert CancelReply(respond.reply) not in book.effects
    assert outcomes(book)[-2:] == ["again", "lapsed"]
    assert not only(book.effects, RunTool)


def test_a_yes_to_something_else_runs_nothing() -> None:
    book = proposed()
    respond = book.turn("Uh, hang on, what else do you have?")
    utterance = book.reply(respond, "Water and juice. Would you like a drink with that?")
    book.heard_all(utterance)
    book.turn("Yes.")
    assert not only(book.effects, RunTool)


def test_a_yes_after_another_line_of_ours_is_asked_again() -> None:
    book = proposed()
    book.now += 8.0
    (line,) = only(book.happens(TimePassed(), 0.1), Speak)
    assert line.text == SETTINGS.lines.still_there
    book.hear_line(line)
    book.turn("Yes.")
    assert not only(book.effects, RunTool)
    assert outcomes(book)[-1] == "again"


def test_a_yes_over_a_read_back_that_was_not_heard_is_asked_again() -> None:
    book = greeted()
    said = propose(book, book.turn("I need a slot"))
    book.happens(SpeechStarted(0, 0))
    book.happens(CallerClaimed(FloorClaimed(0, 0, "words: yes"), book.now), 0.2)
    book.happens(PlayoutFlushed((heard(said.utterance, 2.0, 0.8),)))
    book.turn("Yes.")
    assert not only(book.effects, RunTool)
    assert only(book.effects, Speak)[-1].text == f"{SURE} Shall I book nine?"


def test_a_yes_of_a_caller_who_goes_on_is_asked_again() -> None:
    book = proposed(BackendTraits(wants_transcript=True))
    ended = TurnEnded(8000, 0, 8000, "semantic", 0.9)
    (respond,) = only(book.happens(CallerTurnEnded(ended, book.now + 1), 1.3), Respond)
    book.happens(SpeechStarted(9000, 9000), 0.2)
    book.happens(CallerWords(respond.turn, "Yes.", final=True), 0.2)
    assert not only(book.effects, RunTool)


def test_words_that_never_come_are_no_yes() -> None:
    book = proposed(BackendTraits(wants_transcript=True))
    ended = TurnEnded(8000, 0, 8000, "semantic", 0.9)
    (respond,) = only(book.happens(CallerTurnEnded(ended, book.now + 1), 1.3), Respond)
    book.happens(ToolAsked(respond.reply, "a2", "book", {"at": "nine"}), 0.3)
    book.happens(TimePassed(), 2.1)
    assert not only(book.effects, RunTool)
    assert "again" in outcomes(book)


def test_a_model_that_asks_again_for_what_was_agreed_is_answered_by_the_one_deed() -> None:
    book = proposed(BackendTraits(wants_transcript=True))
    ended = TurnEnded(8000, 0, 8000, "semantic", 0.9)
    (respond,) = only(book.happens(CallerTurnEnded(ended, book.now + 1), 1.3), Respond)
    assert not only(
        book.happens(ToolAsked(respond.reply, "a2", "book", {"at": "nine"}), 0.3), RunTool
    )
    book.happens(CallerWords(respond.turn, "Yes, please.", final=True), 0.5)
    (run,) = only(book.effects, RunTool)
    assert CancelReply(respond.reply) not in book.effects
    effects = book.happens(ToolAnswered(run.ask, {"ok": 1}, "done"), 0.4)
    (answer,) = only(effects, AnswerTool)
    assert (answer.ask, answer.result, answer.proceed) == ("a2", {"ok": 1}, True)


def test_changed_arguments_are_a_new_proposal() -> None:
    book = proposed()
    respond = book.turn("Make it ten.")
    said = propose(book, respond, "ten", "a2")
    assert said.text == "Shall I book ten?"
    book.hear_line(said)
    book.turn("Yes.")
    (run,) = only(book.effects, RunTool)
    assert run.arguments == {"at": "ten"}


def test_the_same_on_purpose_is_done_twice_each_with_its_own_yes() -> None:
    book = proposed()
    book.turn("Yes.")
    (run,) = only(book.effects, RunTool)
    (again,) = only(book.happens(ToolAnswered(run.ask, {"ok": 1}, "done"), 0.4), Respond)
    book.heard_all(book.reply(again, "Done. Anything else?"))
    book.hear_line(propose(book, book.turn("The same once more, please."), "nine", "a2"))
    assert len(only(book.effects, RunTool)) == 1
    book.turn("Yes.")
    first, second = only(book.effects, RunTool)
    assert first.key != second.key


def test_two_writes_of_one_message_are_asked_about_and_done_one_after_the_other() -> None:
    book = greeted()
    respond = book.turn("Nine and ten")
    book.happens(ToolAsked(respond.reply, "a1", "book", {"at": "nine"}), 0.1)
    book.happens(ToolAsked(respond.reply, "a2", "book", {"at": "ten"}))
    book.happens(ToolAsked(respond.reply, "a3", "note", {}))
    effects = book.happens(TimePassed(), 0.1)
    results = [answer.result for answer in only(effects, AnswerTool)]
    assert [r.get("status") or r["error"] for r in results] == ["asked", "asked", "not_yet"]
    (said,) = only(book.happens(ReplyEnded(respond.reply), 0.1), Speak)
    book.hear_line(said)
    book.turn("Yes.")
    (run,) = only(book.effects, RunTool)
    assert run.arguments == {"at": "nine"}
    (again,) = only(book.happens(ToolAnswered(run.ask, {"ok": 1}, "done"), 0.4), Respond)
    book.reply(again, "The first is booked.")
    book.heard_all(again.utterance)
    said = only(book.effects, Speak)[-1]
    assert said.text == "Shall I book ten?"
    book.hear_line(said)
    book.turn("Yes.")
    assert [run.arguments["at"] for run in only(book.effects, RunTool)] == ["nine", "ten"]


def test_a_key_and_the_pages_button_are_certain() -> None:
    for key, runs in (("1", 1), ("2", 0), ("7", 0)):
        book = proposed()
        ended = TurnEnded(8000, 8000, 8000, "keys", None, keys=key)
        book.happens(CallerTurnEnded(ended, book.now), 0.3)
        assert len(only(book.effects, RunTool)) == runs
    for yes in (True, False):
        book = greeted()
        said = propose(book, book.turn("I need a slot"))
        open_ = book.machine.state.tools.writes.open
        assert open_ is not None
        assert not only(book.happens(CallerAnswered("another", True)), RunTool)
        effects = book.happens(CallerAnswered(open_.run, yes), 0.1)
        assert len(only(effects, RunTool)) == yes
        assert only(effects, Flush), "the read-back need not go on"
        assert bool(only(effects, Respond)) is not yes
        assert said.text


def test_what_is_typed_is_an_answer_too() -> None:
    book = proposed()
    book.happens(CallerTyped("yes please"), 1.0)
    assert len(only(book.effects, RunTool)) == 1


def test_what_ends_late_is_told_when_it_ends_by_us_where_the_model_is_silent() -> None:
    for spoke in (True, False):
        book = greeted()
        respond = book.turn("Note that")
        (run,) = only(book.happens(ToolAsked(respond.reply, "a1", "note", {})), RunTool)
        (answer,) = only(book.happens(TimePassed(), 5.0), AnswerTool)
        assert answer.result["status"] == "running"
        book.heard_all(book.reply(respond, "It takes its time.", 1.0))
        effects = book.happens(ToolAnswered(run.ask, {"ok": 1}, "done"), 3.0)
        (again,) = only(effects, Respond)
        assert again.history[-1].role == "note"
        if spoke:
            book.heard_all(book.reply(again, "It is noted."))
            assert SETTINGS.lines.done not in [line.text for line in only(book.effects, Speak)]
        else:
            (line,) = only(book.happens(ReplyEnded(again.reply), 0.5), Speak)
            assert line.text == SETTINGS.lines.done


def test_a_call_is_not_hung_up_over_a_write() -> None:
    book = greeted()
    respond = book.turn("Note that, bye")
    (run,) = only(book.happens(ToolAsked(respond.reply, "a1", "note", {})), RunTool)
    book.happens(ToolAsked(respond.reply, "a2", "hang_up", {}))
    book.happens(TimePassed(), 5.0)
    book.happens(ReplyEnded(respond.reply), 0.1)
    book.happens(PlayoutDry(), 0.1)
    book.happens(TimePassed(), 16.0)
    assert not only(book.effects, HangUp)
    effects = book.happens(ToolAnswered(run.ask, {"error": "full"}, "failed"), 1.0)
    (again,) = only(effects, Respond)
    (line,) = only(book.happens(ReplyEnded(again.reply), 0.5), Speak)
    assert line.text == SETTINGS.lines.failed
    assert not only(book.effects, HangUp)
    book.hear_line(line)
    assert only(book.effects, HangUp)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("switch_profile", {"name": "loud"}), ("transfer", {"target": "mars"}), ("nonsense", {})],
)
def test_a_bad_name_is_answered_to_the_model(name: str, arguments: dict[str, str]) -> None:
    book = greeted()
    respond = book.turn("Hello")
    book.happens(ToolAsked(respond.reply, "a1", name, arguments))
    (answer,) = only(book.happens(TimePassed(), 0.1), AnswerTool)
    assert answer.result["error"] in ("bad_arguments", "no_such_tool", "not_allowed")
    assert answer.proceed
    assert book.machine.state.end.phase == "open"
