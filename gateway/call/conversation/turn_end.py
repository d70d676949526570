"""What is done when the caller's turn has ended: what was owed is void, and the answer begins."""

from __future__ import annotations

from dataclasses import replace

from gateway.call.conversation import consent_side, proposals, rejoin, sounds, tool_side
from gateway.call.conversation.beginning import begin
from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import SILENCE_SECONDS, Wait
from gateway.events import (
    CallerTurnEnded,
    ChooseProfile,
    Flush,
    Record,
    Respond,
    Resume,
)
from gateway.log_events import (
    CallerSpokeLogged,
    DraftLogged,
    TurnEndedLogged,
)

LEAST_SECONDS = 0.8
"""What a model is given in any case, when the turn itself was found to have ended late."""


def turn_ended(state: CallState, event: CallerTurnEnded, now: float) -> Effects:
    """Answer a turn that has ended, together with the one before where that had not."""
    start = sounds.whole(state, event.ended.start)
    event = replace(event, ended=replace(event.ended, start=start))
    state.caller.speaking = state.caller.listening = False
    state.caller.dismissed = None
    if state.end.phase != "open":
        return tool_side.drop_draft(state, "call ending", now)
    effects = _give_way(state, now)
    joined = rejoin.join(state, event)
    ended = joined.event.ended
    state.tools.silent(now)
    history = state.history.entries()
    bridged_at = _bridged_at(state, event.speech_end, now)
    reply = begin_turn(
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
        effects += proposals.judged(state, reply, now)
    if ended.keys and reply.proposal:
        effects += believe_caller(state, reply, text)
        effects += proposals.keyed(state, reply, ended.keys, now)
    return effects


def _bridged_at(state: CallState, speech_end: float, now: float) -> float:
    """Return when a wait for the model is bridged: at the agent's wish, or before it is long."""
    if state.settings.filler_for_model:
        return now + state.settings.filler_after
    heard, _ = state.hold.moved(speech_end)
    return max(heard + SILENCE_SECONDS, now + LEAST_SECONDS)


def begin_turn(
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
        effects += believe_caller(state, reply, reply.caller_text)
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


def believe_caller(state: CallState, reply: Reply, text: str) -> Effects:
    """Take words of the caller for said: they are there, and what is owed is owed for these."""
    state.history.caller(reply.turn, text)
    state.caller.idle_asked, state.caller.idle_due = 0, None
    state.replies.unanswered = None
    return [Record(CallerSpokeLogged(turn=reply.turn, text=text))]
