"""One caller on a Twilio media stream, once the stream has said which call it carries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from gateway.events import CallerGone, CallerKey, CallInfo, TransferEnded
from gateway.lines.twilio import twiml
from gateway.lines.twilio.rest import TwilioRest
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.twilio.tones import keys_as_sound
from gateway.lines.twilio.wire import Outgoing
from gateway.lines.websocket.codes import NORMAL
from gateway.lines.websocket.early import EarlyBuffer
from gateway.lines.websocket.marks import MarkPlan
from gateway.lines.websocket.socket import MediaSocket
from gateway.ports import Ear, LineEvent
from media.codec import WireForm
from media.frame import FRAME_SECONDS, AudioFrame
from media.playout import Chunk, Mark, Playout

HANG_UP_SECONDS = 5.0
"""How long Twilio may take to end the stream after it was told to end or move the call."""


class TwilioLeg:
    """Turns chunks into messages and messages into what the call hears; knows no conversation."""

    clocked = False
    cancels_echo = False
    witness = None
    page = None

    def __init__(
        self,
        info: CallInfo,
        stream_sid: str,
        socket: MediaSocket,
        form: WireForm,
        settings: TwilioSettings,
        rest: TwilioRest | None,
    ) -> None:
        self.info = info
        self.playout = Playout(form, lead=round(settings.lead * form.rate))
        self._socket = socket
        self._settings = settings
        self._rest = rest
        self._out = Outgoing(stream_sid)
        self._marks = MarkPlan(round(settings.mark_every * form.rate))
        self._ear = EarlyBuffer(round(settings.early_seconds / FRAME_SECONDS))
        self._leaving = ""
        self._gone = False
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._log = structlog.get_logger("twilio").bind(call_id=info.call_id)

    # --- what the call asks for ------------------------------------------------------------

    def attach(self, ear: Ear) -> None:
        """Give sound and events to `ear` from now on; what came before is handed over first."""
        if self._ear.lost:
            self._log.warning("early_sound_lost", frames=self._ear.lost)
        self._ear.attach(ear)

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Put chunks on the wire, each mark behind the sound it speaks of, all in one write."""
        if self._gone:
            return
        messages: list[bytes] = []
        for chunk in chunks:
            if (mark := self._marks.before(chunk)) is not None:
                messages.append(self._out.mark(mark.name()))
            messages.append(self._out.media(chunk.payload))
            if (mark := self._marks.after(chunk)) is not None:
                messages.append(self._out.mark(mark.name()))
        if not chunks and (mark := self._marks.rest()) is not None:
            messages.append(self._out.mark(mark.name()))
        if messages:
            self._socket.send(messages)

    def poll(self, now: float) -> None:
        """Nothing: what the caller says comes by itself."""

    def clear(self) -> None:
        """Make Twilio forget what it has not played; it sends all marks back at once."""
        self._marks.forget()
        self._socket.send([self._out.clear])

    def send_keys(self, keys: str) -> None:
        """Play keys as tones; Twilio queues them behind what it has, and what follows waits."""
        form = self.playout.form
        self._socket.send([self._out.media(sound) for sound in keys_as_sound(keys, form)])

    def transfer(self, target: str, summary: str) -> None:
        """Dial `target` in the place of this stream; Twilio has no field for the summary."""
        if self._rest is None:
            reason = "transfers need TWILIO_AUTH_TOKEN"
            self._log.warning("transfer_failed", reason=reason)
            self._notice(TransferEnded(False, reason))
            return
        shown = twiml.shown_number(self.info.caller, self.info.callee, self._settings)
        document = twiml.transfer(target, shown)
        ask = partial(self._rest.transfer, self.info.call_id, document)
        self._in_thread("transfer", ask, self._transferred)

    def behind(self) -> float:
        """Return nothing: how long sound was on its way is not measured here."""
        return 0.0

    def hang_up(self, reason: str) -> None:
        """End the call through Twilio's API, or else by closing the stream."""
        if self._gone or self._leaving:
            return
        self._leaving = reason or "hung up"
        if self._rest is None:
            self._socket.close(NORMAL, "call ended")
            return
        self._close_later()
        ask = partial(self._rest.hang_up, self.info.call_id)
        self._in_thread("hang_up", ask, self._hung_up)

    # --- what the stream brings ------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's next sound."""
        if not self._leaving:
            self._ear.hear(frame)

    def pressed(self, key: str) -> None:
        """Take a key of the caller's."""
        self._notice(CallerKey(key))

    def echoed(self, name: str, now: float) -> None:
        """Take a mark that came back; raises ValueError for one that is not ours."""
        self.playout.acknowledge(Mark.parse(name), now)

    def stopped(self) -> None:
        """Take that Twilio ended the stream: the caller hung up, or the call went elsewhere."""
        self._end(CallerGone(self._leaving or "caller hung up"))

    def lost(self, code: int, reason: str) -> None:
        """Take that the socket is down."""
        if self._leaving or code == NORMAL:
            self._end(CallerGone(self._leaving or "stream closed"))
        else:
            self._end(CallerGone(f"socket lost: {code} {reason}".rstrip(), failure=True))

    # --- inside ----------------------------------------------------------------------------

    def _end(self, event: CallerGone) -> None:
        if self._gone:
            return
        self._gone = True
        if self._timer is not None:
            self._timer.cancel()
        self._ear.end(event)

    def _notice(self, event: LineEvent) -> None:
        if not self._gone:
            self._ear.notice(event)

    def _transferred(self, problem: str | None) -> None:
        if problem is None:
            self._leaving = self._leaving or "transferred"
            self._close_later()
            self._notice(TransferEnded(True))
        else:
            self._log.warning("transfer_failed", reason=problem)
            self._notice(TransferEnded(False, problem))

    def _close_later(self) -> None:
        """Close the stream if Twilio, told to take the call away, does not."""
        if self._timer is None and not self._gone:
            self._timer = self._loop.call_later(HANG_UP_SECONDS, self._socket.close, NORMAL)

    def _hung_up(self, problem: str | None) -> None:
        if problem is not None and not self._gone:
            self._log.warning("hang_up_failed", reason=problem)
            self._socket.close(NORMAL, "call ended")

    def _in_thread(
        self, what: str, ask: Callable[[], None], then: Callable[[str | None], None]
    ) -> None:
        """Ask Twilio something outside the loop; `then` is told why it failed, or None."""

        def done(future: asyncio.Future[None]) -> None:
            if future.cancelled():
                then("shutting down")
                return
            error = future.exception()
            if error is not None and not isinstance(error, OSError):
                self._log.error("fault_in_rest_client", exc_info=error)
            if error is None:
                self._log.info("twilio_asked", what=what)  # what fails is said by `then`
            then(None if error is None else str(error))

        self._loop.run_in_executor(None, ask).add_done_callback(done)
