"""What is done while nobody is at the caller's end: on hold, or a page that went away.

Nothing is waited for and nothing new is said; what the backend makes meanwhile waits in playout.
When the caller is back, every wait begins anew.
"""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import agent_side
from gateway.call.conversation.again import SILENCE_SECONDS
from gateway.call.conversation.consent_side import WORDS_SECONDS
from gateway.call.conversation.sounds import HELD_SECONDS
from gateway.call.conversation.state import CallState, Effects, Holds
from gateway.events import CallHeld, CallReleased, Hold, Record, Resume
from gateway.log_events import HeldLogged, ReleasedLogged


def handle(state: CallState, event: CallHeld | CallReleased, now: float) -> Effects:
    """Answer that the caller left the line, or is back on it."""
    match event:
        case CallHeld() if state.hold.since is None:
            return _held(state, event)
        case CallReleased() if state.hold.since is not None:
            return _released(state, state.hold.since, now)
        case CallHeld() | CallReleased():
            return []
        case _:
            assert_never(event)


def _held(state: CallState, event: CallHeld) -> Effects:
    state.hold = Holds(since=event.since)
    state.tools.sounding()  # no silence is heard that a word could bridge
    return [Hold("line", event.since), Record(HeldLogged(why=event.why))]


def _released(state: CallState, since: float, now: float) -> Effects:
    fell = state.hold.fell
    state.hold = Holds(past=(since, now))
    for reply in (state.replies.current, state.replies.draft):
        if reply is not None:
            reply.skip(since, now)
    _wait_anew(state, now)
    effects: Effects = [Record(ReleasedLogged(seconds=now - since)), Resume("line")]
    if state.speech.sounding():
        return effects
    state.tools.silent(now)
    return effects + (agent_side.dry(state, now) if fell else [])


def _wait_anew(state: CallState, now: float) -> None:
    """Begin each wait again that was under way, or that began meanwhile; but for the call's own."""
    waits, settings = state.waits, state.settings
    state.idle_due = None
    if waits.idle is not None:
        waits.idle = now + settings.idle_seconds
    if waits.reply is not None:
        waits.reply = now + settings.reply_seconds
    if waits.filler is not None:
        bridged = settings.filler_after if settings.filler_for_model else SILENCE_SECONDS
        waits.filler = now + bridged
    if waits.held is not None:
        waits.held = now + HELD_SECONDS
    if waits.words is not None:
        waits.words = now + WORDS_SECONDS
    if waits.ending is not None:
        waits.ending = now + settings.ending_seconds
