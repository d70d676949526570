"""What each message of one media stream means, in the order they come: a pure machine.

It gives sound its positions, and tells what a peer does wrong: what cannot be lived with ends the
stream with a close code, what can is noted once.

              connected  start           media, mark, dtmf  stop       malformed         deadline
    waiting   waiting    started or      over 1002          over 1002  over 1002         over 1008
                         over 1002/1003
    started   noted      over 1002       told               over       noted, the tenth  -
                                                                       is over 1002
    over      -          -               -                  -          -                 -
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import assert_never

import msgspec

from gateway.lines.keypad import KEYS
from gateway.lines.twilio import wire
from gateway.lines.websocket.codes import POLICY_VIOLATION, PROTOCOL_ERROR, UNSUPPORTED_DATA
from media.codec import WireForm, wire_form
from media.frame import AudioFrame

MALFORMED_MOST = 10
"""Malformed messages a stream may hold: one odd message must not cost a caller the call, a peer
that speaks something else must not be listened to for long."""

KINDS_NOTED = 16
"""Kinds of oddity noted per stream; each is noted once."""

SOUND_MOST = 8000
"""Bytes of one media message, a second of mu-law; Twilio sends 160."""

JITTER_MS = 19
"""Timestamps may be off by less than a frame without meaning that a frame is missing."""

AHEAD_SECONDS = 5.0
"""A timestamp further ahead of the clock than this says nothing."""

_SID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Twilio's are two letters and 32 hexadecimal digits; test peers have shorter ones.
They name files and log lines, so nothing else is let in."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The stream says which call it carries."""

    start: wire.StartDetail
    form: WireForm


class Heard(msgspec.Struct, frozen=True, gc=False):
    """Sound from the caller."""

    frame: AudioFrame


@dataclass(frozen=True, slots=True)
class Pressed:
    """The caller pressed a key."""

    key: str


@dataclass(frozen=True, slots=True)
class Echoed:
    """A mark came back: played, or cleared."""

    name: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """Twilio ends the stream."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The peer does what cannot be lived with: close."""

    code: int
    reason: str
    cause: str = "offer"
    "the same in one word, for the log"


@dataclass(frozen=True, slots=True)
class Noted:
    """The peer does something odd, for the log."""

    what: str
    detail: str = ""


Outcome = Opened | Heard | Pressed | Echoed | Stopped | Refused | Noted


@dataclass(slots=True)
class MediaStream:
    """Decides what messages mean; never answers them itself."""

    deadline: float | None
    "loop seconds by which `start` must have come"
    form: WireForm | None = None
    _sid: str = ""
    _connected: bool = False
    _over: bool = False
    _sequence: int = 0
    _malformed: int = 0
    _noted: set[str] = field(default_factory=set)
    _began: float = 0.0
    _base: int | None = None
    "position of timestamp 0"
    _end: int = 0
    "position after the last sample"

    def handle(self, message: wire.Message, now: float) -> list[Outcome]:
        """Take a message."""
        if self._over:
            return []
        match message:
            case wire.Media():
                return self._media(message, now)
            case wire.Mark():
                barred = self._barred(message)
                return [Echoed(message.mark.name)] if barred is None else barred
            case wire.Dtmf():
                barred = self._barred(message)
                return self._key(message.dtmf.digit) if barred is None else barred
            case wire.Connected():
                again, self._connected = self._connected, True
                return self._note("connected twice") if again else []
            case wire.Start():
                return self._start(message, now)
            case wire.Stop():
                return self._stop(message)
            case wire.Unknown():
                return self._note(f"unknown event {message.event[:40]!r}")
            case _:
                assert_never(message)

    def malformed(self, problem: str) -> list[Outcome]:
        """Take a message that could not be parsed."""
        if self._over:
            return []
        self._malformed += 1
        if self._sid and self._malformed < MALFORMED_MOST:
            return self._note("malformed message", problem)
        return self._refuse(PROTOCOL_ERROR, problem)

    def expire(self) -> list[Outcome]:
        """Take that the deadline has come."""
        if self._over or self.deadline is None:
            return []
        return self._refuse(POLICY_VIOLATION, "the stream did not start in time")

    # --- start and stop --------------------------------------------------------------------

    def _start(self, message: wire.Start, now: float) -> list[Outcome]:
        start = message.start
        if self._sid:
            return self._refuse(PROTOCOL_ERROR, "a second start: one call per socket")
        if not _SID.fullmatch(start.stream_sid) or not _SID.fullmatch(start.call_sid):
            return self._refuse(PROTOCOL_ERROR, "malformed streamSid or callSid")
        given = start.media_format
        if (given.encoding, given.sample_rate, given.channels) != ("audio/x-mulaw", 8000, 1):
            said = f"{given.encoding[:40]}, {given.sample_rate} Hz, {given.channels} channels"
            return self._refuse(UNSUPPORTED_DATA, f"media format not supported: {said}")
        if start.tracks and "inbound" not in start.tracks:
            return self._refuse(UNSUPPORTED_DATA, "the stream has no inbound track")
        odd = [] if self._connected else self._note("start without connected")
        self.deadline = None
        self.form = wire_form("pcmu", 8000)
        self._sid, self._sequence, self._began = start.stream_sid, message.sequence_number, now
        return [*odd, Opened(start, self.form)]

    def _stop(self, message: wire.Stop) -> list[Outcome]:
        if not self._sid:
            return self._refuse(PROTOCOL_ERROR, "stop before start")
        if message.stream_sid not in ("", self._sid):
            return self._note("message of another stream")
        self._over = True
        return [Stopped()]

    def _refuse(self, code: int, reason: str) -> list[Outcome]:
        self._over = True
        self.deadline = None
        return [Refused(code, reason)]

    # --- what comes in between -------------------------------------------------------------

    def _barred(self, message: wire.Media | wire.Mark | wire.Dtmf) -> list[Outcome] | None:
        """Return what a message leads to instead, if its place in the stream is wrong."""
        if not self._sid:
            return self._refuse(PROTOCOL_ERROR, "sound, mark or key before start")
        if message.stream_sid not in ("", self._sid):
            return self._note("message of another stream")
        number = message.sequence_number
        if number == 0:
            return None
        if number <= self._sequence:
            # The transport keeps order, so this is a repetition or a confused peer.
            return self._note("out of order", f"{number} after {self._sequence}")
        self._sequence = number
        return None

    def _key(self, digit: str) -> list[Outcome]:
        key = digit.upper()
        return [Pressed(key)] if len(key) == 1 and key in KEYS else self._note("unknown key")

    def _note(self, what: str, detail: str = "") -> list[Outcome]:
        if what in self._noted or len(self._noted) >= KINDS_NOTED:
            return []
        self._noted.add(what)
        return [Noted(what, detail)]

    # --- sound -----------------------------------------------------------------------------

    def _media(self, message: wire.Media, now: float) -> list[Outcome]:
        """Take sound, fifty times a second: what is as it should be is found out in few steps."""
        number = message.sequence_number
        if message.stream_sid == self._sid and number > self._sequence > 0:
            self._sequence = number
        elif (barred := self._barred(message)) is not None:
            return barred
        media = message.media
        if media.track != "inbound":
            return self._note("sound of another track")
        payload = media.payload
        if not payload or len(payload) > SOUND_MOST:
            return self._note("sound of an odd length", f"{len(payload)} bytes")
        form = self.form
        assert form is not None, "sound is only taken after `start`"
        odd = self._place(media.timestamp, form.rate, now)
        start = self._end
        self._end = start + len(payload) // form.bytes_per_sample
        heard = Heard(AudioFrame(form.decode(payload), form.rate, start, payload, form.name))
        return [*odd, heard] if odd else [heard]

    def _place(self, timestamp_ms: int, rate: int, now: float) -> list[Outcome] | None:
        """Move the position to where a timestamp says, where that is ahead by a frame or more.

        Timestamps count milliseconds from the stream's start; the first need not be 0, and with
        nothing sent for silence they jump.
        """
        stamped = timestamp_ms * rate // 1000
        if self._base is None:
            self._base = -stamped if self._is_absurd(stamped, rate, now) else 0
            self._end = self._base + stamped
            return None
        off = self._base + stamped - self._end
        if -JITTER_MS <= off * 1000 // rate <= JITTER_MS:
            return None
        if off > 0 and not self._is_absurd(self._end + off, rate, now):
            self._end += off
            return None
        # Back in time, or further ahead than time went: sound that came is never dropped for it.
        self._base -= off
        return self._note("timestamp jumps", f"{off * 1000 // rate} ms")

    def _is_absurd(self, position: int, rate: int, now: float) -> bool:
        return not 0 <= position <= (now - self._began + AHEAD_SECONDS) * rate
