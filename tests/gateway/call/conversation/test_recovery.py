from __future__ import annotations

import pytest

from gateway.call.conversation.waits import SILENCE_SECONDS
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.call.targets import Targets
from gateway.events import (
    AgentAudio,
    AgentHeard,
    AnswerTool,
    BackendLost,
    CallerTurnEnded,
    CallerWords,
    Draft,
    EndUtterance,
    Entry,
    Flush,
    HangUp,
    Listen,
    Play,
    PlayoutDry,
    PlayoutFlushed,
    PlayoutStarved,
    ReplyEnded,
    ReplyText,
    Respond,
    Speak,
    SwitchBackend,
    TimePassed,
    ToolAsked,
    Transfer,
    TransferEnded,
    Truncate,
    Word,
)
from gateway.ports import BackendTraits
from gateway.tools.builtins import BUILTINS
from tests.support.playbook import Playbook, heard, only, records
from turn.events import SpeechStarted, TurnDrafted, TurnEnded

LOST = BackendLost("connection closed")


def greeted(*fallbacks: str) -> Playbook:
    transfers = Targets({"desk": "+15550100"})
    book = Playbook(ConversationSettings(fallbacks=fallbacks, transfers=transfers))
    book.hear_line(book.start())
    return book


def torn(book: Playbook) -> list[object]:
    """Let the backend die when half of a reply's first utterance was heard."""
    respond = book.turn("When do you open?")
    book.happens(ReplyText(respond.reply, respond.utterance, "We open at nine"))
    book.sound(respond, "We open at nine", 2.0)
    effects = book.happens(LOST, 0.5)
    assert only(effects, Flush), "what never ends would keep everything after it waiting"
    assert not only(effects, SwitchBackend), "first it must be known what was heard"
    return effects + book.happens(PlayoutFlushed((heard(respond.utterance, 2.0, 1.0),)))


def test_a_reply_torn_in_the_middle_is_bridged_and_taken_up_by_the_fallback():
    book = greeted("spare")
    effects = torn(book)
    (line,) = only(effects, Speak)
    assert "moment" in line.text
    (switch,) = only(effects, SwitchBackend)
    (respond,) = only(effects, Respond)
    assert (switch.name, switch.start, respond.again) == ("spare", None, True)
    assert [(entry.role, entry.interrupted) for entry in respond.history][-3:] == [
        ("caller", False),
        ("agent", True),
        ("note", False),
    ]
    assert effects.index(switch) < effects.index(respond)


def test_the_chain_is_walked_in_order_and_each_step_once():
    book = greeted("retry", "spare", "transfer:desk")
    book.turn("Hello")
    (switch,) = only(book.happens(LOST), SwitchBackend)
    assert switch.name == ""
    (switch,) = only(book.happens(LOST), SwitchBackend)
    assert switch.name == "spare"
    effects = book.happens(LOST)
    assert not only(effects, SwitchBackend)
    (line,) = only(effects, Speak)
    book.hear_line(line)
    assert [(each.target, bool(each.summary)) for each in only(book.effects, Transfer)] == [
        ("+15550100", True)
    ]
    effects = book.happens(TransferEnded(accepted=False, reason="busy"))
    lines = only(effects, Speak)
    assert len(lines) == 2, "nobody is there to help any more: sorry and goodbye"
    for line in lines:
        book.hear_line(line)
    assert only(book.effects, HangUp)


def test_a_retry_of_the_spare_opens_the_spare():
    book = greeted("spare", "retry")
    book.turn("Hello")
    names = [only(book.happens(LOST), SwitchBackend)[0].name for _ in range(2)]
    assert names == ["spare", "spare"]


def test_one_bridge_is_enough_for_losses_that_follow_at_once():
    book = greeted("retry", "spare")
    book.turn("Hello")
    effects = book.happens(LOST, 0.1) + book.happens(LOST, 0.1)
    assert len(only(effects, Speak)) == 1


def test_a_message_ends_the_call_politely():
    book = greeted("message")
    book.turn("Hello")
    lines = only(book.happens(LOST), Speak)
    assert len(lines) == 2
    for line in lines:
        book.hear_line(line)
    assert [each.reason for each in only(book.effects, HangUp)] == ["backend lost"]


def test_a_backend_that_dies_while_nobody_waits_for_it_is_replaced_without_a_word():
    book = greeted("spare")
    effects = book.happens(LOST)
    assert only(effects, SwitchBackend)
    assert not only(effects, Speak)
    assert not only(effects, Respond)


def test_one_that_dies_while_the_caller_speaks_hands_on_their_sound():
    book = greeted("spare")
    (listen,) = only(book.happens(SpeechStarted(9000, 8800)), Listen)
    (switch,) = only(book.happens(LOST), SwitchBackend)
    assert switch.start == listen.start == 8800


def test_a_turn_without_its_words_is_put_to_the_fallback_as_sound():
    book = greeted("spare")
    book.happens(SpeechStarted(8000, 8000))
    ended = TurnEnded(17000, 8000, 16000, "semantic", 0.9)
    (asked,) = only(book.happens(CallerTurnEnded(ended, book.now), 1.0), Respond)
    effects = book.happens(LOST, 0.2)
    (switch,) = only(effects, SwitchBackend)
    (respond,) = only(effects, Respond)
    assert switch.start == asked.start
    assert (respond.start, respond.end, respond.again) == (asked.start, asked.end, False)
    assert respond.reply != asked.reply


def test_a_failure_that_is_not_fatal_is_asked_again_once_and_then_answered_by_the_chain():
    book = greeted("spare")
    first = book.turn("Hello")
    effects = book.happens(BackendLost("oops", "model", first.reply, fatal=False))
    (again,) = only(effects, Respond)
    assert not only(effects, Speak), "it took no time, so nothing is to be bridged"
    assert (again.turn, again.again) == (first.turn, True)
    assert again.reply != first.reply
    effects = book.happens(BackendLost("oops", "model", again.reply, fatal=False))
    assert only(effects, SwitchBackend)
    (asked,) = only(effects, Respond)
    assert asked.history[-1] == Entry("caller", "Hello")


def test_without_a_chain_the_caller_is_asked_once_and_then_let_go():
    book = greeted()
    for last in (False, True):
        respond = book.turn("Hello")
        book.happens(BackendLost("oops", "model", respond.reply, fatal=False))
        (again,) = only(book.effects, Respond)[-1:]
        lines = only(book.happens(BackendLost("oops", "model", again.reply, fatal=False)), Speak)
        assert len(lines) == (2 if last else 1)
        for line in lines:
            book.hear_line(line)
    assert only(book.effects, HangUp)


def test_a_recogniser_that_fails_has_the_caller_asked():
    book = greeted("spare")
    respond = book.turn("Hello")
    effects = book.happens(BackendLost("deaf", "recogniser", respond.reply, fatal=False))
    (line,) = only(effects, Speak)
    assert "again" in line.text
    assert not only(effects, Respond)


def test_a_draft_that_fails_costs_nobody_anything():
    book = greeted("spare")
    book.happens(SpeechStarted(8000, 8000))
    (draft,) = only(book.happens(TurnDrafted(17000, 8000, 16000, 0.7), 1.0), Draft)
    effects = book.happens(BackendLost("oops", "model", draft.reply, fatal=False), 0.1)
    assert not only(effects, Speak)
    ended = TurnEnded(18000, 8000, 16000, "semantic", 0.9)
    (respond,) = only(book.happens(CallerTurnEnded(ended, book.now), 0.2), Respond)
    assert respond.reply != draft.reply


def test_an_answer_without_sound_is_asked_again_and_then_answered_by_the_chain():
    book = greeted("spare")
    respond = book.turn("Hello")
    effects = book.happens(ReplyEnded(respond.reply), 0.3)
    (again,) = only(effects, Respond)
    assert [each["reason"] for each in records(effects, "fault")] == ["an answer without sound"]
    assert only(book.happens(ReplyEnded(again.reply), 0.3), SwitchBackend)


def test_words_that_come_after_it_was_asked_again_are_those_of_the_turn():
    book = greeted("spare")
    book.happens(SpeechStarted(8000, 8000))
    ended = TurnEnded(17000, 8000, 16000, "semantic", 0.9)
    (asked,) = only(book.happens(CallerTurnEnded(ended, book.now), 1.0), Respond)
    book.happens(BackendLost("oops", "model", asked.reply, fatal=False), 0.2)
    book.happens(CallerWords(asked.turn, "Hello there", final=True), 0.2)
    assert book.machine.state.history.entries()[-1] == Entry("caller", "Hello there")


def test_a_model_that_says_nothing_never_leaves_two_seconds_of_silence():
    book = greeted("spare")
    book.turn("Hello")
    quiet_since = book.now - 0.4  # the turn's end and its words came 0.4 s after the last word
    for _ in range(4):
        deadline = book.machine.deadline
        assert deadline is not None
        assert deadline - quiet_since <= 2.0
        effects = book.happens(TimePassed(), deadline - book.now)
        lines = only(effects, Speak)
        if not lines:
            break
        book.hear_line(lines[0])
        quiet_since = book.now
        if only(effects, SwitchBackend):
            break
    assert [line.text for line in only(book.effects, Speak)][1:3] == ["One moment, please."] * 2


def test_an_answer_in_time_is_not_bridged():
    book = greeted()
    respond = book.turn("Hello")
    book.sound(respond, "Good day", 1.0)
    deadline = book.machine.deadline
    assert deadline is not None
    assert deadline - book.now > SILENCE_SECONDS


def test_a_model_that_pauses_in_the_middle_of_an_utterance_goes_on_with_another():
    book = greeted("spare")
    respond = book.turn("Hello")
    text = "We open at nine and close"
    book.happens(ReplyText(respond.reply, respond.utterance, text))
    book.sound(respond, "We open at nine", 1.0)
    effects = book.happens(PlayoutStarved(0.5), 1.5)
    assert only(effects, EndUtterance) == [EndUtterance(respond.utterance)]
    book.happens(AgentHeard(heard(respond.utterance, 1.0, 1.0)))
    book.happens(PlayoutDry())
    (line,) = only(book.happens(TimePassed(), 1.3), Speak)
    assert "moment" in line.text
    words = (Word("and", 1.0, 1.5), Word("close", 1.5, 2.0))
    sound = AgentAudio(respond.reply, respond.utterance, bytes(16000), words)
    (play,) = only(book.happens(sound, 0.5), Play)
    assert play.utterance not in (respond.utterance, line.utterance)
    said = [entry.text for entry in book.machine.state.history.entries()[-2:]]
    assert said == ["We open at nine", "and close "]
    effects = book.cut_in(play.utterance, 1.0, 0.6)
    (told,) = only(effects, Truncate)
    assert told == Truncate(respond.utterance, 1.6, "and")
    assert not records(book.effects, "fault")


def test_a_model_that_hangs_in_the_middle_of_an_utterance_is_asked_again_and_then_given_up():
    book = Playbook(ConversationSettings(fallbacks=("spare",)), BackendTraits(hang_seconds=2.4))
    book.hear_line(book.start())
    respond = book.turn("Hello")
    book.happens(ReplyText(respond.reply, respond.utterance, "We open at"))
    book.sound(respond, "We open at", 0.6)
    book.happens(PlayoutStarved(0.5), 1.1)
    book.heard_all(respond.utterance, 0.6)
    since = book.now
    for _ in range(9):
        assert book.machine.deadline is not None
        effects = book.happens(TimePassed(), max(0.0, book.machine.deadline - book.now))
        for line in only(effects, Speak):
            book.hear_line(line)
        if only(effects, SwitchBackend):
            break
    else:
        raise AssertionError("it was never given up")
    assert book.now - since < 6.0
    reasons = [each["reason"] for each in records(book.effects, "fault")]
    assert reasons == ["stopped in the middle of its answer", "no answer in time"]
    history = book.machine.state.history.entries()
    assert Entry("agent", "We open at") in history


def test_what_was_complete_is_heard_to_its_end_although_the_connection_is_lost():
    book = greeted("spare")
    respond = book.turn("Hello")
    utterance = book.reply(respond, "We open at nine.", 2.0)
    effects = book.happens(LOST, 0.2)
    assert only(effects, SwitchBackend)
    assert not only(effects, Flush)
    assert not only(effects, Speak)
    book.happens(AgentHeard(heard(utterance, 2.0, 2.0)), 2.0)
    book.happens(PlayoutDry())
    assert [each["text"] for each in records(book.effects, "agent_spoke")][-1] == "We open at nine."


@pytest.mark.parametrize("fallbacks", [(), ("retry",), ("message",), ("transfer:desk",)])
def test_every_chain_comes_to_an_end(fallbacks):
    book = greeted(*fallbacks)
    for _ in range(5):
        if book.machine.state.end.phase != "open":
            break
        for line in only(book.happens(LOST, 0.5), Speak):
            book.hear_line(line)
        if only(book.effects, Transfer):
            book.happens(TransferEnded(accepted=False))
    assert book.machine.state.end.phase == "ending"


def test_a_tool_that_is_cut_into_gets_its_result_so_that_the_model_waits_for_none():
    book = Playbook()
    book.hear_line(book.start())
    respond = book.turn("When do you open?")
    book.sound(respond, "Let me look", 1.0)
    book.happens(ToolAsked(respond.reply, "a1", "lookup", {}), 0.1)
    effects = book.cut_in(respond.utterance, 1.0, 0.6)
    (answer,) = only(effects, AnswerTool)
    assert (answer.ask, answer.proceed) == ("a1", False)


def test_a_hang_up_without_a_word_says_goodbye_and_one_with_words_does_not():
    for spoke in (True, False):
        book = Playbook(ConversationSettings(tools=(BUILTINS["hang_up"],)))
        book.hear_line(book.start())
        respond = book.turn("Bye")
        if spoke:
            book.happens(ReplyText(respond.reply, respond.utterance, "Goodbye then."))
        lines = only(book.happens(ToolAsked(respond.reply, "a1", "hang_up", {}), 0.1), Speak)
        assert [line.text for line in lines] == ([] if spoke else [FixedLines().goodbye])
