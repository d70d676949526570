"""How a call speaks: sound into the ledger, on its way when it is due, and what was heard of it.

Runs on the loop and returns at once; what was heard comes back to the call as events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.speech import Speech
from gateway.call.conversation.vocabulary import Event
from gateway.call.hearing import Hearing
from gateway.call.onset import Onsets
from gateway.call.track import Track
from gateway.events import (
    AgentBeganSounding,
    AgentHeard,
    Duck,
    EndUtterance,
    Flush,
    Heard,
    Hold,
    Play,
    PlayoutDry,
    PlayoutFlushed,
    PlayoutStalled,
    PlayoutStarved,
    Record,
    Resume,
)
from gateway.ports import Leg, Witness
from media.playout import Began, Chunk, Dry, Finished, PlayoutEvent, Position, Stalled

DUCK_DB = -14.0
"""How far the agent's voice is lowered while a sound of the caller is judged: clearly given way,
still understood."""

STARVED_SECONDS = 0.5
"""Nothing comes of an unfinished utterance for so long: its model pauses. Models give sound faster
than it is heard, and a pause for breath is shorter."""

QUESTION_SECONDS = 0.1
"""How often it is looked how much of a question was heard; nobody answers one sooner."""

PlayoutEffect = Play | EndUtterance | Duck | Hold | Resume | Flush


class Mouth:
    """Performs what concerns the agent's sound on one leg; decides nothing about it."""

    def __init__(
        self,
        leg: Leg,
        stream: ContinuousStream,
        hearing: Hearing,
        speech: Speech,
        track: Track | None,
        post: Callable[[Event], None],
    ) -> None:
        self._leg = leg
        self._playout = leg.playout
        self._stream = stream
        self._hearing = hearing
        self._speech = speech
        self._track = track
        self._witness = leg.witness
        self._post = post
        self._onsets = Onsets(leg.playout.form)
        self._asker = 0
        "the utterance that the caller hears, or heard last"
        self._asked = False
        "turn-taking knows that a question of it was heard"
        self._question_due = 0.0
        "when it is looked at again how much of one was heard"
        self._empty_since: float | None = None
        self._sent: list[Chunk] = []
        "left in this tick"

    def perform(self, effect: PlayoutEffect, now: float) -> None:
        """Perform one effect."""
        match effect:
            case Play(utterance=utterance, pcm=pcm, payload=payload):
                begins = not self._leg.clocked and self._playout.begins_between_ticks
                self._playout.push(utterance, payload or self._playout.form.encode(pcm))
                if begins:
                    self.send(now, ticks=False)
                    self._note_sent(now)
                self._audible(utterance, self._onsets.push(utterance, pcm, payload))
            case EndUtterance(utterance=utterance):
                self._playout.end(utterance)
            case Duck():
                self._playout.duck(DUCK_DB)
            case Hold(holder="line", since=since):
                self._leave_alone(since)
            case Hold():
                self._hold(now)
            case Resume(holder=holder):
                self._playout.resume(holder)
            case Flush():
                self._flush(now)
            case _:
                assert_never(effect)

    @property
    def silent(self) -> bool:
        """Return whether there is nothing to send and nothing to be noticed."""
        return not self._leg.clocked and self._playout.silent

    def send(self, now: float, *, ticks: bool = True) -> None:
        """Send what is due, at a tick or where sound begins between two."""
        self._sent = self._playout.pull(now, ticks=ticks)
        self._leg.send(self._sent)

    def tick(self, now: float) -> None:
        """Note what was sent, and what was heard by now."""
        sent = self._note_sent(now)
        for event in self._playout.poll(now):
            self._happened(event)
        if now >= self._question_due:
            self._notice_questions(now)
        self._look_for_more(now, sent=sent)
        if self._witness is not None:
            self._caption(self._witness, now)

    def _note_sent(self, now: float) -> bool:
        """Tell those who keep what was sent; say whether anything was."""
        chunks, self._sent = self._sent, []
        if chunks:
            position = self._stream.position(now)
            self._hearing.agent_sent(position, chunks)
            if self._track is not None:
                for chunk in chunks:
                    self._track.went(position, chunk.payload)
        return bool(chunks)

    def _look_for_more(self, now: float, *, sent: bool) -> None:
        """Notice when an utterance is unfinished and nothing more of it comes."""
        if sent:
            self._empty_since = None
            return
        full = self._playout.waiting >= self._playout.frame or "line" in self._playout.holders
        if full or not self._speech.unfinished():
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
        elif now - self._empty_since >= STARVED_SECONDS:
            seconds, self._empty_since = now - self._empty_since, None
            self._post(PlayoutStarved(seconds))

    # --- manners -------------------------------------------------------------------------------

    def _hold(self, now: float) -> None:
        """Be silent now, losing nothing: what the far side has not played comes back here."""
        self._playout.hold("caller")
        if self._playout.rewind(now):
            self._leg.clear()
            self._taken_back(self._stream.position(now))

    def _leave_alone(self, since: float) -> None:
        """Send nothing to where nobody is, and take back what nobody heard."""
        self._playout.hold("line")
        self._sent = []  # it left in this very tick, and comes back with the rest
        if self._playout.take_back(since):
            self._taken_back(self._stream.position(since))

    def hung_up(self, now: float) -> None:
        """The line is down: what was heard until then is all that ever will be."""
        heard = tuple(_heard(position) for position in self._playout.flush(now))
        if heard:
            self._post(PlayoutFlushed(heard, "hang-up"))

    def _flush(self, now: float) -> None:
        heard = tuple(_heard(position) for position in self._playout.flush(now))
        self._leg.clear()
        for each in heard:
            self._audible(each.utterance, self._onsets.over(each.utterance))
        self._taken_back(self._stream.position(now))
        self._hearing.agent_fell()
        self._post(PlayoutFlushed(heard))
        self._observe_fall()

    def _taken_back(self, position: int) -> None:
        self._hearing.taken_back(position)
        if self._track is not None:
            self._track.cleared(position)

    # --- what was heard ------------------------------------------------------------------------

    def _happened(self, event: PlayoutEvent) -> None:
        match event:
            case Began(utterance=utterance, when=when):
                said = self._speech.get(utterance)
                if said is not None:
                    self._asker, self._asked = utterance, False
                    self._hearing.agent_began(said.interruptible)
                if self._witness is not None:
                    self._witness.agent_began()
                self._audible(utterance, self._onsets.began(utterance, when))
            case Finished(position=position):
                self._heard_of(position)
                self._audible(position.utterance, self._onsets.over(position.utterance))
                self._post(AgentHeard(_heard(position)))
            case Dry():
                self._hearing.agent_fell()
                self._observe_fall()
                self._post(PlayoutDry())
            case Stalled(seconds=seconds):
                self._post(PlayoutStalled(seconds))
            case _:
                assert_never(event)

    def _notice_questions(self, now: float) -> None:
        """Tell turn-taking when the caller has heard a question: only then is a yes an answer."""
        self._question_due = now + QUESTION_SECONDS
        said = self._speech.get(self._asker)
        if said is not None and not said.done and (self._asked or said.questions):
            self._heard_of(self._playout.heard(said.id, now))

    def _heard_of(self, position: Position) -> None:
        """Take how much of an utterance was heard."""
        said = self._speech.get(position.utterance)
        if said is None or said.id != self._asker:
            return
        rate = self._leg.info.rate
        asks = said.asking(position.heard / rate, position.queued / rate)
        if asks != self._asked:
            self._asked = asks
            self._hearing.agent_asks(asks, said.question if asks else "")

    def _audible(self, utterance: int, when: float | None) -> None:
        if when is not None:
            self._post(AgentBeganSounding(utterance, when))

    # --- what a page is shown ------------------------------------------------------------------

    def show(self, record: Record) -> None:
        """Tell whoever watches the call what was written to the log."""
        if self._witness is not None:
            self._witness.observe(record.event)

    def _observe_fall(self) -> None:
        if self._witness is not None:
            self._witness.agent_fell()

    def _caption(self, witness: Witness, now: float) -> None:
        """Show the words that were heard by now, and none that were not."""
        rate = self._leg.info.rate
        for utterance in self._speech.sounding():
            position = self._playout.heard(utterance.id, now)
            if position.heard:
                text = utterance.heard_text(position.heard / rate, position.queued / rate)
                witness.caption(utterance.id, text)


def _heard(position: Position) -> Heard:
    return Heard(
        position.utterance,
        position.queued,
        position.heard,
        position.error,
        position.basis,
    )
