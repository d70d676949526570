"""A turn that was ended too early, and went on before its answer was heard, was not over.

The two parts become one turn: the model is given one piece of sound and one entry of history, what
was not heard of the answer leaves no trace, and the log says so.
Until that can no longer happen nothing is done to the world on a doubtful end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallState, Ended
from gateway.call.conversation.vocabulary import Effects
from gateway.events import CallerTurnEnded, Record
from gateway.log_events import TurnRejoinedLogged

WINDOW_SECONDS = 1.5
"""Who goes on within this had not finished: people who were answered begin to speak again later,
and most pauses inside a turn are shorter."""

HEARD_SECONDS = 0.4
"""Of an answer of which less was heard nothing was understood: a syllable or two."""

SURE = 0.9
"""Belief in a turn's end from which a write does not wait."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A turn's end, and the one before it that was none."""

    event: CallerTurnEnded
    before: Ended | None
    words: str = ""
    "those of the first part, as far as they are known"


def ended(state: CallState, reply: Reply, event: CallerTurnEnded, now: float) -> None:
    """Note a turn's end, in case the caller goes on."""
    turn = event.ended
    own = state.traits.wants_transcript or bool(turn.keys)
    sure = turn.why == "keys" or (turn.probability or 0.0) >= SURE
    reply.sure_at = now if sure else now + WINDOW_SECONDS
    # A model that hears for itself has the first part already.
    state.caller.ended = None if own else Ended(reply.turn, reply.id, turn.start, now)


def goes_on(state: CallState, onset: float) -> None:
    """The caller speaks again: see whether that belongs to the turn before."""
    last = state.caller.ended
    near = last is not None and onset - last.at <= WINDOW_SECONDS
    state.caller.rejoins = last if near and not state.tools.busy else None


def heard(state: CallState, reply: int, seconds: float) -> bool:
    """Return whether what was heard of a reply is to leave no trace."""
    last = state.caller.rejoins
    if last is None or not reply or last.reply != reply:
        return False
    if seconds >= HEARD_SECONDS:
        state.caller.rejoins = None
    return seconds < HEARD_SECONDS


def join(state: CallState, event: CallerTurnEnded) -> Joined:
    """Put a turn that ended together with the one before, if that was none."""
    before, state.caller.rejoins = state.caller.rejoins, None
    if before is None or event.ended.keys:
        return Joined(event, None)
    words = state.history.forget(before.turn)
    return Joined(replace(event, ended=replace(event.ended, start=before.start)), before, words)


def told(reply: Reply, joined: Joined) -> Effects:
    """Write down that two parts are one turn."""
    before = joined.before
    if before is None:
        return []
    reply.before = joined.words
    return [Record(TurnRejoinedLogged(turn=reply.turn, before=before.turn))]
