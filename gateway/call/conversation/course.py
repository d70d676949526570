"""What is done when the call begins, waits too long, loses its backend, uses tools, or ends."""

from __future__ import annotations

from typing import assert_never

from gateway.call.conversation import (
    caller_side,
    line_hold,
    own_tools,
    proposals,
    recovery,
    screening,
    stumbles,
    tool_side,
)
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Course, Effects
from gateway.call.conversation.waits import Wait
from gateway.events import (
    BackendLost,
    BackendReady,
    BeepHeard,
    CallerGone,
    CallHeld,
    CallReleased,
    CallStarted,
    EndAsked,
    Flush,
    HangUp,
    Record,
    Resume,
    TimePassed,
    ToolAnswered,
    ToolAsked,
    Transfer,
    TransferAsked,
    TransferEnded,
    UsageReported,
)
from gateway.log_events import (
    BackendLogged,
    CallEndedLogged,
    CallStartedLogged,
    IdleLogged,
    TransferLogged,
    TransferRefusedLogged,
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
        case BeepHeard():
            return screening.found(state, "beep", now)
        case TransferEnded():
            return _transfer_ended(state, event, now)
        case EndAsked(line=line, reason=reason):
            return _end_asked(state, line, reason, now)
        case TransferAsked(target=target, summary=summary):
            return _transfer_asked(state, target, summary, now)
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
    info = state.info
    state.end.started = now
    state.waits.begin(Wait.LIMIT, now)
    own = info.variables.get("sip_call_id")
    started = CallStartedLogged(
        line=info.line,
        caller=info.caller,
        callee=info.callee,
        agent=info.agent,
        direction=info.direction,
        codec=info.negotiated or info.codec,
        page=info.page or None,
        sip_call_id=str(own) if own else None,
        recording=event.recording,
    )
    effects: Effects = [Record(started)]
    if info.screened:
        return effects + screening.begin(state, now)
    greeting = state.speak(state.settings.lines.greeting, "greeting")
    if not greeting:
        state.await_caller(now)
    return effects + greeting


def _gone(state: CallState, event: CallerGone, now: float) -> Effects:
    if state.end.phase == "ended":
        return []
    by_agent = state.end.phase == "ending" and state.end.last is None
    state.end.phase = "ended"
    state.waits.stop_all()
    ended = CallEndedLogged(
        reason=event.reason,
        ended_by="failure" if event.failure else "agent" if by_agent else "caller",
        seconds=now - state.end.started,
        turns=state.replies.turn,
        quality=event.quality or None,
    )
    return [*tool_side.call_ended(state, now), Record(ended)]


def _transfer_ended(state: CallState, event: TransferEnded, now: float) -> Effects:
    effects: Effects = [Record(TransferLogged(accepted=event.accepted, reason=event.reason))]
    asked, state.end.transferring = state.end.transferring and state.end.last is None, False
    if not event.accepted and asked and state.end.phase == "ending":
        state.end.phase = "open"
        state.history.note(f"The transfer failed: {event.reason or 'refused'}.")
        if state.failures.deserted:
            return effects + recovery.transfer_refused(state, now)
        effects += state.speak(state.settings.lines.transfer_failed)
    return effects


def _end_asked(state: CallState, line: str, reason: str, now: float) -> Effects:
    if state.end.phase != "open":
        return []
    effects: Effects = [Flush(), *tool_side.give_up_reply(state, now), Resume()] if line else []
    effects += state.speak(line, "goodbye")
    state.finish_with(HangUp(reason), now)
    return effects if line else [*effects, *state.leave()]


def _transfer_asked(state: CallState, target: str, summary: str, now: float) -> Effects:
    """Put the caller through at once, to whom the model might have: the list is the agent's."""
    if state.end.phase != "open":
        return []
    to = state.settings.transfers.find(target)
    if to is None:
        named = target[: own_tools.TARGET_MOST]
        return [Record(TransferRefusedLogged(target=named, reason="not in transfers"))]
    effects: Effects = [Flush(), *tool_side.give_up_reply(state, now), Resume()]
    state.finish_with(Transfer(to, summary), now)
    return [*effects, *state.leave()]


def _time_passed(state: CallState, now: float) -> Effects:
    effects: Effects = tool_side.time_passed(state, now)
    for wait in state.waits.expired(now, held=state.hold.since is not None):
        match wait:
            case Wait.IDLE:
                effects += _idle(state, now)
            case Wait.REPLY:
                effects += stumbles.late(state, now)
            case Wait.FILLER:
                effects += _bridge(state)
            case Wait.WORDS:
                if state.replies.current is not None:
                    effects += proposals.judged(state, state.replies.current, now)
            case Wait.SURE:
                if state.replies.current is not None:
                    effects += tool_side.confirmed(state, state.replies.current, now)
            case Wait.HELD:
                effects.append(Resume())
            case Wait.ENDING:
                effects += tool_side.leave(state, now)
            case Wait.LIMIT:
                # Nobody who is on hold hears a goodbye, and they may never come back.
                held = state.hold.since is not None
                goodbye = "" if held else state.settings.lines.goodbye
                effects += _end_asked(state, goodbye, "call limit", now)
            case Wait.WHO:
                effects += _who_is_there(state, now)
            case _:
                assert_never(wait)
    return effects


def _who_is_there(state: CallState, now: float) -> Effects:
    """It was waited long enough for what answered: say what they said, if it is somebody."""
    effects = screening.time_passed(state, now)
    turn, state.screening.turn = state.screening.turn, None
    return effects if turn is None else effects + caller_side.answer(state, turn, now)


def _idle(state: CallState, now: float) -> Effects:
    if state.end.phase != "open" or state.caller.speaking or state.speech.sounding():
        return []
    if state.tools.writes.work.busy:  # it is told when it is over
        state.await_caller(now)
        return []
    state.caller.idle_asked += 1
    if state.caller.idle_asked == 1 and state.settings.lines.still_there:
        return [Record(IdleLogged(asked=1)), *state.speak(state.settings.lines.still_there)]
    return [
        Record(IdleLogged(asked=state.caller.idle_asked)),
        *_end_asked(state, state.settings.lines.goodbye, "caller silent", now),
    ]


def _bridge(state: CallState) -> Effects:
    """The answer is late: say so, unless the caller speaks or was told just now."""
    if state.replies.current is None or state.caller.speaking or state.speech.bridging():
        return []
    return state.speak(state.settings.lines.filler, "filler")
