"""What is done while nobody is at the caller's end: on hold, or a page that went away.

Nothing is waited for and nothing new is said; what the backend makes meanwhile waits in playout.
When the caller is back, every wait begins anew.
"""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import agent_side
from gateway.call.conversation.state import CallState, Holds
from gateway.call.conversation.vocabulary import Effects
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
    state.caller.idle_due = None
    state.waits.begin_anew(now)
    effects: Effects = [Record(ReleasedLogged(seconds=now - since)), Resume("line")]
    if state.speech.sounding():
        return effects
    state.tools.silent(now)
    return effects + (agent_side.dry(state, now) if fell else [])
