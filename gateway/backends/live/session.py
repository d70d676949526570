"""One GPT-Live session as a pure machine.

The model is full-duplex and owns the turns: it hears everything, and nothing on the wire marks
where an answer of its begins or ends. So an answer begins with the first output after a pause and
ends when none came for a while, counted in frames of the caller's sound, which is this session's
clock. It can be neither stopped nor truncated: what comes of a void answer is dropped until the
model pauses, and what was not heard of it is told in silent words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from gateway.backends.conversion import Conversion
from gateway.backends.live import wire
from gateway.backends.live.settings import LiveSettings
from gateway.backends.session import FINAL_ERRORS, Output, tool_arguments
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendCommand,
    BackendReady,
    BackendTurn,
    CancelReply,
    Disregard,
    Draft,
    DropDraft,
    Entry,
    Inform,
    Json,
    Listen,
    ReplyEnded,
    ReplyText,
    Respond,
    ToolAsked,
    Truncate,
    UsageReported,
    UtteranceEnded,
)
from gateway.ports import BackendStart
from media.frame import AudioFrame

QUIET_SECONDS = 0.7
"""No output for so long: the answer is over. Pauses between sentences of one answer are shorter,
and a caller who is answered again after it waits no longer for that."""

DROPPED_SECONDS = 0.3
"""No output for so long: what is dropped is over, and what comes next answers the caller anew.
Shorter than the other, so that the beginning of that answer is not lost."""

CALLER_SECONDS = 1.5
"""No words of the caller for so long: they pause."""

USAGE_SECONDS = 60.0
"""The server says often how long the session lasts; the log is told every minute."""

ALONE = (
    "No system stands behind this conversation: nothing can be looked up or changed. "
    "Say so in a few words and go on with what you know."
)


@dataclass(slots=True)
class _Reply:
    id: int
    turn: int
    utterance: int
    text: str = ""
    sounded: bool = False
    "its present utterance has sound"
    tools: set[str] = field(default_factory=set)
    expects_more: bool = False
    "what a tool gave is about to be spoken of"


class LiveSession:
    """Decides what is sent and what the call is told; knows no socket and no clock of its own."""

    def __init__(
        self,
        start: BackendStart,
        settings: LiveSettings,
        sound: Conversion,
    ) -> None:
        """`sound` converts between the line's form and the model's."""
        self._start = start
        self._settings = settings
        self._converted = sound
        self._ready = False
        self._reply: _Reply | None = None
        self._held: list[wire.ServerEvent] = []
        "output of an answer that the call has yet to give its numbers"
        self._announced = False
        self._dropping = False
        self._quiet = 0
        "samples of the caller's sound since the last output"
        self._said = ""
        "the caller's words since the last answer"
        self._unsaid = 0
        "samples since the caller's last words"
        self._speaking = False
        self._tools: dict[str, int] = {}
        "unanswered requests of the Responses model, with the replies they belong to"
        self._usage_told = 0.0

    @property
    def ready(self) -> bool:
        """The server has taken the configuration."""
        return self._ready

    @property
    def busy(self) -> bool:
        """A turn or a reply is under way."""
        return self._reply is not None or self._announced or self._speaking or bool(self._tools)

    def opening(self) -> list[str]:
        """Begin with the whole configuration."""
        return [wire.start(self._start, self._settings)]

    def catch_up(self, said: tuple[Entry, ...]) -> list[str]:
        """Write what was said meanwhile as thoughts."""
        return [wire.think(f"{entry.role}: {entry.text or dict(entry.data)}") for entry in said]

    def closing(self) -> list[str]:
        """Say goodbye; nothing may be said before the session has begun."""
        return [wire.CLOSE] if self._ready else []

    # --- sound ---------------------------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> Output | None:
        """Take the caller's sound, which is also how time passes here."""
        output = Output()
        if self._ready:
            output.send.append(wire.append_audio(self._converted.frame_to_model(frame)))
        samples = frame.end - frame.start
        self._quiet += samples
        self._unsaid += samples
        rate = self._start.info.rate
        if self._speaking and self._unsaid >= CALLER_SECONDS * rate:
            self._speaking = False
            output.emit.append(BackendTurn("speech_stopped"))
        if self._dropping and self._quiet >= DROPPED_SECONDS * rate:
            self._dropping = False
        if self._quiet >= QUIET_SECONDS * rate:
            self._pause(output)
        return output

    def _pause(self, output: Output) -> None:
        """The model has paused: its utterance is over, and its answer unless a tool is awaited."""
        reply = self._reply
        if reply is None:
            return
        if reply.sounded:
            reply.sounded = False
            rest = self._converted.rest_to_line()
            if rest:
                output.emit.append(AgentAudio(reply.id, reply.utterance, rest))
            output.emit.append(UtteranceEnded(reply.id, reply.utterance, reply.text))
            reply.text, reply.utterance = "", 0
        elif reply.utterance:
            return  # it has not begun to speak; the call knows how long to wait
        if not reply.tools and not reply.expects_more:
            self._reply = None
            output.emit.append(ReplyEnded(reply.id))

    # --- commands ------------------------------------------------------------------------------

    def perform(self, command: BackendCommand) -> Output:
        """Take a command of the call."""
        output = Output()
        match command:
            case Respond():
                self._respond(output, command)
            case CancelReply(reply=reply):
                if self._reply is not None and self._reply.id == reply:
                    self._reply = None
                    self._converted.rest_to_line()
                    self._dropping = True
                    self._quiet = 0
            case Truncate(heard_text=heard):
                said = f'only: "{heard}"' if heard else "nothing"
                output.send.append(
                    wire.think(f"The caller cut in. Of your last words they heard {said}.")
                )
            case Inform(text=text):
                output.send.append(wire.think(text))
            case AnswerTool():
                self._answer_tool(output, command)
            case Listen() | Disregard() | Draft() | DropDraft():
                pass  # the model hears everything and judges itself
            case _:
                assert_never(command)
        return output

    def _respond(self, output: Output, command: Respond) -> None:
        self._reply = _Reply(command.reply, command.turn, command.utterance)
        self._announced = self._dropping = False
        if command.text:
            written = f'The caller wrote: "{command.text}". Answer them now.'
            output.send.append(wire.instruct(written))
        elif command.again:
            output.send.append(wire.instruct("Answer what the caller said last, now."))
        self._said = output.tell_words(self._reply.turn, self._said)
        held, self._held = self._held, []
        for event in held:
            try:
                self._take(output, event)
            except ValueError as wrong:  # sound that is no base64
                output.complaint = {"code": "bad_event", "message": str(wrong)[:200]}

    def _answer_tool(self, output: Output, command: AnswerTool) -> None:
        reply = self._reply
        if self._tools.pop(command.ask, None) is not None:
            output.send.append(wire.tool_answer(command.ask, command.result))
            if not self._tools and not command.ends:
                output.send.append(wire.GO_ON)
        if reply is not None and reply.id == command.reply:
            reply.tools.discard(command.ask)
            if command.proceed:
                reply.expects_more = True
                if not reply.sounded:
                    reply.utterance = command.utterance
        if command.ends:
            self._reply = None
            output.emit.append(ReplyEnded(command.reply))

    # --- server events ---------------------------------------------------------------------------

    def receive(self, message: bytes) -> Output:
        """Take an event of the server; raises ValueError for what is none."""
        output = Output()
        event = wire.parse(message)
        match event:
            case wire.Started():
                self._ready = True
                output.emit.append(BackendReady(self._settings.name))
            case wire.Closed(reason=reason, usage=usage):
                output.emit.append(UsageReported(usage))
                output.lost = f"the session was closed: {reason}"
            case wire.CallerText(delta=delta):
                self._said += delta
                self._unsaid = 0
                if not self._speaking:
                    self._speaking = True
                    output.emit.append(BackendTurn("speech_started"))
            case wire.Sound() | wire.AgentText() | wire.ResponseEvent():
                self._output(output, event)
            case wire.Delegated(delegation=delegation):
                if delegation.target == "client":
                    output.send.append(wire.comment(ALONE, delegation.id))
                    said = 'work was delegated and nobody does it: delegation is "client"'
                    output.complaint = {"code": "delegation", "message": said}
            case wire.Usage(usage=usage):
                self._usage(output, usage)
            case wire.Error(error=error):
                output.complaint = {"code": error.code, "message": error.message[:200]}
                if error.code in FINAL_ERRORS or not self._ready:
                    what = "" if self._ready else f" a session of {self._settings.model}"
                    output.lost = f"the server refused{what}: {error.message or error.code}"[:200]
            case wire.Unknown():
                pass
            case _:
                assert_never(event)
        return output

    def _usage(self, output: Output, usage: Json) -> None:
        seconds = usage.get("seconds")
        if isinstance(seconds, int | float) and seconds >= self._usage_told + USAGE_SECONDS:
            self._usage_told = float(seconds)
            output.emit.append(UsageReported(usage))

    def _output(
        self, output: Output, event: wire.Sound | wire.AgentText | wire.ResponseEvent
    ) -> None:
        """Take output of the model: of the answer that is alive, of a void one, or of a new one."""
        work = isinstance(event, wire.ResponseEvent)
        if work and _tool_of(event) is None:
            return
        if not work:
            self._quiet = 0
            if self._dropping:
                return
        if self._reply is None:
            if not self._announced:
                self._announced = True
                self._speaking = False
                output.emit.append(BackendTurn("ended"))
            self._held.append(event)
            return
        self._take(output, event)

    def _take(self, output: Output, event: wire.ServerEvent) -> None:
        reply = self._reply
        assert reply is not None
        match event:
            case wire.Sound():
                self._sound(output, reply, event.sound())
            case wire.AgentText(delta=delta):
                reply.text += delta
                output.emit.append(ReplyText(reply.id, self._utterance(reply), delta))
            case wire.ResponseEvent():
                call = _tool_of(event)
                assert call is not None
                self._said = output.tell_words(reply.turn, self._said)
                reply.tools.add(call.call_id)
                self._tools[call.call_id] = reply.id
                asked = ToolAsked(reply.id, call.call_id, call.name, tool_arguments(call.arguments))
                output.emit.append(asked)
            case _:
                raise AssertionError(event)

    def _sound(self, output: Output, reply: _Reply, sound: bytes) -> None:
        utterance = self._utterance(reply)
        reply.sounded = True
        reply.expects_more = False
        heard = self._converted.to_line(sound)
        output.emit.append(AgentAudio(reply.id, utterance, heard.pcm, payload=heard.payload))

    def _utterance(self, reply: _Reply) -> int:
        if not reply.utterance:
            reply.utterance = self._start.next_utterance()
        return reply.utterance


def _tool_of(event: wire.ServerEvent) -> wire.Item | None:
    """Find the complete request for a tool in an event of the Responses model."""
    if not isinstance(event, wire.ResponseEvent):
        return None
    nested = event.event
    if nested.type != "response.output_item.done" or nested.item is None:
        return None
    return nested.item if nested.item.type == "function_call" else None
