"""What is done about the caller's sounds while it is not known what they are."""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import rejoin
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import Wait
from gateway.events import Disregard, Duck, Hold, Listen, Record, Resume
from gateway.log_events import BackchannelLogged, ResumedLogged
from turn.events import OverlapBegan, OverlapDismissed, OverlapHeld, SpeechStarted

BELONGS_SECONDS = 1.0
"""Who speaks within this of a sound that was taken for a nod, or for nothing, goes on from it."""

LONGEST_SECONDS = 2.5
"""How much sooner a turn can begin for that: backends keep what they heard for three seconds."""


def whole(state: CallState, start: int) -> int:
    """Return where a turn begins that turn-taking heard from `start` on."""
    caller = state.caller
    near = 0 <= state.seconds(start - caller.listening_from) <= LONGEST_SECONDS
    return caller.listening_from if caller.listening and near else start


def started(state: CallState, event: SpeechStarted, now: float) -> Effects:
    """The caller begins to speak, or to make a sound that may be speech."""
    state.caller.speaking = True
    if Wait.IDLE in state.waits:
        state.caller.idle_due = state.waits.due(Wait.IDLE)
        state.waits.stop(Wait.IDLE)
    effects = _listen(state, event.start)
    reply = state.replies.current
    if reply is not None and not reply.audible:
        rejoin.goes_on(state, now)
        # An answer is on its way to a caller who goes on speaking: it waits for what this is.
        state.waits.until(Wait.HELD, float("inf"))
        effects.append(Hold())
    return effects


def stopped(state: CallState, now: float) -> Effects:
    """The sound stopped; what it was is decided by turn-taking."""
    state.caller.speaking = False
    if Wait.HELD in state.waits:
        state.waits.begin(Wait.HELD, now)
    return []


def dropped(state: CallState, at: int, now: float) -> Effects:
    """The sound was nothing: whatever waited for it goes on as if it had not been."""
    state.caller.speaking, state.caller.rejoins = False, None
    effects = dismiss(state, at) if state.caller.listening else []
    if Wait.HELD in state.waits:
        state.waits.stop(Wait.HELD)
        effects.append(Resume())
    if state.end.phase == "open" and state.replies.current is None and not state.speech.sounding():
        wait_on(state, now)
    return effects


def wait_on(state: CallState, now: float) -> None:
    """Wait on for a caller who has said nothing so far, for as long as was left."""
    due, state.caller.idle_due = state.caller.idle_due, None
    state.await_caller(now, due)


def over_agent(state: CallState, event: OverlapBegan | OverlapHeld | OverlapDismissed) -> Effects:
    """Give way by degrees while a sound is judged; a sound that was no claim cost nothing."""
    match event:
        case OverlapBegan(start=start):
            return [Duck(), *_listen(state, start)]
        case OverlapHeld():
            return [Hold()]
        case OverlapDismissed(kind="open"):
            return [Resume()]  # everything was said; the sound goes on as a turn
        case OverlapDismissed(at=at, kind=kind, text=text):
            told = (
                BackchannelLogged(kind=kind, text=text)
                if kind == "backchannel"
                else ResumedLogged(kind=kind, text=text)
            )
            own = kind in ("echo", "noise")
            gone = disregard(state) if own else dismiss(state, at)
            return [Resume(), *gone, Record(told)]
        case _:
            assert_never(event)


def dismiss(state: CallState, at: int) -> Effects:
    """What was listened to was nothing by itself; it may yet turn out to belong to more."""
    state.caller.dismissed = state.caller.listening_from, at
    return disregard(state)


def disregard(state: CallState) -> Effects:
    """What was listened to since the last turn was nothing."""
    state.caller.listening = False
    return [Disregard()]


def _listen(state: CallState, start: int) -> Effects:
    """Tell the backend where a turn begins, once for each turn."""
    if state.caller.listening:
        return []
    dismissed, state.caller.dismissed = state.caller.dismissed, None
    if dismissed is not None:
        begun, at = dismissed
        belongs = state.seconds(start - at) <= BELONGS_SECONDS
        start = begun if belongs and state.seconds(start - begun) <= LONGEST_SECONDS else start
    state.caller.listening = True
    state.caller.listening_from = start
    return [Listen(start)]
