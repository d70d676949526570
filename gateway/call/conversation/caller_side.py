"""What is done when the caller speaks, pauses, finishes, cuts in, presses keys or types."""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import consent_side, rejoin, screening, sounds, tool_side
from gateway.call.conversation.beginning import begin, draft, respond_again
from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallerSide, CallState, Effects
from gateway.call.conversation.waits import SILENCE_SECONDS, Wait
from gateway.events import (
    BackendTurn,
    CallerAnswered,
    CallerClaimed,
    CallerKey,
    CallerTurnEnded,
    CallerTyped,
    CallerWords,
    ChooseProfile,
    Flush,
    Record,
    Respond,
    Resume,
)
from gateway.log_events import (
    CallerSpokeLogged,
    DraftLogged,
    KeyLogged,
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

LEAST_SECONDS = 0.8
"""What a model is given in any case, when the turn itself was found to have ended late."""

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
        case TurnDropped():
            return sounds.dropped(state, now) + tool_side.floor_free(state, now)
        case TurnDrafted():
            return _drafted(state, event, now)
        case TurnResumed():
            return tool_side.drop_draft(state, "resumed", now)
        case CallerTurnEnded():
            return _turn_ended(state, event, now)
        case OverlapBegan() | OverlapHeld() | OverlapDismissed():
            return sounds.over_agent(state, event)
        case CallerClaimed():
            return claim(state, event, now)
        case CallerWords():
            return _words(state, event, now)
        case CallerTyped() | CallerAnswered():
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
    start, without = (event.start, 0) if before is None else (before.start, before.turn)
    if state.seconds(event.end - event.start) > state.settings.draft_turn_seconds:
        return []
    return draft(state, now, start, event.end, probability=event.probability, without=without)


def _turn_ended(state: CallState, event: CallerTurnEnded, now: float) -> Effects:
    state.caller.speaking = state.caller.listening = False
    if state.end.phase != "open":
        return tool_side.drop_draft(state, "call ending", now)
    effects = _give_way(state, now)
    joined = rejoin.join(state, event)
    ended = joined.event.ended
    state.tools.silent(now)
    history = state.history.entries()
    bridged_at = _bridged_at(state, event.speech_end, now)
    reply = _begin(
        state, now, start=ended.start, speech_end=event.speech_end, bridged_at=bridged_at
    )
    drafted = reply.clock is not None and reply.clock.drafted
    reply.end = ended.end
    rejoin.ended(state, reply, joined.event, now)
    text = f"(pressed {ended.keys})" if ended.keys else ""
    told = TurnEndedLogged(
        turn=reply.turn,
        why=ended.why,
        probability=ended.probability,
        late=ended.late,
        detector_queue=ended.queue_seconds,
        detector_seconds=ended.model_seconds,
        seconds=state.seconds(ended.end - ended.start),
        keys=ended.keys,
    )
    effects += [Record(told), *rejoin.told(reply, joined)]
    if drafted:
        effects += _use_draft(state, reply)
    effects.append(
        Respond(
            reply.turn,
            reply.id,
            reply.utterance,
            ended.start,
            ended.end,
            history,
            text=text,
        )
    )
    if drafted and reply.caller_text is not None:
        effects += tool_side.confirmed(state, reply, now)
        effects += tool_side.judged(state, reply, now)
    if ended.keys and reply.proposal:
        effects += _believe_caller(state, reply, text)
        effects += tool_side.keyed(state, reply, ended.keys, now)
    return effects


def _bridged_at(state: CallState, speech_end: float, now: float) -> float:
    """Say when a wait for the model is bridged: at the agent's wish, or before it is too long."""
    if state.settings.filler_for_model:
        return now + state.settings.filler_after
    heard, _ = state.hold.moved(speech_end)
    return max(heard + SILENCE_SECONDS, now + LEAST_SECONDS)


def _begin(
    state: CallState,
    now: float,
    *,
    start: int = 0,
    speech_end: float | None = None,
    transcript: float | None = None,
    bridged_at: float | None = None,
) -> Reply:
    """Begin a turn of the caller's own: it may be an answer, and has its place in the history."""
    reply = begin(
        state,
        now,
        start=start,
        speech_end=speech_end,
        transcript=transcript,
        bridged_at=bridged_at,
    )
    consent_side.answering(state, reply, now)
    state.history.begin_turn(reply.turn)
    return reply


def _use_draft(state: CallState, reply: Reply) -> Effects:
    """Believe what was drafted, now that the turn is confirmed."""
    effects: Effects = [Record(DraftLogged(outcome="used", reply=reply.id))]
    if reply.caller_text:
        effects += _believe_caller(state, reply, reply.caller_text)
    if reply.draft_text:
        _begin_text(state, reply, reply.draft_text)
    if reply.expects is not None:
        expects = reply.expects.expects
        patience = state.settings.patience(reply.expects.profile, expects)
        effects.append(ChooseProfile(patience, expects))
    return effects


def _begin_text(state: CallState, reply: Reply, text: str) -> None:
    utterance = state.speech.begin(reply.utterance, "reply", reply.turn, reply.id)
    utterance.text += text
    state.history.agent(utterance.id, text)


def _give_way(state: CallState, now: float) -> Effects:
    """A new turn ended while an answer was still on its way or sounding: that one is void."""
    current = state.replies.current
    state.waits.stop(Wait.HELD)
    if current is None:
        return [Resume()]
    unheard = not current.audible
    owed = current.generating or bool(state.speech.sounding())
    effects = tool_side.give_up_reply(state, now)
    if owed:
        effects.append(Flush())
    if unheard and owed:
        state.replies.unanswered = current.turn
    return [*effects, Resume()]


def _believe_caller(state: CallState, reply: Reply, text: str) -> Effects:
    state.history.caller(reply.turn, text)
    state.caller.idle_asked, state.caller.idle_due = 0, None
    state.replies.unanswered = None
    return [Record(CallerSpokeLogged(turn=reply.turn, text=text))]


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
        effects = _believe_caller(state, reply, event.text)
        effects += tool_side.confirmed(state, reply, now)
        return effects + tool_side.judged(state, reply, now)
    if reply.spoke:  # the model heard more than its transcriber
        return []
    return _wordless(state, reply, now)


def _wordless(state: CallState, reply: Reply, now: float) -> Effects:
    """A turn without words was none: go back to what was owed, or to listening."""
    effects: Effects = [Record(CallerSpokeLogged(text="", wordless=True)), *sounds.disregard(state)]
    void = state.replies.current
    effects += tool_side.give_up_reply(state, now)
    if void is not None and void.proposal:
        effects += tool_side.not_answered(state, void, now)
    if state.replies.unanswered is None:
        sounds.wait_on(state, now)
        return effects + tool_side.floor_free(state, now)
    state.replies.unanswered = None
    if reply.before:  # what was joined to it stands by itself again
        state.history.caller(reply.turn, reply.before)
    return effects + respond_again(state, now)


def _wrote(state: CallState, event: CallerTyped | CallerAnswered, now: float) -> Effects:
    if isinstance(event, CallerAnswered):
        return tool_side.pressed(state, event.proposal, yes=event.yes, now=now)
    text = event.text
    if state.end.phase != "open" or not text.strip():
        return []
    effects: Effects = [
        *tool_side.drop_draft(state, "typed", now),
        Flush(),
        *tool_side.give_up_reply(state, now),
    ]
    history = state.history.entries()
    reply = _begin(state, now, transcript=now)
    reply.caller_text = text
    effects += _believe_caller(state, reply, text)
    effects.append(Respond(reply.turn, reply.id, reply.utterance, 0, 0, history, text=text))
    return effects + tool_side.judged(state, reply, now)


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
            reply = _begin(state, now, speech_end=state.caller.voice_ended or now)
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
