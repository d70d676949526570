"""One Realtime session as a pure machine: commands and server events in, messages and events out.

Turns are ours by default: the caller's sound is appended from the moment it is probably speech,
committed when the turn is confirmed, and cleared when it was nothing. At most one response of the
conversation is alive at a time, so a new one waits for the end of the one being cancelled.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import assert_never

import msgspec

from gateway.backends.realtime import wire
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.session import FINAL_ERRORS, Output
from gateway.events import (
    AgentAudio,
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
from media.resample import Resampler

PREFIX_SECONDS = 0.3
"""Sound sent from before the first voiced sample: soft onsets lie there (the API's own turn
detection keeps as much)."""

KEPT_SECONDS = 1.5
"""Sound kept while nobody is known to speak: the gate needs up to half a second to be sure."""

HARMLESS = frozenset({"response_cancel_not_active", "input_audio_buffer_commit_empty"})
"""Errors that only say that something was already over."""


@dataclass(slots=True)
class _Response:
    reply: int
    utterance: int
    "for its first item; 0 once used"
    id: str = ""
    void: bool = False
    by_server: bool = False
    "the server begins it by itself, since it decides about turns"
    tools: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Utterance:
    item: str
    reply: int
    samples: int = 0
    "received, at the line's rate"
    text: str = ""


class Session:
    """Decides what is sent and what the call is told; knows no socket and no clock."""

    def __init__(
        self,
        start: BackendStart,
        settings: RealtimeSettings,
        to_model: Resampler,
        to_line: Resampler,
    ) -> None:
        """`to_model` and `to_line` convert PCM between the line's rate and the model's."""
        self._start = start
        self._settings = settings
        self._passes = start.info.codec if start.info.codec in ("pcmu", "pcma") else ""
        self._to_model = to_model
        self._to_line = to_line
        self._kept: deque[AudioFrame] = deque()
        self._listening = settings.owns_turns
        self._wanted: deque[_Response] = deque()
        self._alive: _Response | None = None
        self._commits: deque[int] = deque()
        self._turn_items: dict[str, int] = {}
        self._ended_item = ""
        self._utterances: dict[int, _Utterance] = {}
        self._items: dict[str, int] = {}
        self._ready = False

    @property
    def ready(self) -> bool:
        """The server has taken the configuration."""
        return self._ready

    @property
    def busy(self) -> bool:
        """A turn or a reply is under way."""
        return self._listening or self._alive is not None or bool(self._wanted)

    # --- sound ---------------------------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> Output | None:
        """Take the caller's sound; it is sent on while somebody is probably speaking."""
        if self._listening and self._ready:
            return Output([self._append(frame)])
        self._kept.append(frame)
        oldest = frame.end - int(KEPT_SECONDS * frame.rate)
        while self._kept and self._kept[0].end < oldest and not self._listening:
            self._kept.popleft()
        while len(self._kept) > 1500:  # half a minute before the session is up: the server is gone
            self._kept.popleft()
        return None

    def _append(self, frame: AudioFrame) -> str:
        if self._passes and frame.codec == self._passes:
            return wire.append_audio(frame.payload)
        if self._passes:  # silence that stands for what never came
            quiet = b"\xff" if self._passes == "pcmu" else b"\xd5"
            return wire.append_audio(quiet * (len(frame.pcm) // 2))
        return wire.append_audio(self._to_model.feed(frame.pcm))

    def _send_kept(self, output: Output, start: int | None) -> None:
        for frame in self._kept:
            if start is None or frame.end > start:
                output.send.append(self._append(frame))
        self._kept.clear()

    # --- commands ------------------------------------------------------------------------------

    def perform(self, command: BackendCommand) -> Output:
        """Take a command of the call."""
        output = Output()
        match command:
            case Listen(start=start):
                self._listen(output, start)
            case Disregard():
                if not self._settings.owns_turns and self._listening:
                    self._listening = False
                    output.send.append(wire.write("input_audio_buffer.clear"))
            case Respond():
                self._respond(output, command)
            case CancelReply(reply=reply):
                self._cancel(output, reply)
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
        if self._listening:
            return
        self._listening = True
        if self._ready:
            prefix = int(PREFIX_SECONDS * self._start.info.rate)
            self._send_kept(output, max(0, start - prefix))

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
            self._wanted.append(_Response(command.reply, command.utterance, by_server=True))
            return
        elif not command.again:
            if not self._listening:
                self._listen(output, command.start)
            self._listening = False
            self._commits.append(command.turn)
            if not self._passes:
                # A resampler keeps the last tenth of a second for what follows; nothing does.
                output.send.append(wire.append_audio(self._to_model.flush()))
            output.send.append(wire.write("input_audio_buffer.commit"))
        self._want(output, _Response(command.reply, command.utterance))

    def _want(self, output: Output, response: _Response) -> None:
        self._wanted.append(response)
        self._next(output)

    def _next(self, output: Output) -> None:
        if self._alive is not None or not self._wanted or self._wanted[0].by_server:
            return
        self._alive = self._wanted.popleft()
        output.send.append(
            wire.write(
                "response.create",
                event_id=f"reply-{self._alive.reply}",
                response={"metadata": {"reply": str(self._alive.reply)}},
            )
        )

    def _cancel(self, output: Output, reply: int) -> None:
        self._wanted = deque(one for one in self._wanted if one.reply != reply)
        alive = self._alive
        if alive is not None and alive.reply == reply and not alive.void:
            alive.void = True
            extra = {"response_id": alive.id} if alive.id else {}
            output.send.append(wire.write("response.cancel", **extra))

    def _truncate(self, output: Output, command: Truncate) -> None:
        utterance = self._utterances.pop(command.utterance, None)
        if utterance is None:
            return
        received = utterance.samples * 1000 // self._start.info.rate
        heard = min(int(command.heard_seconds * 1000), received)
        output.send.append(
            wire.write(
                "conversation.item.truncate",
                item_id=utterance.item,
                content_index=0,
                audio_end_ms=heard,
            )
        )

    def _answer_tool(self, output: Output, command: AnswerTool) -> None:
        item = {
            "type": "function_call_output",
            "call_id": command.ask,
            "output": msgspec.json.encode(dict(command.result)).decode(),
        }
        output.send.append(wire.write("conversation.item.create", item=item))
        if command.ends:
            output.emit.append(ReplyEnded(command.reply))
        if command.proceed:
            self._want(output, _Response(command.reply, command.utterance))

    # --- server events ---------------------------------------------------------------------------

    def opening(self) -> list[str]:
        """Wait for the server to speak first."""
        return []

    def receive(self, message: bytes) -> Output:
        """Take an event of the server; raises ValueError for what is none."""
        output = Output()
        event = wire.parse(message)
        match event:
            case wire.SessionCreated():
                output.send.append(self._configuration())
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
        if self._listening:
            self._send_kept(output, None)

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
                    self._ended_item = item
                    output.emit.append(BackendTurn("ended"))
            case wire.SpeechStarted():
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
        alive = self._alive
        match event:
            case wire.ResponseCreated(response=body):
                if alive is None and self._wanted and self._wanted[0].by_server:
                    alive = self._alive = self._wanted.popleft()
                if alive is not None and not alive.id:
                    alive.id = body.id
                    if alive.void:  # given up before it had a name
                        output.send.append(wire.write("response.cancel", response_id=body.id))
            case wire.ResponseDone(response=body):
                self._done(output, body)
            case wire.ItemAdded(response_id=response, item=item):
                if alive is not None and alive.id == response and item.type == "message":
                    self._add_item(alive, item.id)
            case wire.AudioDelta():
                self._sound(output, event)
            case wire.AudioDone() | wire.TranscriptDelta():
                self._words_of(output, event)
            case wire.ToolCall():
                if alive is not None and not alive.void and alive.id == event.response_id:
                    alive.tools.add(event.call_id)
                    output.emit.append(
                        ToolAsked(alive.reply, event.call_id, event.name, _arguments(event))
                    )
            case _:
                assert_never(event)

    def _words_of(self, output: Output, event: wire.AudioDone | wire.TranscriptDelta) -> None:
        number = self._items.get(event.item_id)
        said = self._utterances.get(number) if number is not None else None
        if number is None or said is None:
            return  # of an item that was truncated, or that is not ours
        if isinstance(event, wire.AudioDone) and not self._passes:
            rest = self._to_line.flush()
            said.samples += len(rest) // 2
            output.emit.append(AgentAudio(said.reply, number, rest))
        if isinstance(event, wire.TranscriptDelta):
            said.text += event.delta
            output.emit.append(ReplyText(said.reply, number, event.delta))
        else:
            output.emit.append(UtteranceEnded(said.reply, number, said.text))

    def _add_item(self, alive: _Response, item: str) -> None:
        number = alive.utterance or self._start.next_utterance()
        alive.utterance = 0
        self._items[item] = number
        self._utterances[number] = _Utterance(item, alive.reply)
        for old in [item for item, n in self._items.items() if n < number - 16]:
            self._utterances.pop(self._items.pop(old), None)

    def _sound(self, output: Output, event: wire.AudioDelta) -> None:
        number = self._items.get(event.item_id)
        said = self._utterances.get(number) if number is not None else None
        if number is None or said is None:
            return
        sound = event.sound()
        if self._passes:
            said.samples += len(sound)
            output.emit.append(AgentAudio(said.reply, number, b"", payload=sound))
            return
        pcm = self._to_line.feed(sound)
        said.samples += len(pcm) // 2
        output.emit.append(AgentAudio(said.reply, number, pcm))

    def _done(self, output: Output, body: wire.ResponseBody) -> None:
        if body.usage:
            output.emit.append(UsageReported(body.usage))
        alive = self._alive
        if alive is None or alive.id not in ("", body.id):
            return
        self._alive = None
        if body.status == "failed" and not alive.void:
            reason = _reason(body)
            if _code(body) in FINAL_ERRORS:
                output.lost = reason
                return
            output.emit.append(BackendLost(reason, part="model", reply=alive.reply, fatal=False))
        elif not alive.tools:
            output.emit.append(ReplyEnded(alive.reply))
        self._next(output)

    def _error(self, output: Output, error: wire.ApiError) -> None:
        if error.code in HARMLESS:
            return
        if error.code in FINAL_ERRORS or not self._ready:
            output.lost = f"the server refused: {error.message or error.code}"[:200]
            return
        alive = self._alive
        if error.event_id and alive is not None and error.event_id == f"reply-{alive.reply}":
            if error.code == "conversation_already_has_active_response":
                self._alive = None  # it is made again when that one is over
                self._wanted.appendleft(alive)
                return
            self._alive = None
            output.emit.append(
                BackendLost(error.message, part="model", reply=alive.reply, fatal=False)
            )
            self._next(output)

    def _configuration(self) -> str:
        settings, start = self._settings, self._start
        audio_format = wire.audio_format(start.info.codec)
        audio_in: dict[str, object] = {
            "format": audio_format,
            "turn_detection": settings.detection(),
        }
        if settings.transcription_model:
            audio_in["transcription"] = {"model": settings.transcription_model}
        session: dict[str, object] = {
            "type": "realtime",
            "instructions": start.instructions,
            "output_modalities": ["audio"],
            "audio": {
                "input": audio_in,
                "output": {"format": audio_format, "voice": settings.voice},
            },
            "tools": wire.tools(start.tools),
            "tool_choice": "auto",
        }
        return wire.write("session.update", session=session)


def _arguments(call: wire.ToolCall) -> Json:
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except msgspec.MsgspecError:
        arguments = {}
    return arguments if isinstance(arguments, dict) else {}


def _code(body: wire.ResponseBody) -> str:
    error = (body.status_details or {}).get("error") or {}
    return str(error.get("code") or "")


def _reason(body: wire.ResponseBody) -> str:
    details = body.status_details or {}
    error = details.get("error") or {}
    return str(error.get("message") or error.get("code") or details.get("reason") or "failed")
