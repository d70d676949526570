"""What is done when the caller speaks, pauses, finishes, cuts in, presses keys or types."""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import (
    consent_side,
    proposals,
    rejoin,
    screening,
    sounds,
    tool_side,
    turn_end,
)
from gateway.call.conversation.beginning import draft, respond_again
from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import CallerSide, Effects
from gateway.call.conversation.waits import Wait
from gateway.events import (
    BackendTurn,
    CallerAnswered,
    CallerClaimed,
    CallerKey,
    CallerTurnEnded,
    CallerTyped,
    CallerWords,
    Flush,
    Inform,
    PageTold,
    Record,
    Respond,
)
from gateway.log_events import (
    CallerSpokeLogged,
    KeyLogged,
    PageToldLogged,
    TurnEndedLogged,
)
from turn.events import (
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnDropped,
    TurnResumed,
)

OWN_TURNS = (
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnResumed,
    TurnDropped,
    CallerTurnEnded,
)
"""Decisions of our turn-taking that are not wanted where the model owns turns."""


def handle(state: CallState, event: CallerSide, now: float) -> Effects:
    """Answer one event of the caller's side."""
    if screening.keeps(state, event):
        return screening.overheard(state, event, now)
    return answer(state, event, now)


def answer(state: CallState, event: CallerSide, now: float) -> Effects:
    """Answer an event, whoever it is that is there."""
    if state.traits.owns_turns and isinstance(event, OWN_TURNS):
        # The model decides about turns; a claim still stops the sound at once, here.
        return _overhear(state, event, now)
    match event:
        case SpeechStarted():
            return sounds.started(state, event, now)
        case SpeechStopped():
            return sounds.stopped(state, now)
        case TurnDropped(at=at):
            return sounds.dropped(state, at, now) + proposals.floor_free(state, now)
        case TurnDrafted():
            return _drafted(state, event, now)
        case TurnResumed():
            return tool_side.drop_draft(state, "resumed", now)
        case CallerTurnEnded():
            return turn_end.turn_ended(state, event, now)
        case OverlapBegan() | OverlapHeld() | OverlapDismissed():
            return sounds.over_agent(state, event)
        case CallerClaimed():
            return claim(state, event, now)
        case CallerWords():
            return _words(state, event, now)
        case CallerTyped() | CallerAnswered() | PageTold():
            return _wrote(state, event, now)
        case CallerKey(key=key):
            # Turn-taking hears the key too and ends the turn that the keys make up.
            return [Record(KeyLogged(keys=key))]
        case BackendTurn():
            return _backend_turn(state, event, now)
        case _:
            assert_never(event)


def claim(state: CallState, event: CallerClaimed, now: float) -> Effects:
    """The caller takes the floor: silence first, then everything else."""
    state.caller.claim = event
    state.caller.speaking = True
    rejoin.goes_on(state, event.onset)
    state.waits.stop(Wait.IDLE)
    consent_side.hush(state)
    return [Flush(), *tool_side.give_up_reply(state, now)]


def _drafted(state: CallState, event: TurnDrafted, now: float) -> Effects:
    before = state.caller.rejoins
    own = sounds.whole(state, event.start)
    start, without = (own, 0) if before is None else (before.start, before.turn)
    if state.seconds(event.end - event.start) > state.settings.draft_turn_seconds:
        return []
    return draft(state, now, start, event.end, probability=event.probability, without=without)


def _words(state: CallState, event: CallerWords, now: float) -> Effects:
    reply = state.replies.of_turn(event.turn)
    if reply is None or not event.final:
        return []
    reply.caller_text = event.text
    reply.transcript_at = now
    if event.text and screening.is_recording(state, event.text):
        return screening.found(state, "words", now)
    if reply.clock is None:  # still a draft: nothing of it is believed
        return []
    if reply.clock.transcript is None:
        reply.clock.transcript = now
    if event.text:
        effects = turn_end.believe_caller(state, reply, event.text)
        effects += tool_side.confirmed(state, reply, now)
        return effects + proposals.judged(state, reply, now)
    if reply.spoke:  # the model heard more than its transcriber
        return []
    return _wordless(state, reply, now)


def _wordless(state: CallState, reply: Reply, now: float) -> Effects:
    """A turn without words was none: go back to what was owed, or to listening."""
    effects: Effects = [Record(CallerSpokeLogged(text="", wordless=True)), *sounds.disregard(state)]
    void = state.replies.current
    effects += tool_side.give_up_reply(state, now)
    if void is not None and void.proposal:
        effects += proposals.not_answered(state, void, now)
    if state.replies.unanswered is None:
        sounds.wait_on(state, now)
        return effects + proposals.floor_free(state, now)
    state.replies.unanswered = None
    if reply.before:  # what was joined to it stands by itself again
        state.history.caller(reply.turn, reply.before)
    return effects + respond_again(state, now)


def _wrote(state: CallState, event: CallerTyped | CallerAnswered | PageTold, now: float) -> Effects:
    if isinstance(event, PageTold):
        return _told_by_page(state, event.text)
    if isinstance(event, CallerAnswered):
        return proposals.pressed(state, event.proposal, yes=event.yes, now=now)
    text = event.text
    if state.end.phase != "open" or not text.strip():
        return []
    effects: Effects = [
        *tool_side.drop_draft(state, "typed", now),
        Flush(),
        *tool_side.give_up_reply(state, now),
    ]
    history = state.history.entries()
    reply = turn_end.begin_turn(state, now, transcript=now)
    reply.caller_text = text
    effects += turn_end.believe_caller(state, reply, text)
    effects.append(Respond(reply.turn, reply.id, reply.utterance, 0, 0, history, text=text))
    return effects + proposals.judged(state, reply, now)


def _overhear(state: CallState, event: CallerSide, now: float) -> Effects:
    """Note when the caller's voice stopped: what a turn's response counts from, whoever ends it."""
    match event:
        case SpeechStarted():
            state.caller.voice_ended = None
        case SpeechStopped(at=at, end=end):
            state.caller.voice_ended = now - state.seconds(at - end)
        case _:
            pass
    return []


def _told_by_page(state: CallState, text: str) -> Effects:
    """Let the model know what the page says, without an answer: nobody has spoken."""
    if state.end.phase != "open":
        return []
    said = f"The caller's page says: {text}"
    state.history.note(said)
    return [Record(PageToldLogged(text=text)), Inform(said)]


def _backend_turn(state: CallState, event: BackendTurn, now: float) -> Effects:
    """A model that owns turns has decided; ours only follows."""
    match event.kind:
        case "speech_started":
            state.caller.speaking = True
            state.waits.stop(Wait.IDLE)
            return []
        case "speech_stopped":
            state.caller.speaking = False
            return []
        case "ended":
            state.caller.speaking = False
            reply = turn_end.begin_turn(state, now, speech_end=state.caller.voice_ended or now)
            state.caller.voice_ended = None
            history = state.history.entries()
            return [
                Record(TurnEndedLogged(turn=reply.turn, why="backend")),
                Respond(reply.turn, reply.id, reply.utterance, 0, 0, history),
            ]
        case "interrupted":
            return [Flush(), *tool_side.give_up_reply(state, now)]
        case _:
            assert_never(event.kind)
