"""Watches a call at its ports, and notes what goes through them; changes nothing of it.

All of a call that is noted in one round of the loop has one time, which the call is told too: so
the same call can be told the same times again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

import msgspec

from gateway.call.assembly import OpenDetector, OpenVoice, Parts
from gateway.call.call import CallLog
from gateway.call.conversation.vocabulary import Event
from gateway.call.saying import FixedLine, FixedLineBook
from gateway.call.senses import Taking, TurnStream, VoiceStream
from gateway.call.tool_runs import Toolbox
from gateway.events import (
    AgentBeganSounding,
    AgentHeard,
    BackendCommand,
    CallerClaimed,
    CallerTurnEnded,
    CallInfo,
    EndAsked,
    PlayoutDry,
    PlayoutFlushed,
    RunTool,
    ToolAnswered,
    TransferAsked,
)
from gateway.log_events import DeedLogged, LogEvent, fields_of, name_of
from gateway.ports import (
    Backend,
    BackendEvent,
    BackendStart,
    BackendTraits,
    Ear,
    Leg,
    LineEvent,
    Page,
    Witness,
)
from gateway.replay import records
from gateway.replay.records import Channel, Did, Record, chunks_apart, command_apart, taken_apart
from media.frame import AudioFrame, Samples
from media.playout import Chunk, Playout
from turn.events import TurnAssessed, TurnInput, TurnOutput, VoiceScored

TOLD = (
    CallerTurnEnded | CallerClaimed | AgentBeganSounding | AgentHeard | PlayoutFlushed | PlayoutDry
)
"""What the conversation learns and no port shows."""


class Notes:
    """Notes records of one call, each with the time that the call is told."""

    def __init__(self, note: Callable[[Record], None], clock: Callable[[], float]) -> None:
        """`clock` gives the time of this round of the loop."""
        self.note = note
        self.now = clock
        self.asking = 0
        "how many deep ports are being asked for something"

    @property
    def inside(self) -> bool:
        """Return whether what comes now comes from within what a port was asked."""
        return self.asking > 0

    def did(self, channel: Channel, name: str, fields: dict[str, object]) -> None:
        """Note what the call did."""
        self.note(Did(self.now(), channel, name, fields))


class Within:
    """For as long as a port is asked for something."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def __enter__(self) -> None:
        self._notes.asking += 1

    def __exit__(self, *_: object) -> None:
        self._notes.asking -= 1


class RoundClock:
    """The loop's time, the same for all that is done in one round of the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._now: float | None = None

    def __call__(self) -> float:
        """Return the time of this round."""
        if self._now is None:
            self._now = self._loop.time()
            self._loop.call_soon(self._pass)
        return self._now

    def at_least(self, now: float) -> None:
        """Go on to a time that was read since: a loop may rest within a round."""
        if self._now is not None and now > self._now:
            self._now = now

    def _pass(self) -> None:
        self._now = None


class TappedCourse:
    """The time of a call that is watched."""

    def __init__(self, notes: Notes, clock: RoundClock | None) -> None:
        """`clock` is None where the time is told by somebody else."""
        self._notes = notes
        self._clock = clock

    def now(self) -> float:
        """Return the time of this round of the loop."""
        return self._notes.now()

    def sending(self, now: float) -> None:
        """Note a beat."""
        self._pass(now)
        self._notes.note(records.Beat(self._notes.now(), "send", now))

    def ticking(self, now: float) -> None:
        """Note a beat."""
        self._pass(now)
        self._notes.note(records.Beat(self._notes.now(), "tick", now))

    def asked(self, event: EndAsked | TransferAsked) -> None:
        """Note what the operator's side wants of the call."""
        now = self._notes.now()
        match event:
            case EndAsked(line=line, reason=reason):
                self._notes.note(records.Asked(now, line, reason))
            case TransferAsked(target=target, summary=summary):
                self._notes.note(records.PutThrough(now, target, summary))
            case _:
                assert_never(event)

    def posted(self, event: Event) -> None:
        """Note what the conversation is told, where nothing else shows it."""
        if isinstance(event, TOLD):
            self._notes.did("told", type(event).__name__, taken_apart(event))

    def _pass(self, now: float) -> None:
        if self._clock is not None:
            self._clock.at_least(now)


# --- the leg -----------------------------------------------------------------------------------


class TappedEar:
    """What the line calls."""

    def __init__(self, ear: Ear, notes: Notes) -> None:
        self._ear = ear
        self._notes = notes

    def hear(self, frame: AudioFrame) -> None:
        """Note a frame and pass it on."""
        notes = self._notes
        notes.note(
            records.Sound(
                notes.now(), frame.start, frame.pcm, frame.payload, frame.codec, notes.inside
            )
        )
        self._ear.hear(frame)

    def notice(self, event: LineEvent) -> None:
        """Note an event and pass it on."""
        notes = self._notes
        notes.note(
            records.Line(notes.now(), type(event).__name__, taken_apart(event), notes.inside)
        )
        self._ear.notice(event)


class TappedLeg:
    """A leg that is watched in both directions."""

    def __init__(self, leg: Leg, notes: Notes) -> None:
        self._leg = leg
        self._notes = notes
        self._reads = 0
        self._behind = 0.0
        self.info: CallInfo = leg.info
        self.playout: Playout = leg.playout
        self.clocked = leg.clocked
        self.cancels_echo = leg.cancels_echo
        leg.playout.overhear = self._overhear

    @property
    def page(self) -> Page | None:
        """Return the page that the caller is on; what it does is noted with the tools."""
        return self._leg.page

    @property
    def witness(self) -> Witness | None:
        """Return the leg's own."""
        return self._leg.witness

    def behind(self) -> float:
        """Return what the leg says, and note it where that is new."""
        self._reads += 1
        seconds = self._leg.behind()
        if seconds != self._behind:
            self._behind = seconds
            self._notes.note(records.Behind(self._notes.now(), self._reads, seconds))
        return seconds

    def attach(self, ear: Ear) -> None:
        """Watch what the ear is given."""
        with Within(self._notes):
            self._leg.attach(TappedEar(ear, self._notes))

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Note what leaves."""
        if chunks:
            self._notes.did("sent", "send", chunks_apart(list(chunks)))
        with Within(self._notes):
            self._leg.send(chunks)

    def poll(self, now: float) -> None:
        """Watch what the leg gives meanwhile."""
        with Within(self._notes):
            self._leg.poll(now)

    def clear(self) -> None:
        """Note that the far side is cleared."""
        self._ask("clear", {})
        with Within(self._notes):
            self._leg.clear()

    def send_keys(self, keys: str) -> None:
        """Note that keys are pressed."""
        self._ask("send_keys", {"keys": keys})
        with Within(self._notes):
            self._leg.send_keys(keys)

    def transfer(self, target: str, summary: str) -> None:
        """Note that the caller is handed on."""
        self._ask("transfer", {"target": target, "summary": summary})
        with Within(self._notes):
            self._leg.transfer(target, summary)

    def hang_up(self, reason: str) -> None:
        """Note that the call is ended."""
        self._ask("hang_up", {"reason": reason})
        with Within(self._notes):
            self._leg.hang_up(reason)

    def _ask(self, name: str, fields: dict[str, object]) -> None:
        self._notes.did("leg", name, fields)

    def _overhear(self, what: str, values: tuple[float | None, ...]) -> None:
        notes = self._notes
        notes.note(records.Far(notes.now(), what, values, self.playout.basis, notes.inside))


# --- hearing -----------------------------------------------------------------------------------


def tapped_voice(open_: OpenVoice, notes: Notes) -> OpenVoice:
    """Watch the windows that voice activity judges."""

    def opened(hear: Callable[[VoiceScored], None]) -> VoiceStream:
        def heard(window: VoiceScored) -> None:
            notes.note(
                records.Voice(
                    notes.now(),
                    window.start,
                    window.end,
                    window.probability,
                    window.level,
                    window.fault,
                )
            )
            hear(window)

        return TappedVoice(open_(heard), notes)

    return opened


class TappedVoice:
    """Voice activity's place of one call; it is given back when the call is over."""

    def __init__(self, stream: VoiceStream, notes: Notes) -> None:
        self._stream = stream
        self._notes = notes

    def feed(self, samples: Samples) -> None:
        """Pass sound on."""
        self._stream.feed(samples)

    def close(self) -> None:
        """Note that the call is over."""
        self._notes.note(records.Closed(self._notes.now()))
        self._stream.close()


class TappedDetector:
    """The turn detector's place of one call."""

    def __init__(self, stream: TurnStream, notes: Notes) -> None:
        self._stream = stream
        self._notes = notes

    def feed(self, samples: Samples) -> None:
        """Pass sound on."""
        self._stream.feed(samples)

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        """Note the answer."""
        asked = self._notes.now()
        answer = await self._stream.assess(start, at, due_seconds)
        self._notes.note(
            records.Judged(
                self._notes.now(),
                start,
                at,
                answer.probability,
                answer.queue_seconds,
                answer.model_seconds,
                answer.fault,
                asked,
            )
        )
        return answer

    def close(self) -> None:
        """Let go of the sound."""
        self._stream.close()


def tapped_detector(open_: OpenDetector, notes: Notes) -> OpenDetector:
    """Watch the turn detector's answers."""
    return lambda recent: TappedDetector(open_(recent), notes)


class TappedTaking:
    """Turn-taking, of which what it decides is noted."""

    def __init__(self, taking: Taking, notes: Notes) -> None:
        self._taking = taking
        self._notes = notes

    def handle(self, event: TurnInput) -> list[TurnOutput]:
        """Note what follows."""
        outputs = self._taking.handle(event)
        for output in outputs:
            self._notes.did("turn", type(output).__name__, taken_apart(output))
        return outputs


# --- who answers -------------------------------------------------------------------------------


class TappedBackend:
    """A backend that is watched in both directions."""

    def __init__(self, backend: Backend, name: str, notes: Notes) -> None:
        self.traits: BackendTraits = backend.traits
        self._backend = backend
        self._notes = notes
        notes.note(records.Opened(notes.now(), name, msgspec.to_builtins(backend.traits)))

    async def run(self, start: BackendStart, emit: Callable[[BackendEvent], None]) -> None:
        """Watch what it tells."""

        def told(event: BackendEvent) -> None:
            notes = self._notes
            notes.note(
                records.Said(notes.now(), type(event).__name__, taken_apart(event), notes.inside)
            )
            emit(event)

        await self._backend.run(start, told)

    def hear(self, frame: AudioFrame) -> None:
        """Pass sound on."""
        with Within(self._notes):
            self._backend.hear(frame)

    def perform(self, command: BackendCommand) -> None:
        """Note what it is asked."""
        self._notes.did("backend", type(command).__name__, command_apart(command))
        with Within(self._notes):
            self._backend.perform(command)

    async def words(self, start: int, end: int) -> str | None:
        """Note the words that it gives."""
        asked, text, failure = self._notes.now(), None, "cancelled"
        try:
            text = await self._backend.words(start, end)
            failure = ""
        except OSError as error:
            failure = str(error) or type(error).__name__
            raise
        finally:
            if failure != "cancelled":
                now = self._notes.now()
                self._notes.note(records.Words(now, start, end, text, failure, asked))
        return text

    def done(self, at: int) -> float | None:
        """Note its judgement of a pause."""
        found = self._backend.done(at)
        self._notes.note(records.Advised(self._notes.now(), at, found))
        return found


class TappedBook:
    """The fixed lines."""

    def __init__(self, book: FixedLineBook, notes: Notes) -> None:
        self._book = book
        self._notes = notes

    def ready(self, text: str, rate: int) -> FixedLine | None:
        """Note whether the line was there."""
        line = self._book.ready(text, rate)
        sound = None if line is None else line.pcm
        words = () if line is None else tuple(line.words)
        self._notes.note(records.Ready(self._notes.now(), text, sound, words))
        return line

    async def render(self, text: str, rate: int) -> FixedLine:
        """Note the line when it is there."""
        asked = self._notes.now()
        try:
            line = await self._book.render(text, rate)
        except OSError as error:
            told = str(error) or type(error).__name__
            self._notes.note(records.Rendered(self._notes.now(), text, b"", (), told, asked))
            raise
        self._notes.note(
            records.Rendered(self._notes.now(), text, line.pcm, tuple(line.words), "", asked)
        )
        return line


class TappedTools:
    """Where tools are run."""

    def __init__(self, tools: Toolbox, notes: Notes) -> None:
        self._tools = tools
        self._notes = notes

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Note what a tool gives."""
        asked = self._notes.now()
        answer = await self._tools.run(effect)
        self._notes.note(
            records.Tool(
                self._notes.now(),
                effect.ask,
                effect.name,
                dict(answer.result),
                answer.outcome,
                asked,
            )
        )
        return answer


class TappedLog:
    """The call log."""

    def __init__(self, log: CallLog, notes: Notes) -> None:
        self._log = log
        self._notes = notes

    def write(self, event: LogEvent) -> None:
        """Note a line; those of writes apart, which run beside the rest."""
        channel: Channel = "deed" if isinstance(event, DeedLogged) else "log"
        self._notes.did(channel, name_of(event), fields_of(event))
        self._log.write(event)


def tapped(parts: Parts, notes: Notes, clock: RoundClock | None) -> Parts:
    """Return the same parts, of which everything is noted."""

    def backend(name: str) -> Backend:
        return TappedBackend(parts.backend(name), name, notes)

    def may_place() -> bool:
        allowed = parts.may_place()
        notes.note(records.Place(notes.now(), allowed))
        return allowed

    return replace(
        parts,
        leg=TappedLeg(parts.leg, notes),
        taking=TappedTaking(parts.taking, notes),
        voice=tapped_voice(parts.voice, notes),
        detector=None if parts.detector is None else tapped_detector(parts.detector, notes),
        backend=backend,
        lines=TappedBook(parts.lines, notes),
        tools=TappedTools(parts.tools, notes),
        log=TappedLog(parts.log, notes),
        may_place=may_place,
        course=TappedCourse(notes, clock),
    )
