"""An answer that does not come: the model hangs before it, in the middle of it, or after it."""

from __future__ import annotations

from gateway.call.conversation import agent_side, recovery
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import Wait
from gateway.events import BackendLost, CancelReply, Record, ReplyEnded
from gateway.log_events import FaultLogged


def late(state: CallState, now: float) -> Effects:
    """No sound of the answer has come for as long as is waited for any."""
    reply = state.replies.current
    if reply is None:
        return []
    if state.caller.speaking or any(one.reply for one in state.speech.sounding()):
        state.waits.begin(Wait.REPLY, now)
        return []
    if not reply.spoke:
        return recovery.lost(state, _failed("no answer in time", reply.id), now)
    if state.speech.torn(reply.id):
        return recovery.lost(state, _failed("stopped in the middle of its answer", reply.id), now)
    # All that was begun was said: only the word that this was all is missing.
    fault = FaultLogged(part="model", reason="its answer did not end", fatal=False)
    ended = agent_side.handle(state, ReplyEnded(reply.id), now)
    return [Record(fault), CancelReply(reply.id), *ended]


def _failed(what: str, reply: int) -> BackendLost:
    return BackendLost(what, "model", reply, fatal=False)
