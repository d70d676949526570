"""What is done when a backend fails: a spoken answer, the agent's fallbacks, an orderly end.

The chain is walked once in a call: each loss that nothing else answers takes its next step.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.call.conversation import tool_side
from gateway.call.conversation.beginning import respond_again
from gateway.call.conversation.replies import Reply
from gateway.call.conversation.stages import TurnClock
from gateway.call.conversation.state import CallState, Loss
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import SILENCE_SECONDS, Wait
from gateway.events import (
    BackendLost,
    Flush,
    HangUp,
    Record,
    Respond,
    Resume,
    SwitchBackend,
    Transfer,
)
from gateway.log_events import BackendLogged, FaultLogged

PATIENCE = 2
"""Failures in a row after which it is not asked again but the next fallback is tried."""

TWICE_SECONDS = 4.0
"""A failure that took longer is not waited for a second time."""

RETRY = "retry"
"""The fallback that opens the present backend once more."""
MESSAGE = "message"
"""The fallback that says sorry and goodbye; what also follows the last one."""
TRANSFER = "transfer:"
"""What the name of a target follows, in the fallback that puts the caller through."""

CUT_NOTE = "The line to the assistant broke in the middle of its last words; it goes on now."
SUMMARY = "The assistant failed in the middle of the call."


def lost(state: CallState, event: BackendLost, now: float) -> Effects:
    """Take a failure; nothing is owed by a reply that nobody waits for any more."""
    if event.reply is not None and state.replies.find(event.reply) is None:
        return []
    fault = FaultLogged(part=event.part, reason=event.reason, fatal=event.fatal)
    effects: Effects = [Record(fault)]
    if state.end.phase != "open":
        return effects
    draft = state.replies.take_draft()
    if draft is not None:
        effects += tool_side.dropped(state, draft.id, now)
        if event.reply == draft.id and not event.fatal:
            return effects  # the turn is asked anew when it is over
    reply = state.replies.current
    owed = reply if reply is not None and (reply.generating or not event.fatal) else None
    torn = any(one.reply and not one.ended for one in state.speech.sounding())
    state.failures.count += 1
    state.failures.loss = Loss(event.fatal, owed, torn, event.part, state.waits.due(Wait.FILLER))
    if owed is not None:
        effects += tool_side.give_up_reply(state, now)
    if torn:
        # Its end will never come, and what follows would wait for it. What was heard of it is
        # known as soon as this is done, and then it goes on.
        return [*effects, Flush(), Resume()]
    return effects + go_on(state, now)


def go_on(state: CallState, now: float) -> Effects:
    """Answer the loss, now that the history holds what the caller heard."""
    loss, state.failures.loss = state.failures.loss, None
    if loss is None or state.end.phase != "open":
        return []
    recorded = state.screening.stage == "leaving"  # nobody there could say it again
    owed = loss.owed
    if loss.torn:
        state.history.note(CUT_NOTE)
    if loss.fatal:
        return _step(state, owed, now)
    if owed is not None and _worth_a_second_try(owed, loss, now):
        return _once_more(state, owed, loss, now)
    others = state.failures.steps < len(state.settings.fallbacks)
    tried_twice = owed is not None and owed.retried and others
    if state.failures.count < PATIENCE and not tried_twice and not recorded:
        return state.speak(state.settings.lines.again)
    return _step(state, owed, now)


def empty(state: CallState, reply: Reply) -> bool:
    """Return whether an answer that is over was none: nothing of it can be heard."""
    if reply.clock is None or reply.spoke or state.end.phase != "open" or state.consent.news:
        return False  # what has come of a write is told by us
    return not state.tools.owes(reply.id) and not reply.asked


def _worth_a_second_try(owed: Reply, loss: Loss, now: float) -> bool:
    """Return whether the model is asked again before anybody else is, or the caller has to be."""
    waited = now - owed.clock.decided if owed.clock is not None else 0.0
    quick = loss.torn or bool(owed.spoke) or waited <= TWICE_SECONDS
    return quick and not owed.retried and loss.part != "recogniser"


def _once_more(state: CallState, owed: Reply, loss: Loss, now: float) -> Effects:
    """Ask the model a second time for what it failed at; the caller hears no more than a wait."""
    state.failures.count -= 1
    reply = state.replies.once_more(owed, now)
    reply.utterance = state.speech.new_id()
    since = owed.clock
    reply.clock = TurnClock(reply.turn, now, now, transcript=now)
    if since is not None:
        reply.clock = TurnClock(reply.turn, since.speech_end, since.decided, since.transcript)
        reply.clock.acknowledged = since.acknowledged
    state.waits.begin(Wait.REPLY, now)
    bridged_at = now + SILENCE_SECONDS if loss.torn else loss.bridged_at
    if bridged_at is not None:
        state.waits.until(Wait.FILLER, bridged_at)
    ended = state.caller.ended
    if ended is not None and ended.reply == owed.id:
        state.caller.ended = replace(ended, reply=reply.id)
    # Who hears for itself has the turn's sound; else there are its words, or nobody knows them.
    known = owed.caller_text is not None or state.traits.wants_transcript or not owed.end
    history = state.history.entries()
    again = Respond(
        reply.turn, reply.id, reply.utterance, owed.start, owed.end, history, again=known
    )
    return [again]


def transfer_refused(state: CallState, now: float) -> Effects:
    """Nobody could take the call of a broken backend: the next step of the chain."""
    return _step(state, None, now)


def _step(state: CallState, owed: Reply | None, now: float) -> Effects:
    """Take the next step of the chain; after the last one the call ends."""
    chain = state.settings.fallbacks
    step = chain[state.failures.steps] if state.failures.steps < len(chain) else MESSAGE
    state.failures.steps += 1
    effects: Effects = [Record(BackendLogged(name=state.failures.backend, state="lost", next=step))]
    if step == MESSAGE:
        effects += state.speak(state.settings.lines.apology)
        effects += state.speak(state.settings.lines.goodbye, "goodbye")
        state.finish_with(HangUp("backend lost"), now)
        return effects
    if step.startswith(TRANSFER):
        state.failures.deserted = True
        effects += state.speak(state.settings.lines.apology)
        # It is there: the agent's file is refused otherwise.
        target = state.settings.transfers.names[step.removeprefix(TRANSFER)]
        state.finish_with(Transfer(target, SUMMARY), now)
        return effects
    if step != RETRY:
        state.failures.backend = step
    state.failures.count = 0
    if owed is not None and not state.speech.bridging():
        effects += state.speak(state.settings.lines.filler, "filler")
    unheard = owed is not None and owed.caller_text is None and owed.end > owed.start
    start = owed.start if owed is not None and unheard else None
    if state.caller.listening and start is None:
        start = state.caller.listening_from
    effects.append(SwitchBackend(state.failures.backend, start))
    return effects + ([] if owed is None else _ask_again(state, owed, unheard, now))


def _ask_again(state: CallState, owed: Reply, unheard: bool, now: float) -> Effects:
    """Put the turn to the next backend: its words, or its sound where nobody wrote it down."""
    effects = respond_again(state, now, owed.clock)
    reply = state.replies.current
    assert reply is not None
    if not unheard:
        reply.caller_text = owed.caller_text or ""
        return effects
    reply.caller_text, reply.start, reply.end = None, owed.start, owed.end
    reply.proposal, reply.proposal_heard = owed.proposal, owed.proposal_heard
    assert reply.clock is not None
    reply.clock.transcript = None
    state.history.begin_turn(reply.turn)
    history = state.history.entries()
    return [
        Respond(reply.turn, reply.id, reply.utterance, owed.start, owed.end, history),
    ]
