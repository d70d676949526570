"""What is done when the model asks for tools and when they answer, by the tool desk's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallState, Effects
from gateway.call.tools.desk import (
    Answer,
    CallerTurn,
    DeskEffect,
    GiveUp,
    Perform,
    Remember,
    SayFiller,
    TellModel,
)
from gateway.events import (
    AnswerTool,
    CancelReply,
    CancelTool,
    ChooseProfile,
    Entry,
    HangUp,
    Inform,
    Json,
    Record,
    RunTool,
    SendKeys,
    ToolAnswered,
    ToolAsked,
    Transfer,
)
from gateway.log_events import FaultLogged, ToolLogged, TransferRefusedLogged

WORDS_SECONDS = 2.0
"""How long a write that needs a yes waits for the caller's words: a model writes them down beside
its answer, mostly within a second; without them nothing is done, and the caller is asked."""

TARGET_MOST = 128
"""Characters of a target that is refused, for the log."""

FAULTS = ("broken", "timeout")
"""Errors that say something of the tool itself and nothing of what it was asked."""


def asked(state: CallState, event: ToolAsked, now: float) -> Effects:
    """The model wants a tool; what comes of a reply that was given up is void."""
    reply = state.replies.find(event.reply)
    if reply is None:
        return []
    spec = next((tool for tool in state.settings.tools if tool.name == event.name), None)
    confirmed = reply.clock is not None
    unwritten = state.traits.wants_transcript and reply.caller_text is None
    if confirmed and unwritten and spec is not None and spec.confirm:
        # Whether the caller said yes is not known yet: held like a draft's, until it is.
        state.waits.words = now + WORDS_SECONDS
        confirmed = False
    caller = _caller(state, reply) if confirmed else None
    effect = spec.effect if spec else "unknown"
    told = ToolLogged(
        name=event.name,
        outcome="asked",
        drafted=not confirmed,
        effect=effect,
        turn=reply.turn,
    )
    effects: Effects = [Record(told)]
    state.waits.reply = None  # the desk has its own deadlines while tools run
    return effects + _do(state, state.tools.ask(event, spec, caller, now), now)


def answered(state: CallState, event: ToolAnswered, now: float) -> Effects:
    """A tool came back."""
    return _do(state, state.tools.answered(event, now), now)


def confirmed(state: CallState, reply: Reply, now: float) -> Effects:
    """The turn this reply answers is over and its words are known, or waited for no longer."""
    state.waits.words = None
    return _do(state, state.tools.confirm(reply.id, _caller(state, reply), now), now)


def interrupted(state: CallState, reply: int, now: float) -> Effects:
    """The reply was given up."""
    return _do(state, state.tools.interrupt(reply, now), now)


def dropped(state: CallState, reply: int, now: float) -> Effects:
    """The draft was thrown away."""
    return _do(state, state.tools.drop(reply), now)


def time_passed(state: CallState, now: float) -> Effects:
    """A deadline of the desk may have come."""
    return _do(state, state.tools.time_passed(now), now)


def call_ended(state: CallState, now: float) -> Effects:
    """The call is over: reads stop, writes finish without it."""
    return _do(state, state.tools.call_ended(), now)


def give_up_reply(state: CallState, now: float) -> Effects:
    """Stop the reply that is alive; what it still sends is void."""
    reply, state.replies.current = state.replies.current, None
    state.waits.reply = None
    state.waits.filler = None
    if reply is None:
        return []
    effects = interrupted(state, reply.id, now)
    if reply.generating:
        effects.append(CancelReply(reply.id))
    return effects


def _caller(state: CallState, reply: Reply) -> CallerTurn:
    return CallerTurn(reply.caller_text or "", reply.question_heard)


def _do(state: CallState, desk_effects: list[DeskEffect], now: float) -> Effects:
    effects: Effects = []
    for effect in desk_effects:
        match effect:
            case RunTool() | CancelTool():
                effects.append(effect)
            case Remember(entry=entry):
                state.history.append(entry)
            case TellModel(text=text):
                effects.append(Inform(text))
            case SayFiller(text=text):
                effects += state.speak(text or state.settings.lines.filler, "filler")
            case Answer():
                effects += _answer(state, effect, now)
            case Perform():
                effects += _perform(state, effect, now)
            case GiveUp():
                effects += give_up_reply(state, now)
                effects.append(Record(FaultLogged(part="model", reason="only tools")))
                effects += state.speak(state.settings.lines.again)
            case _:
                assert_never(effect)
    return effects


def _answer(state: CallState, answer: Answer, now: float) -> Effects:
    reply = state.replies.find(answer.reply)
    turn = state.replies.turn_of(answer.reply)
    told = ToolLogged(name=answer.name, outcome=answer.outcome, seconds=answer.seconds, turn=turn)
    effects: Effects = [Record(told)]
    if answer.outcome in ("failed", "timeout") and answer.result.get("error") in FAULTS:
        reason = f"{answer.name}: {answer.result['error']}"
        effects.append(Record(FaultLogged(part="tool", reason=reason)))
    if reply is None:
        return effects
    history = state.history.entries()
    if answer.draft:
        said = (Entry("agent", reply.draft_text),) if reply.draft_text else ()
        words = Entry("caller", reply.caller_text or "")
        history = (*history, words, *said, *state.tools.entries(reply.id))
    utterance = 0
    ends = answer.proceed and state.phase == "ending"
    if ends:
        answer = replace(answer, proceed=False)
    if answer.proceed and reply.clock is not None:
        utterance = state.speech.new_id()
        state.waits.reply = now + state.settings.reply_seconds
    effects.append(
        AnswerTool(
            reply.id,
            answer.ask,
            answer.name,
            answer.result,
            answer.proceed,
            utterance,
            history,
            ends,
        )
    )
    return effects


def _perform(state: CallState, wanted: Perform, now: float) -> Effects:
    """Do a built-in that acts on the call itself; what ends the call waits to be heard."""
    arguments = wanted.arguments
    effects: Effects = []
    match wanted.name:
        case "hang_up":
            state.finish_with(HangUp(str(arguments.get("reason") or "agent ended the call")), now)
        case "transfer":
            target, summary = str(arguments.get("target", "")), str(arguments.get("summary", ""))
            to = state.settings.transfers.find(target)
            if to is None:
                return _not_put_through(state, wanted, target, now)
            state.finish_with(Transfer(to, summary), now)
        case "send_keys":
            effects.append(SendKeys(str(arguments.get("keys", ""))))
        case "switch_profile":
            effects.append(ChooseProfile(str(arguments.get("name", "default"))))
        case _:
            raise AssertionError(wanted.name)
    done = ToolAnswered(wanted.ask, {"status": "ok"}, "done", 0.0)
    return effects + answered(state, done, now)


def _not_put_through(state: CallState, wanted: Perform, target: str, now: float) -> Effects:
    """Tell the model whom it may name; the call goes on as if it had not asked."""
    may = state.settings.transfers.said()
    refused = TransferRefusedLogged(target=target[:TARGET_MOST], reason="not in transfers")
    result: Json = {"error": "not_allowed", "message": f"Callers can be put through to: {may}."}
    told = ToolAnswered(wanted.ask, result, "refused", 0.0)
    return [Record(refused), *answered(state, told, now)]
