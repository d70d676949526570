"""What is done about proposals: when they are read back, and what the caller answers."""

from __future__ import annotations

from gateway.call.conversation import consent_side
from gateway.call.conversation.beginning import respond_again
from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallState
from gateway.call.conversation.tool_side import do, give_up_reply
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import Wait
from gateway.events import (
    Entry,
    Flush,
)


def floor_free(state: CallState, now: float) -> Effects:
    """Nobody speaks: tell what the caller does not know, or ask what waits for a yes."""
    return consent_side.tell(state, now) or speak_up(state, now)


def speak_up(state: CallState, now: float) -> Effects:
    """Nobody speaks: read back what waits for a yes."""
    held = state.hold.since is not None
    busy = state.replies.current is not None and state.replies.current.generating
    if state.end.phase != "open" or state.caller.speaking or state.consent.news or held or busy:
        return []
    return do(state, state.tools.writes.speak_up(), now)


def judged(state: CallState, reply: Reply, now: float) -> Effects:
    """The words of the caller's answer are known, or waited for no longer."""
    open_, run = state.tools.writes.open, reply.proposal
    reply.proposal = ""
    if not run or open_ is None or open_.run != run:
        return []
    state.waits.stop(Wait.WORDS)
    # Who goes on speaking may be about to say what else they want.
    heard = reply.proposal_heard and not state.caller.speaking
    return do(state, state.tools.answer(reply.caller_text or "", now, heard=heard), now)


def keyed(state: CallState, reply: Reply, keys: str, now: float) -> Effects:
    """The caller answered by a key."""
    settings = state.settings
    answer = {settings.yes_key: "yes", settings.no_key: "no"}.get(keys, "other")
    open_, run = state.tools.writes.open, reply.proposal
    reply.proposal = ""
    if open_ is None or open_.run != run:
        return []
    state.waits.stop(Wait.WORDS)
    return do(state, state.tools.decide(answer, now, heard=reply.proposal_heard), now)


def pressed(state: CallState, proposal: str, *, yes: bool, now: float) -> Effects:
    """The caller answered by the page's button, which shows what is asked."""
    open_ = state.tools.writes.open
    if state.end.phase != "open" or open_ is None or open_.run != proposal:
        return []
    state.history.append(Entry("caller", "(pressed yes)" if yes else "(pressed no)"))
    open_.blurred = False
    consent_side.hush(state)
    effects: Effects = [Flush(), *give_up_reply(state, now)]
    effects += do(state, state.tools.decide("yes" if yes else "no", now, heard=True), now)
    return effects if yes else effects + respond_again(state, now)


def not_answered(state: CallState, reply: Reply, now: float) -> Effects:
    """What seemed to be an answer was no turn at all."""
    state.waits.stop(Wait.WORDS)
    return do(state, state.tools.writes.no_answer(heard=reply.proposal_heard), now)
