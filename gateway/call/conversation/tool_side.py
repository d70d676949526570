"""What is done when the model asks for tools and when they answer, by the tool desk's rules."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import assert_never

from gateway.call.conversation import consent_side, own_tools
from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallState, News
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import Wait
from gateway.call.tools.wants import (
    Answer,
    DeskEffect,
    GiveUp,
    GoOn,
    Judged,
    Perform,
    Remember,
    SayFiller,
    SayProposal,
    TellModel,
)
from gateway.events import (
    AnswerTool,
    CancelReply,
    CancelTool,
    DropDraft,
    Entry,
    Inform,
    Record,
    RunTool,
    ToolAnswered,
    ToolAsked,
)
from gateway.log_events import DraftLogged, FaultLogged, ToolLogged

LOOK_SECONDS = 1.0
"""How often a hang-up that waits for a write looks whether it is over; every write has an end."""

FAILED = ("failed", "timeout", "uncertain")
FAULTS = re.compile("broken|timeout|unreachable|redirected|too_large|compressed|busy|http_5..")
"""Errors that say something of the tool itself and nothing of what it was asked."""


def asked(state: CallState, event: ToolAsked, now: float) -> Effects:
    """The model wants a tool; what comes of a reply that was given up is void."""
    reply = state.replies.find(event.reply)
    if reply is None:
        return []
    spec = next((tool for tool in state.settings.tools if tool.name == event.name), None)
    draft = reply.clock is None
    reply.asked = True
    reply.writes = reply.writes or (spec is not None and spec.effect == "write")
    doubtful = not draft and reply.writes and now < reply.sure_at
    if doubtful:
        # The turn's end was doubtful, and the caller may go on: held until they have not.
        state.waits.until(Wait.SURE, reply.sure_at)
    told = ToolLogged(
        name=event.name,
        ask=event.ask,
        outcome="asked",
        drafted=draft,
        effect=spec.effect if spec else "unknown",
        arguments=event.arguments,
        turn=reply.turn,
    )
    state.waits.stop(Wait.REPLY)  # the desk has its own deadlines while tools run
    effects: Effects = [Record(told)]
    wanted = state.tools.ask(event, spec, draft=draft or doubtful, now=now)
    return effects + do(state, wanted, now)


def answered(state: CallState, event: ToolAnswered, now: float) -> Effects:
    """A tool came back."""
    return do(state, state.tools.answered(event, now), now)


def confirmed(state: CallState, reply: Reply, now: float) -> Effects:
    """The turn this reply answers is over, also where that was doubtful for a while."""
    if reply.writes and now < reply.sure_at:
        state.waits.until(Wait.SURE, reply.sure_at)
        return []
    return do(state, state.tools.confirm(reply.id, now), now)


def interrupted(state: CallState, reply: int, now: float) -> Effects:
    """The reply was given up."""
    return do(state, state.tools.interrupt(reply, now), now)


def dropped(state: CallState, reply: int, now: float) -> Effects:
    """The draft was thrown away."""
    return do(state, state.tools.drop(reply), now)


def drop_draft(state: CallState, why: str, now: float) -> Effects:
    """Throw the draft away, with the reads it began."""
    draft = state.replies.take_draft()
    if draft is None:
        return []
    return [
        *dropped(state, draft.id, now),
        DropDraft(draft.id),
        Record(DraftLogged(outcome="dropped", reply=draft.id, why=why)),
    ]


def time_passed(state: CallState, now: float) -> Effects:
    """A deadline of the desk may have come."""
    return do(state, state.tools.time_passed(now), now)


def call_ended(state: CallState, now: float) -> Effects:
    """The call is over: reads stop, writes finish without it."""
    return do(state, state.tools.call_ended(), now)


def leave(state: CallState, now: float) -> Effects:
    """Do what the call ends with, once no write is under way any more."""
    if state.tools.writes.work.busy:
        state.waits.until(Wait.ENDING, now + LOOK_SECONDS)
        return []
    return state.leave()


def give_up_reply(state: CallState, now: float) -> Effects:
    """Stop the reply that is alive; what it still sends is void."""
    reply, state.replies.current = state.replies.current, None
    state.waits.stop(Wait.REPLY, Wait.FILLER)
    if reply is None:
        return []
    effects = interrupted(state, reply.id, now)
    if reply.generating:
        effects.append(CancelReply(reply.id))
    return effects


def do(state: CallState, desk_effects: list[DeskEffect], now: float) -> Effects:
    """Do what the desk wants done, in order."""
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
            case SayProposal(run=run, text=text):
                effects += consent_side.read_back(state, run, text)
            case Judged():
                effects.append(_judged(effect))
                if effect.verdict in ("agreed", "again") and _silent(state):
                    effects += _silence(state, effect, now)
            case GoOn():
                effects.append(Record(_late(effect)))
                state.consent.news.append(News(effect.run, effect.outcome))
                effects += consent_side.tell(state, now)
            case Answer():
                effects += _answer(state, effect, now)
            case Perform():
                done, told = own_tools.perform(state, effect, now)
                effects += [*done, *answered(state, told, now)]
            case GiveUp():
                effects += give_up_reply(state, now)
                effects.append(Record(FaultLogged(part="model", reason="only tools")))
                effects += state.speak(state.settings.lines.again)
            case _:
                assert_never(effect)
    return effects


def _judged(of: Judged) -> Record:
    told = ToolLogged(name=of.name, ask=of.run, outcome=of.verdict, arguments=of.arguments)
    return Record(told)


def _silence(state: CallState, of: Judged, now: float) -> Effects:
    """The reply to the caller's yes would tell a story: what came of it is told instead."""
    reply = state.replies.current
    if of.verdict == "agreed" and reply is not None:
        state.consent.agreed = reply.clock
    return give_up_reply(state, now)


def _silent(state: CallState) -> bool:
    """Return whether the reply to the caller's answer said nothing yet, and waits for no tool."""
    reply = state.replies.current
    return reply is not None and not reply.spoke and not state.tools.owes(reply.id)


def _late(of: GoOn) -> ToolLogged:
    code = of.result.get("error")
    return ToolLogged(
        name=of.name,
        ask=of.run,
        outcome=of.outcome,
        seconds=of.seconds,
        code=None if code is None else str(code),
        late=True,
    )


def _answer(state: CallState, answer: Answer, now: float) -> Effects:
    reply = state.replies.find(answer.reply)
    code = answer.result.get("error")
    told = ToolLogged(
        name=answer.name,
        ask=answer.run,
        outcome=answer.outcome,
        seconds=answer.seconds,
        question=answer.result.get("question") if answer.outcome == "proposed" else None,
        code=None if code is None else str(code),
        turn=state.replies.turn_of(answer.reply),
    )
    effects: Effects = [Record(told)]
    if answer.outcome in FAILED and FAULTS.fullmatch(str(code)):
        effects.append(Record(FaultLogged(part="tool", reason=f"{answer.name}: {code}")))
    history = state.history.entries()
    if reply is None and not answer.draft:
        # It was given up, and a model that asked still wants to be told what came of it.
        void = AnswerTool(answer.reply, answer.ask, answer.name, answer.result, False, 0, history)
        return [*effects, void]
    if reply is None:
        return effects
    if answer.draft:
        said = (Entry("agent", reply.draft_text),) if reply.draft_text else ()
        words = Entry("caller", reply.caller_text or "")
        history = (*history, words, *said, *state.tools.entries(reply.id))
    utterance = 0
    ends = answer.ends
    if answer.proceed and state.end.phase == "ending":
        ends, answer = True, replace(answer, proceed=False)
    if answer.proceed and reply.clock is not None:
        utterance = state.speech.new_id()
        reply.asked = False
        state.waits.begin(Wait.REPLY, now)
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
