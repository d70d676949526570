"""One Nova Sonic session as a pure machine.

The model owns the turns and hears everything; nothing can be cancelled or truncated. What is
void is dropped here: the blocks that were open when the caller cut in, and what follows until the
model has noticed. It tells of a cut-in in three shapes, of which the first counts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import assert_never

from gateway.backends.conversion import Conversion
from gateway.backends.nova import wire
from gateway.backends.nova.settings import NovaSettings
from gateway.backends.session import Output, tool_arguments
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

PIECE_SECONDS = 0.06
"""Sound of one event: Amazon's SDK takes half a millisecond of the loop to sign and send each, and
a service that waits 1.5 s for the end of a turn is not slowed by two frames."""

SPOKEN = wire.Text | wire.Audio | wire.ToolUse
"""Events that belong to an answer."""


@dataclass(slots=True)
class _Reply:
    id: int
    turn: int
    utterance: int
    text: str = ""
    sounded: bool = False
    tools: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Block:
    role: str
    stage: str
    void: bool = False


class NovaSession:
    """Decides what is sent and what the call is told; knows no stream and no clock."""

    def __init__(
        self,
        start: BackendStart,
        settings: NovaSettings,
        rate: int,
        sound: Conversion,
    ) -> None:
        """`rate` is the model's; `sound` converts between the line's form and that."""
        self._start = start
        self._settings = settings
        self._rate = rate
        self._converted = sound
        self._unsent = bytearray()
        "the caller's sound until it makes up a piece"
        self._told_ready = False
        self._reply: _Reply | None = None
        self._held: list[wire.ServerEvent] = []
        "an answer that the call has yet to give its numbers"
        self._announced = False
        self._blocks: dict[str, _Block] = {}
        self._given_up = False
        "the call gave an answer up and the model has not noticed"
        self._said = ""
        self._names = itertools.count(1)
        self._usage: wire.Usage | None = None

    @property
    def ready(self) -> bool:
        """The service says nothing before it is spoken to: an open stream is a ready one."""
        return True

    @property
    def busy(self) -> bool:
        """A turn or a reply is under way."""
        return self._reply is not None or self._announced or bool(self._said)

    def opening(self) -> list[str]:
        """Begin with the configuration, the instructions and the conversation so far."""
        return wire.opening(self._start, self._settings, self._rate)

    def catch_up(self, said: tuple[Entry, ...]) -> list[str]:
        """Write what was said meanwhile as text, where the model takes any."""
        output = Output()
        for entry in said:
            self._tell(output, f"({entry.role}, before this: {entry.text or dict(entry.data)})")
        return output.send

    def closing(self) -> list[str]:
        """Say goodbye in the order that is asked for."""
        return wire.closing()

    # --- sound ---------------------------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> Output:
        """Take the caller's sound; the service wants all of it, silence too."""
        output = Output()
        if not self._told_ready:
            self._told_ready = True
            output.emit.append(BackendReady(self._settings.name))
        self._unsent += self._converted.frame_to_model(frame)
        if len(self._unsent) >= 2 * round(PIECE_SECONDS * self._rate):
            output.send.append(wire.audio(bytes(self._unsent)))
            self._unsent.clear()
        return output

    # --- commands ------------------------------------------------------------------------------

    def perform(self, command: BackendCommand) -> Output:
        """Take a command of the call."""
        output = Output()
        match command:
            case Respond():
                self._respond(output, command)
            case CancelReply(reply=reply):
                if self._reply is not None and self._reply.id == reply:
                    self._converted.rest_to_line()
                    self._drop()
                    self._given_up = True
            case Inform(text=text):
                self._tell(output, f"(Not said by the caller, for you to know: {text})")
            case AnswerTool():
                self._answer_tool(output, command)
            case Truncate() | Listen() | Disregard() | Draft() | DropDraft():
                pass  # not in this backend's traits
            case _:
                assert_never(command)
        return output

    def _respond(self, output: Output, command: Respond) -> None:
        self._reply = _Reply(command.reply, command.turn, command.utterance)
        self._announced = self._given_up = False
        if command.text:
            self._tell(output, command.text)
        elif command.again:
            self._tell(output, "(Go on: answer what the caller said last.)")
        self._said = output.tell_words(self._reply.turn, self._said)
        held, self._held = self._held, []
        for event in held:
            try:
                self._take(output, event)
            except ValueError as wrong:  # sound that is no base64
                output.complaint = {"code": "bad_event", "message": str(wrong)[:200]}

    def _tell(self, output: Output, said: str) -> None:
        if not self._settings.first_generation:
            output.send += wire.text(f"text{next(self._names)}", "USER", said, interactive=True)

    def _answer_tool(self, output: Output, command: AnswerTool) -> None:
        reply = self._reply
        name = f"tool{next(self._names)}"
        output.send += wire.tool_answer(name, command.ask, command.result)
        if reply is not None and reply.id == command.reply:
            reply.tools.discard(command.ask)
            if command.proceed and not reply.sounded:
                reply.utterance = command.utterance
        if command.ends:
            self._drop()
            output.emit.append(ReplyEnded(command.reply))

    def _drop(self) -> None:
        self._reply = None
        for block in self._blocks.values():
            block.void = True

    # --- the service ------------------------------------------------------------------------------

    def receive(self, message: bytes) -> Output:
        """Take an event of the service; raises ValueError for what is none."""
        output = Output()
        event = wire.parse(message)
        match event:
            case None:
                pass
            case wire.Content():
                block = _Block(event.role, event.stage)
                block.void = self._given_up and block.role == "ASSISTANT"
                self._blocks[event.content_id] = block
            case wire.Text() if event.interrupted:
                self._interrupted(output)
            case wire.Text() | wire.Audio() | wire.ToolUse():
                self._spoken(output, event)
            case wire.ContentEnd():
                self._block_ended(output, event)
            case wire.Usage():
                self._usage = event
            case wire.CompletionEnd():
                self._over(output, event)
            case _:
                assert_never(event)
        return output

    def _interrupted(self, output: Output) -> None:
        """The caller cut in; told once, whatever the number of signs."""
        if self._reply is not None or self._announced:
            output.emit.append(BackendTurn("interrupted"))
            self._announced = False
            self._held.clear()
        self._drop()
        self._given_up = False

    def _spoken(self, output: Output, event: SPOKEN) -> None:
        block = self._blocks.get(event.content_id)
        if isinstance(event, wire.Text):
            if block is None or block.void:
                return
            if block.role == "USER":
                self._said = f"{self._said} {event.content}"
                return
            if block.stage == "FINAL":
                return  # the plan, told before the sound, stands for it: both would be double
        elif isinstance(event, wire.Audio) and (block is None or block.void):
            return  # late sound of what was void, or over
        self._part(output, event)

    def _part(self, output: Output, event: wire.ServerEvent) -> None:
        """Take a part of an answer, or keep it until the answer has its numbers."""
        if self._reply is None:
            if not self._announced:
                self._announced = True
                output.emit.append(BackendTurn("ended"))
            self._held.append(event)
        else:
            self._take(output, event)

    def _block_ended(self, output: Output, event: wire.ContentEnd) -> None:
        block = self._blocks.pop(event.content_id, None)
        if event.stop_reason == "INTERRUPTED":
            self._interrupted(output)
            return
        over = event.type == "AUDIO" and event.stop_reason == "END_TURN"
        if over and block is not None and not block.void and (self._reply or self._announced):
            self._part(output, event)

    def _over(self, output: Output, event: wire.CompletionEnd) -> None:
        if self._usage is not None:
            used = self._usage
            figures = {
                "total_tokens": used.total_tokens,
                "input_tokens": used.total_input_tokens,
                "output_tokens": used.total_output_tokens,
            }
            output.emit.append(UsageReported(figures))
            self._usage = None
        self._given_up = False
        if self._reply is not None or self._announced:
            self._part(output, event)

    def _take(self, output: Output, event: wire.ServerEvent) -> None:
        reply = self._reply
        if reply is None:
            return  # it ended while what was kept was gone through
        match event:
            case wire.Text(content=text):
                self._said = output.tell_words(reply.turn, self._said)
                reply.text += text
                output.emit.append(ReplyText(reply.id, _utterance(self._start, reply), text))
            case wire.Audio():
                self._said = output.tell_words(reply.turn, self._said)
                pcm = self._converted.to_line(event.sound()).pcm
                utterance = _utterance(self._start, reply)
                reply.sounded = True
                output.emit.append(AgentAudio(reply.id, utterance, pcm))
            case wire.ToolUse():
                self._said = output.tell_words(reply.turn, self._said)
                self._utterance_ended(output, reply)  # what it said before is whole
                reply.tools.add(event.tool_use_id)
                arguments = tool_arguments(event.content)
                output.emit.append(
                    ToolAsked(reply.id, event.tool_use_id, event.tool_name, arguments)
                )
            case wire.ContentEnd():
                self._utterance_ended(output, reply)
            case wire.CompletionEnd():
                self._utterance_ended(output, reply)
                if not reply.tools:
                    self._reply = None
                    output.emit.append(ReplyEnded(reply.id))
            case _:
                raise AssertionError(event)

    def _utterance_ended(self, output: Output, reply: _Reply) -> None:
        if not reply.sounded:
            return
        rest = self._converted.rest_to_line()
        if rest:
            output.emit.append(AgentAudio(reply.id, reply.utterance, rest))
        output.emit.append(UtteranceEnded(reply.id, reply.utterance, reply.text))
        reply.sounded, reply.text, reply.utterance = False, "", 0


def _utterance(start: BackendStart, reply: _Reply) -> int:
    if not reply.utterance:
        reply.utterance = start.next_utterance()
    return reply.utterance
