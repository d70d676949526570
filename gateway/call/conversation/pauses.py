"""A model that pauses while it speaks: what was said is one utterance, the rest is another one.

So whatever the gateway says meanwhile is heard at once, and no sentence is lost for a pause in it.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.call.conversation.replies import Reply
from gateway.call.conversation.speech import Utterance
from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Effects
from gateway.call.conversation.waits import SILENCE_SECONDS, Wait
from gateway.events import AgentAudio, EndUtterance, Truncate


def starved(state: CallState, seconds: float, now: float) -> Effects:
    """End what the model does not go on with for now, and bridge the wait for the rest."""
    effects: Effects = []
    for paused in state.speech.pause():
        state.history.paused(paused.id, paused.text)
        effects.append(EndUtterance(paused.id))
    if effects and state.replies.current is not None and Wait.REPLY in state.waits:
        state.waits.begin(Wait.REPLY, now - seconds)
        state.waits.until(Wait.FILLER, now - seconds + SILENCE_SECONDS)
    return effects


def present(state: CallState, reply: Reply, number: int) -> Utterance:
    """Return the utterance here that one of the model's is, or goes on as."""
    found, unsaid = state.speech.present(number or reply.utterance, reply.turn, reply.id)
    if unsaid:
        state.history.agent(found.id, unsaid)
    return found


def take(state: CallState, utterance: Utterance, sound: AgentAudio) -> None:
    """Take sound of an utterance, with its words, whose times begin with it here."""
    given = utterance.given
    before = 0.0 if given.after is None else state.seconds(given.after.samples)
    utterance.words.extend(
        replace(w, start=w.start - before, end=w.end - before) if before else w for w in sound.words
    )
    given.samples += len(sound.pcm) // 2 or len(sound.payload)
    utterance.sound = True


def truncate(state: CallState, utterance: Utterance, seconds: float, text: str) -> Truncate:
    """Return what was heard in the model's own count, which knows no pauses."""
    after = utterance.given.after
    if after is None:
        return Truncate(utterance.id, seconds, text)
    return Truncate(after.source, state.seconds(after.samples) + seconds, text)
