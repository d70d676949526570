"""Watches a call with other settings against the recording: keeps the caller in time with it, and
finds where they would have behaved otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.replay.records import Did, Record
from gateway.replay.whatif.replies import NEAR
from gateway.replay.whatif.story import CONTINUES, TAIL, Clock, Past
from gateway.replay.whatif.timeline import STEP, Timeline

PATIENCE = 10.0
"""Seconds for which an answer that came then is waited for now."""

NOTICED = 1.0
"""Seconds after a decision of then by which the same one must have been made now."""


@dataclass(frozen=True, slots=True)
class Diverged:
    """From here on the recording cannot say what the caller would have done."""

    at: float
    "on the recording's clock"
    why: str


@dataclass(slots=True)
class Awaited:
    """The next of what the agent was heard to say then."""

    number: int = 0
    waited: float = 0.0
    "seconds for which the caller was held for it"
    loose: bool = False
    "it cut a turn short then and does not now: that turn is judged to its answer"


class Watch:
    """Told of every beat; holds and skips the caller's time, and says when to stop."""

    def __init__(
        self, past: Past, timeline: Timeline, clock: Clock, kind_of: Callable[[int], str]
    ) -> None:
        """`kind_of` says what an utterance of now is."""
        self.diverged: Diverged | None = None
        self._past = past
        self._sounded = past.sounded
        self._timeline = timeline
        self._clock = clock
        self._kind_of = kind_of
        self._beat = 0.0
        self._claims: list[float] = []
        self._stop_at: float | None = None
        self._read = 0
        "records so far"
        self._awaited = Awaited()
        self._turn_end = 0.0
        "of the latest turn; where it was then"

    @property
    def _now(self) -> float:
        """Return which time of then it is."""
        return self._beat - self._timeline.shift

    def over(self, beat: float) -> bool:
        """Return whether nothing more is to be judged."""
        return self._stop_at is not None and beat >= self._stop_at

    def unknown_tool(self, name: str) -> None:
        """A tool is asked that was not run then."""
        self._diverge(f"tool {name} is asked, which was not then")

    def look(self, noted: Sequence[Record], beat: float) -> None:
        """See what the call did since the last beat."""
        self._beat = beat
        new, self._read = noted[self._read :], len(noted)
        for record in new:
            if isinstance(record, Did):
                self._did(record)
        if self._stop_at is None:
            self._missed()
        if self._stop_at is None:
            self._late()

    def _did(self, record: Did) -> None:
        fields = record.fields
        match record.channel, record.name:
            case "told", "CallerTurnEnded":
                self._turn_end = self._clock.place(fields["ended"]["end"])
            case "told", "AgentBeganSounding":
                if self._kind_of(fields["utterance"]) != "filler":
                    self._begins()
            case "turn", "FloorClaimed":
                self._claimed(self._clock.place(fields["start"]))
            case _:
                pass

    # --- the agent is heard --------------------------------------------------------------------

    def _begins(self) -> None:
        awaited, self._awaited = self._awaited, Awaited(self._awaited.number + 1)
        if awaited.loose:
            self._diverge("the turn that was cut short then is answered now")
            return
        if awaited.number >= len(self._sounded):
            self._diverge("the agent says what it did not say then")
            return
        then = self._sounded[awaited.number]
        end = self._past.end_of(then)
        if end is not None and abs(end - self._turn_end) > NEAR:
            self._diverge("the caller is answered at another pause")
        elif self._now < then.at - STEP and not self._past.goes_on(then):
            since = max(self._now, self._turn_end + TAIL)
            if self._past.voicing.between(since, then.at):
                self._diverge("the caller is answered before they went on")
            else:
                self._timeline.skip(then.at - self._now)

    def _late(self) -> None:
        """The agent spoke by now then: let the caller wait for it, where they did nothing else."""
        awaited = self._awaited
        if awaited.number >= len(self._sounded):
            return
        then = self._sounded[awaited.number]
        if self._now < then.at + 0.01:
            return
        if awaited.loose:
            later = self._sounded[awaited.number + 1 :]
            if later and self._now >= later[0].at:
                self._diverge("the agent said more by then")
        elif self._past.goes_on(then):
            awaited.loose = True
            self.diverged = Diverged(then.at + CONTINUES, "the caller is not cut short")
        elif awaited.waited >= PATIENCE:
            self._diverge("the agent does not say what it said then")
        elif not self._timeline.holding:
            self._timeline.hold(self._beat)
            awaited.waited += STEP

    # --- the caller over the agent ------------------------------------------------------------

    def _claimed(self, start: float) -> None:
        near = [o for o in self._past.story.overlaps if abs(o.start - start) <= NEAR]
        if not any(each.kind == "claim" for each in near):
            self._diverge("the caller takes the floor, who did not then")
        self._claims.append(start)

    def _missed(self) -> None:
        for each in self._past.story.overlaps:
            later = [x.at for x in self._sounded if x.at > each.at]
            late = each.kind == "claim" and self._now > min([each.at + NOTICED, *later])
            if late and not any(abs(each.start - at) <= NEAR for at in self._claims):
                self._diverge("the caller does not get the floor, who did then", each.at)
                return

    def _diverge(self, why: str, at: float | None = None) -> None:
        """Stop once the caller could have noticed; nothing of then is judged from `at` on."""
        if self._stop_at is None:
            self._stop_at = self._beat + CONTINUES
        if self.diverged is None:
            self.diverged = Diverged(self._now + CONTINUES if at is None else at, why)
