"""What is done when the backend gives text and sound, and when the caller has heard it."""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import (
    consent_side,
    pauses,
    proposals,
    recovery,
    rejoin,
    screening,
    tool_side,
)
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import AgentSide, Effects
from gateway.call.conversation.waits import SILENCE_SECONDS, Wait
from gateway.events import (
    AgentAudio,
    AgentBeganSounding,
    AgentHeard,
    BackendLost,
    ChooseProfile,
    EndUtterance,
    Heard,
    Play,
    PlayoutDry,
    PlayoutFlushed,
    PlayoutStalled,
    PlayoutStarved,
    Record,
    ReplyEnded,
    ReplyExpects,
    ReplyText,
    UtteranceEnded,
)
from gateway.log_events import (
    AgentSpokeLogged,
    FaultLogged,
    InterruptedLogged,
    Stages,
    TurnLogged,
)

TOLD_LATE = 0.2
"""Seconds after the last sample at which a line commonly knows that it was heard, and in which the
first of what follows is heard."""

READ_SECONDS = 0.2
"""A read-back of which less than this is missing was heard: people answer on its last syllable."""


def handle(state: CallState, event: AgentSide, now: float) -> Effects:
    """Answer one event of the agent's side."""
    match event:
        case ReplyText():
            return _text(state, event, now)
        case ReplyExpects():
            return _expects(state, event)
        case AgentAudio():
            return _audio(state, event, now)
        case UtteranceEnded():
            return _utterance_ended(state, event)
        case ReplyEnded(reply=reply):
            return _reply_ended(state, reply, now)
        case AgentBeganSounding():
            return _began(state, event)
        case AgentHeard(heard=heard):
            return _heard(state, heard)
        case PlayoutDry():
            return dry(state, now)
        case PlayoutFlushed(heard=heard):
            return [*_flushed(state, heard, event.why, now), *recovery.go_on(state, now)]
        case PlayoutStarved(seconds=seconds):
            return pauses.starved(state, seconds, now)
        case PlayoutStalled(seconds=seconds):
            return [Record(FaultLogged(part="line", reason="no sound leaves", seconds=seconds))]
        case _:
            assert_never(event)


def _text(state: CallState, event: ReplyText, now: float) -> Effects:
    reply = state.replies.find(event.reply)
    if reply is None:
        return []
    if reply.first_token_at is None:
        reply.first_token_at = now
    if reply.clock is None:
        reply.draft_text += event.text
        return []
    if reply.clock.first_token is None:
        reply.clock.first_token = now
    utterance = pauses.present(state, reply, event.utterance)
    utterance.text += event.text
    state.history.agent(utterance.id, event.text)
    return []


def _expects(state: CallState, event: ReplyExpects) -> Effects:
    reply = state.replies.find(event.reply)
    if reply is None:
        return []
    if reply.clock is None:
        reply.expects = event
        return []
    return [ChooseProfile(state.settings.patience(event.profile, event.expects), event.expects)]


def _audio(state: CallState, event: AgentAudio, now: float) -> Effects:
    if event.reply == 0:
        return _line_audio(state, event)
    reply = state.replies.find(event.reply)
    if reply is None or reply.clock is None:
        return []  # of a reply that was given up, or of a draft: nothing of it is heard
    utterance = pauses.present(state, reply, event.utterance)
    if utterance.done:
        return []
    pauses.take(state, utterance, event)
    if reply.clock.first_audio is None:
        reply.clock.first_audio = now
    state.failures.count = 0
    reply.spoke.add(utterance.id)
    state.waits.begin(Wait.REPLY, now)
    state.waits.stop(Wait.FILLER, Wait.IDLE)
    return [Play(utterance.id, event.pcm, event.payload)]


def _line_audio(state: CallState, event: AgentAudio) -> Effects:
    """Sound of a fixed line that the gateway speaks by itself."""
    line = state.speech.get(event.utterance)
    if line is None or line.done:
        return []
    line.words.extend(event.words)
    line.sound = True
    return [Play(line.id, event.pcm, event.payload)]


def _utterance_ended(state: CallState, event: UtteranceEnded) -> Effects:
    if event.reply == 0:  # a fixed line that the gateway spoke
        line = state.speech.get(event.utterance)
        if line is None or line.done:
            return []
        line.ended = True
        return [EndUtterance(line.id)]
    reply = state.replies.find(event.reply)
    if reply is None or reply.clock is None:
        return []
    utterance = pauses.present(state, reply, event.utterance)
    utterance.ended = True
    return [EndUtterance(utterance.id)] if utterance.id in reply.spoke else []


def _reply_ended(state: CallState, reply_id: int, now: float) -> Effects:
    reply = state.replies.find(reply_id)
    if reply is None:
        return []
    if recovery.empty(state, reply):
        nothing = BackendLost("an answer without sound", "model", reply.id, fatal=False)
        return recovery.lost(state, nothing, now)
    reply.generating = False
    if reply.clock is None:
        return []
    state.waits.stop(Wait.REPLY, Wait.FILLER)
    effects = consent_side.reply_ended(state, reply) + proposals.speak_up(state, now)
    if state.speech.sounding():
        return effects
    # Everything was heard before the model was done, or there was nothing.
    if effects:  # and now we say something
        state.tools.silent(now)
        state.replies.current = None
        return effects
    return dry(state, now)


def _began(state: CallState, event: AgentBeganSounding) -> Effects:
    utterance = state.speech.get(event.utterance)
    if utterance is None:
        return []
    state.tools.sounding()
    reply = state.replies.current
    if reply is None or reply.clock is None:
        return []
    if utterance.kind == "filler":
        reply.clock.acknowledged = reply.clock.acknowledged or event.when
        return []
    if utterance.reply != reply.id or reply.told:
        return []
    reply.audible = reply.told = True
    consent_side.told(state)
    clock = reply.clock
    clock.heard = event.when
    filler = clock.acknowledged
    told = TurnLogged(
        turn=clock.turn,
        stages=Stages(**clock.stages()),
        response=clock.response,
        drafted=clock.drafted,
        draft_saved=clock.saved() if clock.drafted else None,
        acknowledged=None if filler is None else filler - clock.speech_end,
        held=clock.held or None,
    )
    return [Record(told)]


def _heard(state: CallState, heard: Heard) -> Effects:
    utterance = state.speech.finish(heard)
    if utterance is None:
        return []
    state.history.heard(utterance.id)
    if utterance.kind != "filler":
        state.consent.proposed = utterance.proposal
    told = AgentSpokeLogged(
        utterance=utterance.id,
        kind=utterance.kind,
        text=utterance.text,
        seconds=state.seconds(heard.queued),
        turn=utterance.turn or None,
    )
    return [Record(told)]


def dry(state: CallState, now: float) -> Effects:
    """The caller has heard everything: only now is the floor theirs."""
    if state.hold.since is not None:
        state.hold.fell = True
        return []
    state.tools.silent(now)
    reply = state.replies.current
    if reply is not None and reply.generating:
        # More is to come: of this answer, or of the tool it waits for.
        if Wait.REPLY in state.waits and Wait.FILLER not in state.waits:
            state.waits.until(Wait.FILLER, now + SILENCE_SECONDS - TOLD_LATE)
        return []
    state.replies.current = None
    effects = proposals.floor_free(state, now)
    if effects:
        return effects
    if state.end.phase == "ending":
        return tool_side.leave(state, now)
    if state.screening.stage == "leaving":
        return screening.left(state, now)
    if not state.caller.speaking:
        state.await_caller(now)
    return []


def _flushed(state: CallState, heard: tuple[Heard, ...], why: str, now: float) -> Effects:
    """Say of each dropped utterance what the caller heard of it, to the model and to the log."""
    effects: Effects = []
    claim, state.caller.claim = state.caller.claim, None
    for one in heard:
        utterance = state.speech.finish(one)
        if utterance is None:
            continue
        seconds = state.seconds(one.heard)
        text = utterance.heard_text(seconds, state.seconds(one.queued))
        if rejoin.heard(state, utterance.reply, seconds):
            text = ""
        state.history.cut(utterance.id, text)
        unheard = state.seconds(one.queued - one.heard)
        if utterance.proposal:
            whole = utterance.ended and unheard < READ_SECONDS
            state.consent.proposed = utterance.proposal if whole else ""
        elif utterance.kind != "filler" and one.heard:
            state.consent.proposed = ""
        if utterance.reply and state.traits.truncates and why != "hang-up":
            effects.append(pauses.truncate(state, utterance, seconds, text))
        told = InterruptedLogged(
            utterance=utterance.id,
            kind=utterance.kind,
            heard=seconds,
            error=state.seconds(one.error),
            basis=one.basis,
            queued=state.seconds(one.queued),
            heard_text=text,
            text=utterance.text,
            evidence=claim.claimed.evidence if claim is not None else why,
            stop_delay=None if claim is None else now - claim.onset,
            turn=utterance.turn or None,
        )
        effects.append(Record(told))
    if state.replies.current is None and not state.caller.speaking:
        state.await_caller(now)
    return effects
