"""What the caller is asked before something is done, what they answer, and what they are told."""

from __future__ import annotations

from gateway.call.conversation.beginning import respond_again
from gateway.call.conversation.replies import Reply
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import Wait
from gateway.events import ChooseProfile


def read_back(state: CallState, run: str, text: str) -> Effects:
    """Return what is about to be done, and listen for a yes."""
    patience = state.settings.patience("", "yes_no")
    return [*state.speak(text, "proposal", run), ChooseProfile(patience, "yes_no")]


def hush(state: CallState) -> None:
    """Say no more of a read-back of which nothing was heard yet."""
    for utterance in state.speech.abandon():
        state.history.cut(utterance.id, "")


def answering(state: CallState, reply: Reply, now: float) -> None:
    """A turn of the caller has ended: it is the answer to what they are being asked."""
    state.consent.agreed = None
    for news in state.consent.news:
        news.tried = True  # the reply to this turn knows of it
    open_ = state.tools.writes.open
    if open_ is None:
        return
    hush(state)
    reply.proposal, reply.proposal_heard = open_.run, state.consent.proposed == open_.run
    state.tools.writes.answering(reply.id)
    if state.traits.wants_transcript:
        state.waits.begin(Wait.WORDS, now)


def tell(state: CallState, now: float) -> Effects:
    """Have the model tell what came of a write, where nobody speaks; else it is told after that."""
    if not state.consent.news:
        return []
    if state.end.phase == "ending":
        return _tell_ourselves(state)
    busy = state.replies.current is not None or bool(state.speech.sounding())
    if busy or state.caller.speaking or state.hold.since is not None:
        return []
    if all(news.tried for news in state.consent.news):
        return _tell_ourselves(state)
    since, state.consent.agreed = state.consent.agreed, None
    effects = respond_again(state, now, since)
    reply = state.replies.current
    assert reply is not None
    for news in state.consent.news:
        news.tried = True
        state.tools.writes.work.follow(news.run, reply.id)
    return effects


def told(state: CallState) -> None:
    """The model is heard: what it knew of is told."""
    state.consent.news = [news for news in state.consent.news if not news.tried]


def reply_ended(state: CallState, reply: Reply) -> Effects:
    """The model has said all it wants to; where it was silent of what it knew, we tell it."""
    if not reply.spoke and any(news.tried for news in state.consent.news):
        return _tell_ourselves(state)
    return []


def _tell_ourselves(state: CallState) -> Effects:
    lines = state.settings.lines
    effects: Effects = []
    for news in state.consent.news:
        match news.outcome:
            case "done":
                effects += state.speak(lines.done)
            case "timeout":
                effects += state.speak(lines.filler, "filler")
            case "uncertain":
                effects += state.speak(lines.unsure)
            case "failed" | "refused" | "cancelled":
                effects += state.speak(lines.failed)
    state.consent.news.clear()
    return effects
