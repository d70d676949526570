"""Asks the backend to go on from what the history ends with, without new words of the caller."""

from __future__ import annotations

from gateway.call.conversation.stages import TurnClock
from gateway.call.conversation.state import CallState, Effects
from gateway.events import Respond

SILENCE_SECONDS = 1.8
"""Whatever the model does, a caller hears a word before two seconds of silence have passed."""


def respond_again(state: CallState, now: float, since: TurnClock | None = None) -> Effects:
    """Ask for an answer to what the history ends with; `since`: the clock of the turn it answers,
    where that was not begun anew."""
    reply, _ = state.replies.confirm(now, 0)
    reply.utterance = state.speech.new_id()
    reply.clock = TurnClock(reply.turn, now, now, transcript=now)
    if since is not None:
        reply.clock = TurnClock(reply.turn, since.speech_end, since.decided, since.transcript)
    reply.caller_text = ""
    state.waits.reply = now + state.settings.reply_seconds
    state.waits.filler = now + SILENCE_SECONDS
    history = state.history.entries()
    return [Respond(reply.turn, reply.id, reply.utterance, 0, 0, history, again=True)]
