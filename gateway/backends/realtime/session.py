"""One Realtime session as a pure machine: commands and server events in, messages and events out.

Turns are ours by default: the caller's sound is appended from the moment it is probably speech,
committed when the turn is confirmed, and cleared when it was nothing. At most one response of the
conversation is alive at a time, so a new one waits for the end of the one being cancelled.
"""

from __future__ import annotations

from collections import deque
from typing import assert_never

import msgspec

from gateway.backends.conversion import Conversion
from gateway.backends.realtime import wire
from gateway.backends.realtime.configuration import configuration
from gateway.backends.realtime.microphone import Microphone
from gateway.backends.realtime.responses import Response, Responses
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.realtime.spoken import Spoken
from gateway.backends.session import FINAL_ERRORS, Output, tool_arguments
from gateway.events import (
    AnswerTool,
    BackendCommand,
    BackendLost,
    BackendReady,
    BackendTurn,
    CallerWords,
    CancelReply,
    Disregard,
    Draft,
    DropDraft,
    Entry,
    Inform,
    Listen,
    ReplyEnded,
    Respond,
    ToolAsked,
    Truncate,
    UsageReported,
)
from gateway.ports import BackendStart
from media.frame import AudioFrame

CUT = 'The caller cut in: of your last words they heard only: "{}"'

HARMLESS = frozenset({"response_cancel_not_active", "input_audio_buffer_commit_empty"})
"""Errors that only say that something was already over."""


class RealtimeSession:
    """Decides what is sent and what the call is told; knows no socket and no clock."""

    def __init__(
        self,
        start: BackendStart,
        settings: RealtimeSettings,
        sound: Conversion,
    ) -> None:
        """`sound` converts between the line's form and the model's."""
        self._start = start
        self._settings = settings
        self._microphone = Microphone(sound, start.info.rate, always=settings.owns_turns)
        self._spoken = Spoken(sound, start.info.rate)
        self._responses = Responses(start.info.rate)
        self._commits: deque[int] = deque()
        self._turn_items: dict[str, int] = {}
        self._ended_item = ""
        self._speaking = False
        "by the server's ear"
        self._unanswered: set[str] = set()
        "what it asked of tools"
        self._ready = False

    @property
    def ready(self) -> bool:
        """The server has taken the configuration."""
        return self._ready

    @property
    def busy(self) -> bool:
        """A turn or a reply is under way."""
        speaking = self._speaking if self._settings.owns_turns else self._microphone.open
        return speaking or bool(self._unanswered) or self._responses.busy

    # --- sound ---------------------------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> Output | None:
        """Take the caller's sound; it is sent on while somebody is probably speaking."""
        sent = self._microphone.hear(frame, ready=self._ready)
        asked = self._responses.pass_time(frame.end - frame.start)
        if asked:
            return Output(asked if sent is None else [sent, *asked])
        return None if sent is None else Output([sent])

    # --- commands ------------------------------------------------------------------------------

    def perform(self, command: BackendCommand) -> Output:
        """Take a command of the call."""
        output = Output()
        match command:
            case Listen(start=start):
                self._listen(output, start)
            case Disregard():
                if not self._settings.owns_turns and self._microphone.open:
                    self._microphone.disregard()
                    output.send.append(wire.write("input_audio_buffer.clear"))
            case Respond():
                self._respond(output, command)
            case CancelReply(reply=reply):
                output.send += self._responses.cancel(reply)
            case Truncate():
                self._truncate(output, command)
            case AnswerTool():
                self._answer_tool(output, command)
            case Inform(text=text):
                item = wire.items((Entry("note", text),))[0]
                output.send.append(wire.write("conversation.item.create", item=item))
            case Draft() | DropDraft():
                pass  # not in this backend's traits
            case _:
                assert_never(command)
        return output

    def _listen(self, output: Output, start: int) -> None:
        if self._microphone.open:
            return
        self._microphone.open = True
        if self._ready:
            output.send += self._microphone.since(start)

    def _respond(self, output: Output, command: Respond) -> None:
        if command.text:
            item = {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": command.text}],
            }
            output.send.append(wire.write("conversation.item.create", item=item))
        elif self._settings.owns_turns and not command.again:
            self._turn_items[self._ended_item] = command.turn
            self._responses.want(Response(command.reply, command.utterance, by_server=True))
            return
        elif not command.again:
            self._listen(output, command.start)
            self._microphone.open = False
            self._commits.append(command.turn)
            output.send += self._microphone.rest()
            output.send.append(wire.write("input_audio_buffer.commit"))
        output.send += self._responses.want(Response(command.reply, command.utterance))

    def _truncate(self, output: Output, command: Truncate) -> None:
        cut = self._spoken.cut(command.utterance, command.heard_seconds)
        if cut is None:
            if command.utterance not in self._spoken and self._start.history:
                # Said in the session before this one, whose items are not known here.
                output.send += self.catch_up((Entry("note", CUT.format(command.heard_text)),))
            return
        item, heard = cut
        output.send.append(
            wire.write(
                "conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=heard
            )
        )

    def _answer_tool(self, output: Output, command: AnswerTool) -> None:
        item = {
            "type": "function_call_output",
            "call_id": command.ask,
            "output": msgspec.json.encode(dict(command.result)).decode(),
        }
        output.send.append(wire.write("conversation.item.create", item=item))
        self._unanswered.discard(command.ask)
        if command.ends:
            output.emit.append(ReplyEnded(command.reply))
        if command.proceed:
            output.send += self._responses.want(Response(command.reply, command.utterance))

    # --- server events ---------------------------------------------------------------------------

    def opening(self) -> list[str]:
        """Wait for the server to speak first."""
        return []

    def catch_up(self, said: tuple[Entry, ...]) -> list[str]:
        """Write what was said meanwhile as items."""
        return [wire.write("conversation.item.create", item=item) for item in wire.items(said)]

    def closing(self) -> list[str]:
        """Say nothing: the end of the WebSocket is the end of the session."""
        return []

    def receive(self, message: bytes) -> Output:
        """Take an event of the server; raises ValueError for what is none."""
        output = Output()
        event = wire.parse(message)
        match event:
            case wire.SessionCreated():
                output.send.append(configuration(self._start, self._settings))
                for item in wire.items(self._start.history):
                    output.send.append(wire.write("conversation.item.create", item=item))
            case wire.SessionUpdated():
                self._is_ready(output)
            case wire.Error(error=error):
                output.complaint = {"code": error.code, "message": error.message[:200]}
                self._error(output, error)
            case wire.RateLimits(rate_limits=limits):
                output.emit.append(UsageReported({"rate_limits": limits}))
            case (
                wire.Committed()
                | wire.SpeechStarted()
                | wire.SpeechStopped()
                | wire.Transcribed()
                | wire.TranscriptionFailed()
            ):
                self._caller_side(output, event)
            case wire.Unknown():
                pass
            case _:
                self._response_side(output, event)
        return output

    def _is_ready(self, output: Output) -> None:
        if self._ready:
            return
        self._ready = True
        output.emit.append(BackendReady(self._settings.name))
        if self._microphone.open:
            output.send += self._microphone.since(None)

    def _caller_side(
        self,
        output: Output,
        event: wire.Committed
        | wire.SpeechStarted
        | wire.SpeechStopped
        | wire.Transcribed
        | wire.TranscriptionFailed,
    ) -> None:
        owns = self._settings.owns_turns
        match event:
            case wire.Committed(item_id=item):
                if self._commits:
                    self._turn_items[item] = self._commits.popleft()
                elif owns:
                    self._ended_item, self._speaking = item, False
                    output.emit.append(BackendTurn("ended"))
            case wire.SpeechStarted():
                self._speaking = True
                if owns:
                    output.emit.append(BackendTurn("speech_started"))
                    output.emit.append(BackendTurn("interrupted"))
            case wire.SpeechStopped():
                if owns:
                    output.emit.append(BackendTurn("speech_stopped"))
            case wire.Transcribed(item_id=item, transcript=text):
                turn = self._turn_items.pop(item, 0)
                if turn and text.strip():
                    output.emit.append(CallerWords(turn, text.strip(), final=True))
            case wire.TranscriptionFailed(item_id=item):
                self._turn_items.pop(item, None)
            case _:
                assert_never(event)

    def _response_side(
        self,
        output: Output,
        event: wire.ResponseCreated
        | wire.ResponseDone
        | wire.ItemAdded
        | wire.AudioDelta
        | wire.AudioDone
        | wire.TranscriptDelta
        | wire.ToolCall,
    ) -> None:
        alive = self._responses.alive
        match event:
            case wire.ResponseCreated(response=body):
                output.send += self._responses.created(body)
            case wire.ResponseDone(response=body):
                self._done(output, body)
            case wire.ItemAdded(response_id=response, item=item):
                if alive is not None and alive.id == response:
                    self._added(alive, item)
            case wire.AudioDelta():
                output.emit += self._spoken.sound(event)
            case wire.TranscriptDelta():
                output.emit += self._spoken.text(event)
            case wire.AudioDone():
                output.emit += self._spoken.end(event)
            case wire.ToolCall():
                if alive is not None and not alive.void and alive.id == event.response_id:
                    alive.tools.add(event.call_id)
                    self._unanswered.add(event.call_id)
                    name = event.name or alive.names.get(event.item_id, "")
                    arguments = tool_arguments(event.arguments)
                    output.emit.append(ToolAsked(alive.reply, event.call_id, name, arguments))
            case _:
                assert_never(event)

    def _added(self, alive: Response, item: wire.Item) -> None:
        if item.type == "message":
            number = alive.utterance or self._start.next_utterance()
            alive.utterance = 0
            self._spoken.begin(item.id, number, alive.reply)
        elif item.name:
            alive.names[item.id] = item.name

    def _done(self, output: Output, body: wire.ResponseBody) -> None:
        if body.usage:
            output.emit.append(UsageReported(body.usage))
        over = self._responses.done(body)
        if over is not None:
            self._over(output, body, over)
        if not output.lost:
            output.send += self._responses.go_on()

    def _over(self, output: Output, body: wire.ResponseBody, over: Response) -> None:
        if body.status == "incomplete":
            output.complaint = {"code": "incomplete", "message": _reason(body)}
        if body.status == "failed" and not over.void:
            reason = _reason(body)
            if _code(body) in FINAL_ERRORS:
                output.lost = reason
                return
            output.emit.append(BackendLost(reason, part="model", reply=over.reply, fatal=False))
        elif not over.tools:
            output.emit.append(ReplyEnded(over.reply))

    def _error(self, output: Output, error: wire.ApiError) -> None:
        if error.code in HARMLESS:
            return
        if error.code in FINAL_ERRORS or not self._ready:
            what = "" if self._ready else f" a session of {self._settings.model}"
            output.lost = f"the server refused{what}: {error.message or error.code}"[:200]
            return
        refused = self._responses.refused(error)
        alive = self._responses.alive
        if refused is not None:
            output.emit.append(_failure(refused, error))
            output.send += self._responses.go_on()
        elif alive is not None and not alive.void and "server_error" in (error.type, error.code):
            # Nothing says whether it goes on; what still comes of it is void.
            output.send += self._responses.cancel(alive.reply)
            output.emit.append(_failure(alive, error))


def _failure(response: Response, error: wire.ApiError) -> BackendLost:
    what = error.message or error.code or "the server failed"
    return BackendLost(what, part="model", reply=response.reply, fatal=False)


def _code(body: wire.ResponseBody) -> str:
    error = (body.status_details or {}).get("error") or {}
    return str(error.get("code") or "")


def _reason(body: wire.ResponseBody) -> str:
    details = body.status_details or {}
    error = details.get("error") or {}
    return str(error.get("message") or error.get("code") or details.get("reason") or "failed")
