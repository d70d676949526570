"""Watches a call with other settings against the recording: keeps the caller in time with it, and
finds where they would have behaved otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.replay.records import Did, Record
from gateway.replay.whatif.replies import NEAR
from gateway.replay.whatif.story import CONTINUES, Clock, Sounded, Story, Voicing
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


class Watch:
    """Told of every beat; holds and skips the caller's time, and says when to stop."""

    def __init__(
        self,
        then: Story,
        voicing: Voicing,
        timeline: Timeline,
        clock: Clock,
        kind_of: Callable[[int], str],
    ) -> None:
        """`kind_of` says what an utterance of now is."""
        self.diverged: Diverged | None = None
        self._kind_of = kind_of
        self._beat = self._now = 0.0
        "of this beat: as it is now, and as it was then"
        self._claims: list[float] = []
        self._stop_at: float | None = None
        self._then = then
        self._sounded = [each for each in then.sounded if each.kind != "filler"]
        self._voicing = voicing
        self._timeline = timeline
        self._clock = clock
        self._read = 0
        self._heard = 0
        "utterances that began now, without fillers"
        self._waited = 0.0
        self._loose = False
        "a turn that was cut short then is not now: it is judged to its answer"
        self._turn_end = 0.0
        self._gone = False

    def over(self, beat: float) -> bool:
        """Return whether nothing more is to be judged."""
        stopped = self._stop_at is not None and beat >= self._stop_at
        return stopped or (self._gone and self._timeline.over)

    def unknown_tool(self, name: str) -> None:
        """A tool is asked that was not run then."""
        self._diverge(f"tool {name} is asked, which was not then")

    def look(self, noted: Sequence[Record], beat: float) -> None:
        """See what the call did since the last beat."""
        self._beat, self._now = beat, beat - self._timeline.shift
        new, self._read = noted[self._read :], len(noted)
        for record in new:
            if isinstance(record, Did):
                self._did(record)
        if self._stop_at is None:
            self._late()
            self._missed()

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
            case ("leg", "hang_up") | ("log", "call_ended"):
                self._gone = True
            case _:
                pass

    # --- the agent is heard --------------------------------------------------------------------

    def _begins(self) -> None:
        number, self._heard, self._waited = self._heard, self._heard + 1, 0.0
        if self._loose:
            self._diverge("the turn that was cut short then is answered now")
            return
        if number >= len(self._sounded):
            self._diverge("the agent says what it did not say then")
            return
        then = self._sounded[number]
        end = self._end_of(then)
        if end is not None and abs(end - self._turn_end) > NEAR:
            self._diverge("the caller is answered at another pause")
        elif self._now < then.at - STEP and not self._goes_on(then):
            if self._voicing.between(max(self._now, self._turn_end + 0.2), then.at):
                self._diverge("the caller is answered before they went on")
            else:
                self._timeline.skip(then.at - self._now)

    def _late(self) -> None:
        """The agent spoke by now then: let the caller wait for it, where they did nothing else."""
        if self._heard >= len(self._sounded):
            return
        then = self._sounded[self._heard]
        if self._now < then.at + 0.01 or self._gone:
            return
        if self._loose:
            later = self._sounded[self._heard + 1 :]
            if later and self._now >= later[0].at:
                self._diverge("the agent said more by then")
            return
        if self._goes_on(then):
            self._loose = True
            self.diverged = Diverged(then.at + CONTINUES, "the caller is not cut short")
            return
        if self._waited >= PATIENCE:
            self._diverge("the agent does not say what it said then")
        elif not self._timeline.holding:
            self._timeline.hold(self._beat)
            self._waited += STEP

    def _end_of(self, sounded: Sounded) -> float | None:
        return next((t.end for t in self._then.turns if t.number == sounded.turn), None)

    def _goes_on(self, sounded: Sounded) -> bool:
        """Return whether the caller went on at once, having heard nothing of the answer."""
        end = self._end_of(sounded)
        return end is not None and self._voicing.goes_on(end, sounded.at)

    # --- the caller over the agent ------------------------------------------------------------

    def _claimed(self, start: float) -> None:
        near = [o for o in self._then.overlaps if abs(o.start - start) <= NEAR]
        if not any(each.kind == "claim" for each in near):
            self._diverge("the caller takes the floor, who did not then")
        self._claims.append(start)

    def _missed(self) -> None:
        for each in self._then.overlaps:
            late = each.kind == "claim" and self._now > each.at + NOTICED
            if late and not any(abs(each.start - at) <= NEAR for at in self._claims):
                self._diverge("the caller does not get the floor, who did then")
                return

    def _diverge(self, why: str) -> None:
        """Stop once the caller could have noticed."""
        if self._stop_at is None:
            self._stop_at = self._beat + CONTINUES
        if self.diverged is None:
            self.diverged = Diverged(self._now + CONTINUES, why)
