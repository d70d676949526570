"""Who answered a call that was placed: somebody who waits, or a machine that is left a message.

Until it is known nobody is answered: who is called speaks first, and stops; a machine goes on.
What is seen later corrects it: words that only recordings say, and a beep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, assert_never

from gateway.call.conversation import sounds, tool_side
from gateway.call.conversation.beginning import draft, respond_again
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import CallerSide, Effects
from gateway.call.conversation.waits import Wait
from gateway.events import (
    BackendTurn,
    CallerTurnEnded,
    Entry,
    Flush,
    HangUp,
    Inform,
    Record,
    Resume,
)
from gateway.log_events import AnsweredByLogged, CallerSpokeLogged
from turn.events import SpeechStarted, SpeechStopped, TurnDropped
from turn.words import lexicon, recorded

NOBODY_SECONDS = 2.5
"""Who lifts a receiver says something within this (Asterisk's AMD has the same figure)."""

WAITS_SECONDS = 0.9
"""Who is silent for so long waits to be spoken to; pauses within an answer are shorter."""

TALK_SECONDS = 7.5
"""No person goes on for longer without waiting; `python -m bench.answers` prints how many do."""

SILENT_SECONDS = 3.0
"""A machine that says nothing for so long, and does not beep, records."""

GREETING_SECONDS = 60.0
"""The longest greeting that is heard out."""

RECORDS = (
    "An answering machine took this call and records now; nobody hears you or answers. "
    "Leave your message in one go, and end with a goodbye."
)
"""What the model is told when it is to leave its message."""

ASKED_OF = (
    SpeechStarted,
    SpeechStopped,
    TurnDropped,
    CallerTurnEnded,
    BackendTurn,
)
"""What is not answered while it is not known who speaks; an answer may be drafted, which also finds
the words."""


def begin(state: CallState, now: float) -> Effects:
    """Say nothing, and hear who answers."""
    state.screening.stage = "asking"
    state.waits.until(Wait.WHO, now + NOBODY_SECONDS)
    return []


def keeps(state: CallState, event: CallerSide) -> bool:
    """Return whether an event is of somebody who is not answered."""
    match state.screening.stage:
        case "machine" | "leaving":
            return True
        case "asking":
            return isinstance(event, ASKED_OF)
        case "person":
            # Their hello was answered by the greeting, before it was found to be over.
            greeted = state.screening.greeted
            return isinstance(event, CallerTurnEnded) and event.speech_end < greeted
        case "off":
            return False
        case _:
            assert_never(state.screening.stage)


def overheard(state: CallState, event: CallerSide, now: float) -> Effects:
    """Take what they do for what it tells of them."""
    screening, asking = state.screening, state.screening.stage == "asking"
    match event:
        case SpeechStarted():
            if screening.began is None:
                screening.began = now
            _wait(state, screening.began + TALK_SECONDS if asking else screening.limit)
            if asking and not state.traits.owns_turns:
                return sounds.started(state, event, now)
            state.caller.speaking = True
        case SpeechStopped(at=at, end=end):
            silent = now - state.seconds(at - end)
            state.caller.speaking, state.caller.voice_ended = False, silent
            _wait(state, silent + (WAITS_SECONDS if asking else SILENT_SECONDS))
        case TurnDropped(at=at) if asking:
            if screening.turn is None:  # it was no voice
                screening.began = None
                _wait(state, now + WAITS_SECONDS)
            return [] if state.traits.owns_turns else sounds.dropped(state, at, now)
        case CallerTurnEnded() if asking:
            return _note_turn(state, event, now)
        case BackendTurn(kind="ended") if asking:
            screening.turn = event
        case CallerTurnEnded() if screening.stage == "person":
            state.caller.speaking = False
            return tool_side.drop_draft(state, "greeted", now) + _unheard(state)
        case _:
            pass
    return []


def _note_turn(state: CallState, event: CallerTurnEnded, now: float) -> Effects:
    """Keep what they said, together with what they said before, and find its words."""
    effects: Effects = []
    before = state.screening.turn
    if isinstance(before, CallerTurnEnded):
        event = replace(event, ended=replace(event.ended, start=before.ended.start))
        effects += tool_side.drop_draft(state, "goes on", now)
    state.caller.speaking, state.screening.turn = False, event
    return effects + draft(state, now, event.ended.start, event.ended.end)


def is_recording(state: CallState, text: str) -> bool:
    """Return whether the words of somebody's first answer are those of a recording."""
    return _may_be_machine(state) and recorded(text, lexicon(state.settings.language))


def found(state: CallState, evidence: Literal["words", "beep"], now: float) -> Effects:
    """Take what only a machine does; it corrects what was thought before."""
    match evidence:
        case "words":
            return _hear_out(state, "words", now)
        case "beep" if not state.screening.beeped and _may_be_machine(state):
            return _leave(state, now, beeped=True)
        case "beep":
            return []
        case _:
            assert_never(evidence)


def time_passed(state: CallState, now: float) -> Effects:
    """Decide: they went on for long, they wait, nobody spoke, or a machine records."""
    match state.screening.stage:
        case "asking" if state.caller.speaking:
            return _hear_out(state, "voice", now)
        case "asking":
            return _talk(state, "silence" if state.screening.began is None else "person", now)
        case "machine":
            return _leave(state, now, beeped=False)
        case "off" | "person" | "leaving":
            return []
        case _:
            assert_never(state.screening.stage)


def left(state: CallState, now: float) -> Effects:
    """The message was heard to its end."""
    state.finish_with(HangUp("message left"), now)
    return tool_side.leave(state, now)


def _wait(state: CallState, at: float) -> None:
    if state.screening.stage != "leaving":
        state.waits.until(Wait.WHO, at)


def _may_be_machine(state: CallState) -> bool:
    """Return whether it may turn out yet that nobody is there: not once they answered us."""
    screening = state.screening
    if state.end.phase != "open" or screening.stage == "off":
        return False
    return screening.stage != "person" or state.replies.turn <= screening.turns


def _talk(state: CallState, kind: Literal["person", "silence"], now: float) -> Effects:
    """Somebody is there: greet them, or answer what they said where nothing is to be said first."""
    screening = state.screening
    screening.stage = "person"
    effects: Effects = [_told(state, kind, "voice" if kind == "person" else "silence", now)]
    said = state.replies.draft.caller_text if state.replies.draft is not None else None
    if state.settings.lines.greeting and said:
        state.history.append(Entry("caller", said))
        effects.append(Record(CallerSpokeLogged(text=said)))
    greeting = state.speak(state.settings.lines.greeting, "greeting")
    screening.turns = state.replies.turn + (1 if greeting else 2)
    if greeting:
        # They said who they are, or hello: the greeting is the answer.
        screening.turn, screening.greeted = None, now
        effects += tool_side.drop_draft(state, "greeted", now)
        return [*effects, *_unheard(state), *greeting]
    if screening.turn is None:
        state.await_caller(now)
    return effects


def _hear_out(state: CallState, evidence: Literal["voice", "words"], now: float) -> Effects:
    """A machine is there: be silent until it records."""
    screening = state.screening
    screening.stage, screening.turn = "machine", None
    screening.limit = now + GREETING_SECONDS
    _wait(state, screening.limit if state.caller.speaking else now + SILENT_SECONDS)
    return [_told(state, "machine", evidence, now), *_fall_silent(state, now)]


def _leave(state: CallState, now: float, *, beeped: bool) -> Effects:
    """It records: leave the message, anew where a beep comes after we began."""
    screening = state.screening
    screening.stage, screening.turn, screening.beeped = "leaving", None, beeped
    state.waits.stop(Wait.WHO)
    effects: Effects = [_told(state, "beep", "beep", now)] if beeped else []
    effects += _fall_silent(state, now)
    if state.settings.lines.voicemail:
        return effects + state.speak(state.settings.lines.voicemail)
    state.history.note(RECORDS)
    effects += [Inform(RECORDS), *respond_again(state, now)]
    state.waits.stop(Wait.FILLER)  # nobody needs to be told to wait
    return effects


def _fall_silent(state: CallState, now: float) -> Effects:
    """Take back whatever was meant for a person."""
    state.waits.stop(Wait.IDLE)
    effects = tool_side.drop_draft(state, "answering machine", now) + _unheard(state)
    return [*effects, Flush(), *tool_side.give_up_reply(state, now), Resume()]


def _unheard(state: CallState) -> Effects:
    """Nothing answers what was listened to."""
    return sounds.disregard(state) if state.caller.listening else []


def _told(
    state: CallState,
    kind: Literal["person", "machine", "silence", "beep"],
    evidence: Literal["voice", "words", "beep", "silence"],
    now: float,
) -> Record:
    seconds = now - state.end.started
    return Record(AnsweredByLogged(kind=kind, by=evidence, seconds=seconds))
