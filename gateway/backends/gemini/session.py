"""One Gemini Live session as a pure machine.

With turns of our own each turn is framed by activity marks. A framed turn is always answered, so
nothing is sent of a sound until it is surely no acknowledgement or cough: its first second waits.
The protocol has no truncate and no cancel: what comes of a void reply is dropped, and what was
heard of it is told in words.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import assert_never

from gateway.backends.gemini import wire
from gateway.backends.gemini.inbound import Inbound
from gateway.backends.gemini.settings import GeminiSettings
from gateway.backends.session import Output, known_arguments
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
from media.resample import Resampler

PREFIX_SECONDS = 0.3
"""Sound sent from before the first voiced sample: soft onsets lie there."""

WAIT_SECONDS = 1.0
"""Sound held back until it is surely a turn: acknowledgements last up to a second."""

KEPT_SECONDS = 3.0
"""Sound kept while nobody is known to speak."""

VOID = {"error": "interrupted", "message": "The caller went on; nobody waits for this any more."}
"""What a tool gives that a reply asks for which was given up."""


@dataclass(slots=True)
class Handle:
    """What the next connection of the call resumes from; shared by a call's sessions."""

    value: str = ""


@dataclass(slots=True)
class _Reply:
    id: int
    turn: int
    utterance: int
    text: str = ""
    sounded: bool = False
    void: bool = False
    tools: set[str] = field(default_factory=set)


class GeminiSession:
    """Decides what is sent and what the call is told; knows no socket and no clock."""

    def __init__(
        self,
        start: BackendStart,
        settings: GeminiSettings,
        handle: Handle,
        to_model: Resampler,
        to_line: Resampler,
    ) -> None:
        """`to_model` and `to_line` convert PCM between the line's rate and the model's two."""
        self._start = start
        self._settings = settings
        self._handle = handle
        self._to_model = to_model
        self._to_line = to_line
        self._kept: deque[AudioFrame] = deque()
        self._from: int | None = None
        "where the turn that is listened to began"
        self._framed = False
        "the model was told that the caller speaks"
        self._reply: _Reply | None = None
        self._said = ""
        "the caller's words so far"
        self._ready = False
        self._held: list[bytes] = []
        "messages of an answer to a turn that the call has yet to give its numbers"
        self._inbound = Inbound()

    @property
    def ready(self) -> bool:
        """The server has taken the set-up."""
        return self._ready

    @property
    def busy(self) -> bool:
        """A turn or a reply is under way."""
        return self._from is not None or self._reply is not None

    def opening(self) -> list[str]:
        """Begin with the set-up."""
        return [wire.setup(self._start, self._settings, self._handle.value)]

    def catch_up(self, said: tuple[Entry, ...]) -> list[str]:
        """Write what was said meanwhile as turns."""
        return [wire.turns(said, complete=False)] if said else []

    def closing(self) -> list[str]:
        """Say nothing: the end of the WebSocket is the end of the session."""
        return []

    # --- sound ---------------------------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> Output | None:
        """Take the caller's sound."""
        if self._settings.owns_turns or self._framed:
            return Output(self._inbound.caller(self._audio(frame)))
        self._kept.append(frame)
        if self._from is None:
            oldest = frame.end - int(KEPT_SECONDS * frame.rate)
            while self._kept[0].end < oldest:
                self._kept.popleft()
        elif frame.end - self._from > WAIT_SECONDS * frame.rate:
            output = Output()
            self._frame(output)
            return output
        return None

    def _audio(self, frame: AudioFrame) -> str:
        return wire.audio(self._to_model.feed(frame.pcm))

    def _frame(self, output: Output) -> None:
        """Tell the model that the caller speaks, with all that was held back."""
        self._framed = True
        begin = (self._from or 0) - int(PREFIX_SECONDS * self._start.info.rate)
        kept = [self._audio(frame) for frame in self._kept if frame.end > begin]
        output.send += self._inbound.caller(wire.ACTIVITY_START, *kept)
        self._kept.clear()

    # --- commands ------------------------------------------------------------------------------

    def perform(self, command: BackendCommand) -> Output:
        """Take a command of the call."""
        output = Output()
        match command:
            case Listen(start=start):
                if self._from is None and not self._settings.owns_turns:
                    self._from = start
            case Disregard():
                self._disregard(output)
            case Respond():
                self._respond(output, command)
            case CancelReply(reply=reply):
                if self._reply is not None and self._reply.id == reply:
                    self._reply.void = True
                    self._to_line.flush()  # the end of what is cut is not the beginning of another
                    output.send += self._inbound.quiet()
            case Truncate(heard_text=heard):
                said = f'The caller cut in and heard only: "{heard}"' if heard else "Nothing heard"
                self._tell(output, said)
            case Inform(text=text):
                self._tell(output, text)
            case AnswerTool():
                self._answer_tool(output, command)
            case Draft() | DropDraft():
                pass  # not in this backend's traits
            case _:
                assert_never(command)
        return output

    def _tell(self, output: Output, text: str) -> None:
        """Tell the model something; it would break off what it is saying for that."""
        alive = self._reply is not None and not self._reply.void
        note = wire.turns((Entry("note", text),), complete=False)
        output.send += self._inbound.note(note, speaking=alive)

    def _disregard(self, output: Output) -> None:
        if self._framed:  # it will be answered; nobody listens to that
            output.send += self._inbound.caller(wire.ACTIVITY_END)
            self._reply = _Reply(0, 0, 0, void=True)
        self._from, self._framed = None, False

    def _respond(self, output: Output, command: Respond) -> None:
        self._reply = _Reply(command.reply, command.turn, command.utterance)
        self._said = ""
        output.send += self._inbound.quiet()
        if command.text:
            output.send.append(wire.turns((Entry("caller", command.text),), complete=True))
        elif command.again:
            output.send.append(wire.turns((), complete=True))
        elif not self._settings.owns_turns:
            if not self._framed:
                self._from = command.start if self._from is None else self._from
                self._frame(output)
            # A resampler keeps the last tenth of a second for what follows; nothing does.
            rest = wire.audio(self._to_model.flush())
            output.send += self._inbound.caller(rest, wire.ACTIVITY_END)
        self._from, self._framed = None, False
        held, self._held = self._held, []
        for message in held:
            try:
                after = self.receive(message)
            except ValueError as wrong:
                output.complaint = {"code": "bad_event", "message": str(wrong)[:200]}
                continue
            output.send += after.send
            output.emit += after.emit

    def _answer_tool(self, output: Output, command: AnswerTool) -> None:
        reply = self._reply
        if reply is not None and command.ask in reply.tools:
            reply.tools.discard(command.ask)
            output.send.append(wire.tool_answer(command.ask, command.name, command.result))
            output.send += self._inbound.answered(command.ask)
            if command.utterance:
                self._end_utterance(output, reply)
                reply.utterance = command.utterance
        if command.ends:
            output.emit.append(ReplyEnded(command.reply))

    # --- the server ------------------------------------------------------------------------------

    def receive(self, message: bytes) -> Output:
        """Take a message of the server; raises ValueError for what is none."""
        output = Output()
        said = wire.parse(message)
        if self._held or (self._reply is None and self._settings.owns_turns and _answers(said)):
            # The model has decided that a turn ended: the call answers with `Respond`, and its ids.
            if not self._held:
                output.emit.append(BackendTurn("ended"))
            self._held.append(message)
            return output
        if said.setup_complete is not None and not self._ready:
            self._ready = True
            output.emit.append(BackendReady(self._settings.name))
            if self._start.history and not self._handle.value:
                output.send.append(wire.turns(self._start.history, complete=False))
        if said.session_resumption_update is not None:
            update = said.session_resumption_update
            self._handle.value = update.new_handle if update.resumable else ""
        if said.tool_call is not None:
            self._tools(output, said.tool_call)
        if said.tool_call_cancellation is not None and self._reply is not None:
            self._reply.tools.difference_update(said.tool_call_cancellation.ids)
            output.send += self._inbound.answered(*said.tool_call_cancellation.ids)
        if said.server_content is not None:
            self._content(output, said.server_content)
        if said.usage_metadata is not None:
            output.emit.append(UsageReported(said.usage_metadata))
        output.renew = said.go_away is not None
        return output

    def _tools(self, output: Output, call: wire.ToolCall) -> None:
        reply = self._reply
        if reply is None or reply.void:
            for number, each in enumerate(call.function_calls):
                ask = each.id or f"{each.name}-{number}"
                output.send.append(wire.tool_answer(ask, each.name, VOID))
            return
        self._end_utterance(output, reply)  # what it said before is whole: the tool is waited for
        for number, each in enumerate(call.function_calls):
            ask = each.id or f"{each.name}-{number}"
            reply.tools.add(ask)
            self._inbound.asked(ask)
            output.emit.append(ToolAsked(reply.id, ask, each.name, known_arguments(each.args)))

    def _content(self, output: Output, content: wire.ServerContent) -> None:
        if content.input_transcription is not None:
            self._said += content.input_transcription.text
        if content.interrupted and self._settings.owns_turns:
            output.emit.append(BackendTurn("interrupted"))
        if content.model_turn is not None or content.output_transcription is not None:
            reply = self._reply
            if reply is not None and not reply.void:
                self._speech(output, reply, content)
        if content.turn_complete:
            self._complete(output)

    def _speech(self, output: Output, reply: _Reply, content: wire.ServerContent) -> None:
        self._said = output.tell_words(reply.turn, self._said)
        if content.output_transcription is not None:
            reply.text += content.output_transcription.text
            text = content.output_transcription.text
            output.emit.append(ReplyText(reply.id, reply.utterance, text))
        for part in content.model_turn.parts if content.model_turn is not None else ():
            if part.inline_data is not None and part.inline_data.mime_type.startswith("audio/"):
                reply.sounded = True
                pcm = self._to_line.feed(part.inline_data.sound())
                output.emit.append(AgentAudio(reply.id, reply.utterance, pcm))

    def _complete(self, output: Output) -> None:
        reply, self._reply = self._reply, None
        output.send += self._inbound.quiet()
        if reply is None or reply.void:
            return
        self._said = output.tell_words(reply.turn, self._said)
        self._end_utterance(output, reply)
        if reply.tools:
            self._reply = reply  # it goes on once they are answered
        else:
            output.emit.append(ReplyEnded(reply.id))

    def _end_utterance(self, output: Output, reply: _Reply) -> None:
        if not reply.sounded:
            return
        rest = self._to_line.flush()
        output.emit.append(AgentAudio(reply.id, reply.utterance, rest))
        output.emit.append(UtteranceEnded(reply.id, reply.utterance, reply.text))
        reply.sounded, reply.text, reply.utterance = False, "", self._start.next_utterance()


def _answers(said: wire.ServerMessage) -> bool:
    """Return whether a message is part of an answer."""
    content = said.server_content
    spoken = content is not None and (
        content.model_turn is not None or content.output_transcription is not None
    )
    return spoken or said.tool_call is not None
