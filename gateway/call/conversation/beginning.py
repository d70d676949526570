"""The beginning of a turn: the reply that is owed, the clock it is measured by, what is waited for.

Every reply begins here, whoever ended the turn: our ear, the model's, a key, a page, or nobody.
"""

from __future__ import annotations

from gateway.call.conversation.replies import Reply
from gateway.call.conversation.stages import TurnClock
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import SILENCE_SECONDS, Wait
from gateway.events import Draft, Record, Respond
from gateway.log_events import DraftLogged


def begin(
    state: CallState,
    now: float,
    *,
    start: int = 0,
    speech_end: float | None = None,
    transcript: float | None = None,
    bridged_at: float | None = None,
) -> Reply:
    """Begin the reply to a turn, the drafted one where there is one.

    `start` is the turn's first voiced sample, `speech_end` the loop second of its last, where it
    has sound; `transcript`: when its words were known, where that is before the draft's; a wait is
    bridged at `bridged_at`, else before the silence is too long.
    """
    reply, drafted = state.replies.confirm(now, start)
    reply.utterance = state.speech.new_id()
    ended, held = (now, 0.0) if speech_end is None else state.hold.moved(speech_end)
    reply.clock = TurnClock(
        reply.turn,
        ended,
        now,
        transcript=reply.transcript_at if transcript is None else transcript,
        first_token=reply.first_token_at,
        drafted=drafted,
        draft_started=reply.started if drafted else None,
        held=held,
    )
    state.waits.begin(Wait.REPLY, now)
    state.waits.until(Wait.FILLER, now + SILENCE_SECONDS if bridged_at is None else bridged_at)
    return reply


def draft(
    state: CallState,
    now: float,
    start: int,
    end: int,
    *,
    probability: float | None = None,
    without: int = 0,
) -> Effects:
    """Begin an answer that may be thrown away to what was said between two samples, where one may
    be begun; `without`: a turn of the history that this goes on from."""
    if (
        not state.settings.drafts
        or not state.traits.drafts
        or state.end.phase != "open"
        or state.tools.busy
        or state.tools.writes.asking
        or state.replies.draft is not None
    ):
        return []
    begun = state.replies.begin_draft(now, start)
    return [
        Draft(begun.turn, begun.id, start, end, state.history.entries(without)),
        Record(DraftLogged(outcome="started", reply=begun.id, probability=probability)),
    ]


def respond_again(state: CallState, now: float, since: TurnClock | None = None) -> Effects:
    """Ask for an answer to what the history ends with, without new words of the caller; `since`:
    the clock of the turn it answers, where that was not begun anew."""
    reply = begin(state, now, transcript=now)
    if since is not None:
        reply.clock = TurnClock(reply.turn, since.speech_end, since.decided, since.transcript)
    reply.caller_text = ""
    history = state.history.entries()
    return [Respond(reply.turn, reply.id, reply.utterance, 0, 0, history, again=True)]
