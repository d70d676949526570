"""What is done when the call begins, waits too long, loses its backend, uses tools, or ends."""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import line_hold, recovery, tool_side
from gateway.call.conversation.state import CallState, Course, Effects
from gateway.events import (
    AnsweredBy,
    BackendLost,
    BackendReady,
    CallerGone,
    CallHeld,
    CallReleased,
    CallStarted,
    EndAsked,
    Flush,
    HangUp,
    Inform,
    Record,
    Resume,
    TimePassed,
    ToolAnswered,
    ToolAsked,
    TransferEnded,
    UsageReported,
)
from gateway.log_events import (
    AnsweredByLogged,
    BackendLogged,
    CallEndedLogged,
    CallStartedLogged,
    IdleLogged,
    TransferLogged,
    UsageLogged,
)


def handle(state: CallState, event: Course, now: float) -> Effects:
    """Answer one event of the call's course."""
    match event:
        case CallStarted():
            return _started(state, event, now)
        case CallerGone():
            return _gone(state, event, now)
        case CallHeld() | CallReleased():
            return line_hold.handle(state, event, now)
        case AnsweredBy():
            return _answered_by(event)
        case TransferEnded():
            return _transfer_ended(state, event, now)
        case EndAsked(line=line, reason=reason):
            return _end_asked(state, line, reason, now)
        case TimePassed():
            return _time_passed(state, now)
        case BackendReady(name=name):
            return [Record(BackendLogged(name=name, state="ready"))]
        case BackendLost():
            return recovery.lost(state, event, now)
        case UsageReported(figures=figures):
            return [Record(UsageLogged(figures=figures))]
        case ToolAsked():
            return tool_side.asked(state, event, now)
        case ToolAnswered():
            return tool_side.answered(state, event, now)
        case _:
            assert_never(event)


def _started(state: CallState, event: CallStarted, now: float) -> Effects:
    info = state.info = event.info
    state.started = now
    state.waits.limit = now + state.settings.call_seconds
    own = info.variables.get("sip_call_id")
    started = CallStartedLogged(
        line=info.line,
        caller=info.caller,
        callee=info.callee,
        agent=info.agent,
        direction=info.direction,
        codec=info.codec,
        sip_call_id=str(own) if own else None,
        recording=event.recording,
    )
    effects: Effects = [Record(started)]
    greeting = state.speak(state.settings.lines.greeting, "greeting")
    if not greeting:
        state.waits.idle = now + state.settings.idle_seconds
    return effects + greeting


def _gone(state: CallState, event: CallerGone, now: float) -> Effects:
    if state.phase == "ended":
        return []
    by_agent = state.phase == "ending" and state.at_end is None
    state.phase = "ended"
    for wait in ("idle", "reply", "filler", "held", "words", "sure", "ending", "limit"):
        setattr(state.waits, wait, None)
    ended = CallEndedLogged(
        reason=event.reason,
        ended_by="failure" if event.failure else "agent" if by_agent else "caller",
        seconds=now - state.started,
        turns=state.replies.turn,
        quality=event.quality or None,
    )
    return [*tool_side.call_ended(state, now), Record(ended)]


ANSWERED_BY = {
    "person": "A person answered this call.",
    "machine": "An answering machine answered this call; wait for its beep.",
    "silence": "The call was answered, and nobody speaks.",
    "beep": "The answering machine has beeped and records now: leave the message.",
}
"""What the model is told of who answered a call that was placed."""


def _answered_by(event: AnsweredBy) -> Effects:
    answered = AnsweredByLogged(kind=event.kind, words=event.words, seconds=event.seconds)
    return [Record(answered), Inform(ANSWERED_BY[event.kind])]


def _transfer_ended(state: CallState, event: TransferEnded, now: float) -> Effects:
    effects: Effects = [Record(TransferLogged(accepted=event.accepted, reason=event.reason))]
    asked, state.transferring = state.transferring and state.at_end is None, False
    if not event.accepted and asked and state.phase == "ending":
        state.phase = "open"
        state.history.note(f"The transfer failed: {event.reason or 'refused'}.")
        if state.deserted:
            return effects + recovery.transfer_refused(state, now)
        effects += state.speak("I'm sorry, nobody could take the call. How else can I help?")
    return effects


def _end_asked(state: CallState, line: str, reason: str, now: float) -> Effects:
    if state.phase != "open":
        return []
    effects: Effects = [Flush(), *tool_side.give_up_reply(state, now), Resume()] if line else []
    effects += state.speak(line, "goodbye")
    state.finish_with(HangUp(reason), now)
    return effects if line else [*effects, *state.leave()]


def _time_passed(state: CallState, now: float) -> Effects:
    effects: Effects = tool_side.time_passed(state, now)
    for wait in state.waits.expired(now, held=state.hold.since is not None):
        match wait:
            case "idle":
                effects += _idle(state, now)
            case "reply":
                late = BackendLost("no answer in time", fatal=False)
                effects += recovery.lost(state, late, now)
            case "filler":
                effects += _bridge(state)
            case "words":
                if state.replies.current is not None:
                    effects += tool_side.judged(state, state.replies.current, now)
            case "sure":
                if state.replies.current is not None:
                    effects += tool_side.confirmed(state, state.replies.current, now)
            case "held":
                effects.append(Resume())
            case "ending":
                effects += tool_side.leave(state, now)
            case "limit":
                # Nobody who is on hold hears a goodbye, and they may never come back.
                held = state.hold.since is not None
                goodbye = "" if held else state.settings.lines.goodbye
                effects += _end_asked(state, goodbye, "call limit", now)
            case _:
                raise AssertionError(wait)
    return effects


def _idle(state: CallState, now: float) -> Effects:
    if state.phase != "open" or state.caller_speaking or state.speech.sounding():
        return []
    if state.tools.writes.work.busy:  # it is told when it is over
        state.waits.idle = now + state.settings.idle_seconds
        return []
    state.idle_asked += 1
    if state.idle_asked == 1 and state.settings.lines.still_there:
        return [Record(IdleLogged(asked=1)), *state.speak(state.settings.lines.still_there)]
    return [
        Record(IdleLogged(asked=state.idle_asked)),
        *_end_asked(state, state.settings.lines.goodbye, "caller silent", now),
    ]


def _bridge(state: CallState) -> Effects:
    """The answer is late: say so, unless the caller speaks or was told just now."""
    if state.replies.current is None or state.caller_speaking or state.speech.bridging():
        return []
    return state.speak(state.settings.lines.filler, "filler")
