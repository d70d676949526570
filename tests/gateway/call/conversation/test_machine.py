from __future__ import annotations

import itertools

import pytest

from gateway.call.conversation.waits import Wait
from gateway.call.settings import ConversationSettings
from gateway.events import (
    AnswerTool,
    BackendLost,
    BackendTurn,
    CallerClaimed,
    CallerGone,
    CallerTurnEnded,
    CallerWords,
    CancelReply,
    Draft,
    DropDraft,
    Duck,
    EndAsked,
    Entry,
    Flush,
    HangUp,
    Hold,
    PlayoutDry,
    PlayoutFlushed,
    ReplyEnded,
    ReplyText,
    Respond,
    Resume,
    RunTool,
    Speak,
    SwitchBackend,
    TimePassed,
    ToolAnswered,
    ToolAsked,
    Truncate,
)
from gateway.ports import BackendTraits
from tests.support.playbook import LOOKUP, RATE, Playbook, heard, only, plays, records
from turn.events import (
    FloorClaimed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnEnded,
    TurnResumed,
)


def greeted(settings: ConversationSettings | None = None, traits: BackendTraits | None = None):
    book = Playbook(settings, traits)
    book.hear_line(book.start())
    return book


def history(book: Playbook) -> list[tuple[str, str]]:
    return [(e.role, e.text) for e in book.machine.state.history.entries()]


def test_a_turn_is_answered_and_its_stages_sum_to_the_response():
    book = greeted()
    respond = book.turn("What are your hours?")
    utterance = book.reply(respond, "Nine to five.")
    book.heard_all(utterance)
    (turn,) = records(book.effects, "turn")
    assert sum(turn["stages"].values()) == pytest.approx(turn["response"])
    assert turn["response"] == pytest.approx(0.3 + 0.1 + 0.1 + 0.05 + 0.02)
    assert history(book) == [
        ("agent", "Hello, how can I help you?"),
        ("caller", "What are your hours?"),
        ("agent", "Nine to five."),
    ]


@pytest.mark.parametrize("heard_to_stop", [True, False])
def test_a_response_counts_from_the_voice_also_where_the_model_ends_the_turn(heard_to_stop: bool):
    book = greeted(traits=BackendTraits(owns_turns=True))
    book.happens(SpeechStarted(RATE, RATE))
    if heard_to_stop:
        # The gate says so a fifth of a second late, and the model another half after that.
        book.happens(SpeechStopped(int(2.2 * RATE), 2 * RATE), 1.2)
    (respond,) = only(book.happens(BackendTurn("ended"), 0.5), Respond)
    utterance = book.reply(respond, "Nine to five.")
    book.heard_all(utterance)
    (turn,) = records(book.effects, "turn")
    waited = 0.2 + 0.5 if heard_to_stop else 0.0
    assert turn["response"] == pytest.approx(waited + 0.1 + 0.05 + 0.02)
    assert turn["stages"]["end_of_turn"] == pytest.approx(waited)  # type: ignore[index]


def test_a_cut_in_stops_sound_first_and_leaves_only_the_words_heard():
    book = greeted()
    respond = book.turn("Tell me a story")
    utterance = book.reply(respond, "one two three four", seconds=4.0)
    effects = book.cut_in(utterance, queued=4.0, after=2.2)
    assert isinstance(effects[0], Flush)
    assert only(effects, Truncate) == [Truncate(utterance, 2.2, "one two")]
    assert history(book)[-1] == ("agent", "one two")
    assert book.machine.state.history.entries()[-1].interrupted
    (line,) = records(book.effects, "interrupted")
    assert line["heard"] == pytest.approx(2.2)
    assert line["stop_delay"] == pytest.approx(0.3)


def test_an_unheard_utterance_leaves_no_trace_in_the_history():
    book = greeted()
    respond = book.turn("Tell me a story")
    utterance = book.reply(respond, "one two three four", seconds=4.0)
    book.cut_in(utterance, queued=4.0, after=0.0)
    assert history(book)[-1] == ("caller", "Tell me a story")


def test_sound_of_a_reply_that_was_given_up_is_never_played():
    book = greeted()
    respond = book.turn("Tell me a story")
    book.sound(respond, "one two", 1.0)
    book.happens(CallerClaimed(FloorClaimed(0, 0, "length"), book.now))
    book.happens(PlayoutFlushed((heard(respond.utterance, 1.0, 0.5),)))
    assert plays(book.sound(respond, "three four", 1.0)) == []
    assert CancelReply(respond.reply) in book.effects


def test_a_backchannel_costs_nothing():
    book = greeted()
    respond = book.turn("Tell me a story")
    book.reply(respond, "one two three four", seconds=4.0)
    assert Duck() in book.happens(OverlapBegan(0, 0), 1.0)
    assert Hold() in book.happens(OverlapHeld(0), 0.3)
    effects = book.happens(OverlapDismissed(0, "backchannel", "uh-huh"), 0.2)
    assert Resume() in effects
    assert not only(book.effects, Flush)
    assert records(effects, "backchannel")


def test_a_draft_is_used_when_the_turn_ends_and_nothing_of_it_sounds_before():
    book = greeted()
    (draft,) = only(book.happens(TurnDrafted(8000, 0, 7000, 0.6)), Draft)
    book.happens(CallerWords(draft.turn, "Hello there", final=True), 0.1)
    book.happens(ReplyText(draft.reply, 0, "Hi."), 0.1)
    assert ("caller", "Hello there") not in history(book)
    ended = TurnEnded(9000, 0, 7000, "semantic", 0.9)
    effects = book.happens(CallerTurnEnded(ended, book.now - 0.5), 0.1)
    (respond,) = only(effects, Respond)
    assert respond.reply == draft.reply
    assert history(book)[-2:] == [("caller", "Hello there"), ("agent", "Hi.")]
    book.sound(respond, "Hi.", 0.5)
    book.heard_all(respond.utterance, 0.5)
    (turn,) = records(book.effects, "turn")
    assert turn["stages"]["transcript"] == 0.0
    assert turn["stages"]["first_token"] == 0.0
    assert turn["draft_saved"] == pytest.approx(0.2)
    assert [r["outcome"] for r in records(book.effects, "draft")] == ["started", "used"]


def test_a_draft_is_dropped_without_trace_when_the_caller_goes_on():
    book = greeted()
    (draft,) = only(book.happens(TurnDrafted(8000, 0, 7000, 0.6)), Draft)
    book.happens(CallerWords(draft.turn, "Hello", final=True), 0.1)
    book.happens(ReplyText(draft.reply, 0, "Hi."), 0.1)
    before = history(book)
    assert DropDraft(draft.reply) in book.happens(TurnResumed(9000), 0.1)
    assert history(book) == before
    assert book.turn("Hello there you").reply != draft.reply


def test_a_turn_that_ends_before_its_answer_sounds_takes_the_answer_back():
    book = greeted()
    first = book.turn("I want")
    book.happens(SpeechStarted(0, 0))
    assert Hold() in book.effects
    book.sound(first, "What do you want?", 1.0)
    ended = TurnEnded(8000, 0, 8000, "semantic", 0.9)
    effects = book.happens(CallerTurnEnded(ended, book.now), 1.0)
    assert CancelReply(first.reply) in effects
    assert Flush() in effects
    assert Resume() in effects
    (second,) = only(effects, Respond)
    book.happens(PlayoutFlushed((heard(first.utterance, 1.0, 0.0),)))
    assert second.start == first.start
    book.happens(CallerWords(second.turn, "I want an appointment", final=True))
    assert history(book)[1:] == [("caller", "I want an appointment")]


def test_a_cough_between_turn_and_answer_does_not_lose_the_answer():
    book = greeted()
    first = book.turn("I want an appointment")
    book.happens(SpeechStarted(0, 0))
    ended = TurnEnded(8000, 0, 8000, "silence")
    (second,) = only(book.happens(CallerTurnEnded(ended, book.now), 0.5), Respond)
    effects = book.happens(CallerWords(second.turn, "", final=True), 0.1)
    (again,) = only(effects, Respond)
    assert again.again
    assert again.history[-1] == Entry("caller", "I want an appointment")
    assert first.reply != again.reply


def test_a_held_answer_is_played_when_the_sound_leads_to_nothing():
    book = greeted()
    respond = book.turn("I want an appointment")
    book.happens(SpeechStarted(0, 0))
    book.sound(respond, "Sure.", 1.0)
    from turn.events import SpeechStopped

    book.happens(SpeechStopped(0, 0), 0.2)
    assert book.machine.deadline is not None
    assert Resume() in book.happens(TimePassed(), book.machine.deadline - book.now)


def test_the_floor_is_open_only_after_playout_and_then_the_caller_is_asked_once():
    book = greeted()
    respond = book.turn("Hm")
    utterance = book.reply(respond, "Well.", 3.0)
    assert Wait.IDLE not in book.machine.state.waits
    book.heard_all(utterance, 3.0)
    (line,) = only(book.happens(TimePassed(), 8.1), Speak)
    assert line.text == "Are you still there?"
    book.hear_line(line)
    (line,) = only(book.happens(TimePassed(), 8.1), Speak)
    assert "Goodbye" in line.text
    assert not only(book.effects, HangUp)
    book.hear_line(line)
    assert [e.reason for e in only(book.effects, HangUp)] == ["caller silent"]


def test_a_goodbye_that_is_never_heard_does_not_keep_the_line_open():
    book = greeted()
    book.happens(EndAsked("Bye.", "drained"))
    assert not only(book.effects, HangUp)
    book.happens(TimePassed(), 15.1)
    assert [e.reason for e in only(book.effects, HangUp)] == ["drained"]


def test_a_reply_that_never_comes_is_apologised_for_then_the_call_ends_in_order():
    book = greeted()
    book.turn("Hello?")
    (line,) = only(book.happens(TimePassed(), 10.1), Speak)
    assert "again" in line.text
    book.hear_line(line)
    book.turn("Hello??")
    lines = only(book.happens(TimePassed(), 10.1), Speak)
    assert len(lines) == 2
    for line in lines:
        book.hear_line(line)
    assert only(book.effects, HangUp)


def test_a_lost_backend_goes_on_with_the_fallback_and_the_history():
    book = greeted(ConversationSettings(fallbacks=("spare",)))
    book.turn("My name is Jack")
    effects = book.happens(BackendLost("connection closed"))
    (switch,) = only(effects, SwitchBackend)
    assert switch.name == "spare"
    (respond,) = only(effects, Respond)
    assert respond.again
    assert respond.history[-1] == Entry("caller", "My name is Jack")
    assert effects.index(switch) < effects.index(respond)


def test_a_read_may_run_in_a_draft_and_a_write_waits_for_the_turn():
    book = greeted()
    (draft,) = only(book.happens(TurnDrafted(8000, 0, 7000, 0.6)), Draft)
    book.happens(CallerWords(draft.turn, "book it", final=True), 0.1)
    assert only(book.happens(ToolAsked(draft.reply, "a1", "lookup", {})), RunTool)
    assert not only(book.happens(ToolAsked(draft.reply, "a2", "book", {"at": "8"})), RunTool)
    ended = TurnEnded(9000, 0, 7000, "semantic", 0.9)
    effects = book.happens(CallerTurnEnded(ended, book.now), 0.1)
    assert not only(effects, RunTool)


def test_what_the_agent_says_and_does_names_the_turn_that_it_answers():
    book = greeted()
    respond = book.turn("Hello")
    book.heard_all(book.reply(respond, "What may I look up?"))
    respond = book.turn("The red one")
    (run,) = only(book.happens(ToolAsked(respond.reply, "a1", "lookup", {})), RunTool)
    book.reply(respond, "One moment, please, I look it up.", 2.0)
    book.cut_in(respond.utterance, 2.0, 0.5)
    book.happens(ToolAnswered(run.ask, {}, "done"), 0.2)
    assert [each.get("turn") for each in records(book.effects, "agent_spoke")] == [None, 1]
    assert [each["turn"] for each in records(book.effects, "interrupted")] == [2]
    assert [each["turn"] for each in records(book.effects, "tool")] == [2, 2]


def test_hanging_up_waits_for_the_goodbye():
    book = greeted(ConversationSettings(tools=(LOOKUP, _hang_up())))
    respond = book.turn("Bye")
    book.happens(ReplyText(respond.reply, respond.utterance, "Goodbye."), 0.1)
    book.happens(ToolAsked(respond.reply, "a1", "hang_up", {}))
    book.happens(PlayoutDry(), 0.01)  # of something said before
    assert not only(book.effects, HangUp)
    book.happens(TimePassed(), 0.1)
    assert [answer.ends for answer in only(book.effects, AnswerTool)] == [True]
    book.sound(respond, "Goodbye.", 1.0)
    book.happens(ReplyEnded(respond.reply))
    assert not only(book.effects, HangUp)
    book.heard_all(respond.utterance)
    assert only(book.effects, HangUp)


def _hang_up():
    from gateway.tools.builtins import BUILTINS

    return BUILTINS["hang_up"]


def test_the_call_ends_once_and_nothing_follows():
    book = greeted()
    book.turn("Hello")
    book.happens(CallerGone("stop"))
    assert [r["ended_by"] for r in records(book.effects, "call_ended")] == ["caller"]
    assert book.happens(CallerGone("stop")) == []
    assert book.happens(PlayoutDry()) == []
    assert book.machine.deadline is None or book.machine.deadline > book.now


def test_the_prompt_only_grows_at_its_end_but_for_what_a_cut_in_took_back():
    book = greeted()
    seen: list[tuple[Entry, ...]] = []
    for number in range(6):
        respond = book.turn(f"turn {number}")
        seen.append(respond.history)
        utterance = book.reply(respond, "one two three four", seconds=4.0)
        if number % 2:
            book.cut_in(utterance, 4.0, 2.0)
        else:
            book.heard_all(utterance, 4.0)
    for before, after in itertools.pairwise(seen):
        assert after[: len(before)] == before
    assert RATE == 8000


def test_a_caller_who_hangs_up_in_mid_word_leaves_what_they_heard_in_the_log():
    book = greeted()
    respond = book.turn("Tell me a story")
    utterance = book.reply(respond, "one two three four", seconds=4.0)
    effects = book.happens(PlayoutFlushed((heard(utterance, 4.0, 2.2),), "hang-up"))
    effects += book.happens(CallerGone("caller hung up"))
    (line,) = records(effects, "interrupted")
    assert (line["evidence"], line["heard_text"]) == ("hang-up", "one two")
    assert not only(effects, Truncate)
    assert records(effects, "call_ended")
