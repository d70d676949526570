"""The shell of a streaming recogniser: one caller's connection, renewed when it breaks.

The sound is kept until its words are final, so that a new connection begins where the old one was
sure of itself, and the words of a turn are not lost with it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from gateway.backends.cascade.ports import Transcript
from gateway.backends.cascade.recognisers.caller_sound import SoundRing
from gateway.backends.cascade.recognisers.dialect import Dialect, DialectMaker
from gateway.backends.cascade.recognisers.heard import HeardWords
from gateway.backends.socket import ModelSocket
from media.frame import AudioFrame

KEPT_SECONDS = 30.0
"""Sound that can be heard again by a new connection: a long turn."""

PIECE_SECONDS = 0.08
"""Sound in one message; Deepgram's own advice for Flux, and four telephone packets."""

PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)
"""Seconds before each new attempt to connect, the last one again and again."""

LASTED = 1.0
"""A connection that breaks sooner is one more failure: some servers accept and then refuse."""

AFTER = 0.1
"""Seconds of sound behind a turn's end that must have been listened to for its words to be known:
a last consonant may follow the last voiced sample."""

log = structlog.get_logger("recogniser")


@dataclass(frozen=True, slots=True)
class StreamingRecogniser:
    """Implements `Recogniser` over a vendor's protocol."""

    maker: DialectMaker
    advises: bool = False
    "what it says about turns is passed on"
    drives: bool = False
    "it decides when the caller is done"

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> StreamedSound:
        """Begin a caller's stream; its `serve` must run for it to hear anything."""
        return StreamedSound(self.maker, rate, tuple(hints), on_words, advises=self.advises)


class StreamedSound:
    """One caller's sound at a remote recogniser."""

    def __init__(
        self,
        maker: DialectMaker,
        rate: int,
        hints: tuple[str, ...],
        on_words: Callable[[Transcript], None] | None,
        *,
        advises: bool = False,
    ) -> None:
        self._advises = advises
        self._maker = maker
        self._rate = rate
        self._hints = hints
        self._on_words = on_words
        self._words = HeardWords(rate)
        self._ring = SoundRing(rate, KEPT_SECONDS)
        self._sent = 0
        "position up to which the present connection has the sound"
        self._socket: ModelSocket | None = None
        self._dialect: Dialect | None = None
        self._changed = asyncio.Event()
        self._asked: deque[int] = deque(maxlen=8)
        self.reason = "not connected yet"
        "why there is no connection"

    # --- the port ---------------------------------------------------------------------------

    async def serve(self) -> None:
        """Keep a connection until cancelled."""
        failures = 0
        while True:
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
            failures = 0 if await self._connection() else failures + 1

    def feed(self, frame: AudioFrame) -> None:
        """Keep the next frame, and send it."""
        self._ring.push(frame.start, frame.samples())
        self._send(int(PIECE_SECONDS * self._rate))

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        """Return the words in [start, end); raise TimeoutError when they are not known in time."""
        wanted = min(end + int(AFTER * self._rate), max(end, self._ring.end))
        if final and self._maker.flushes and self._words.processed < wanted:
            self._flush(end)
        try:
            async with asyncio.timeout(self._maker.answer_seconds):
                while self._words.processed < wanted:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            why = self.reason or "its words did not come in time"
            raise TimeoutError(f"the recogniser: {why}") from None
        text = self._words.between(start, end)
        return Transcript(text, final=final)

    async def close(self) -> None:
        """End the session."""
        if self._socket is not None and self._dialect is not None:
            for message in self._dialect.goodbye():
                self._put(message)
            self._socket.close()

    # --- one connection ------------------------------------------------------------------------

    async def _connection(self) -> bool:
        """Connect, and stay until it is over; say whether there was a connection to speak of."""
        loop = asyncio.get_running_loop()
        self._words.lost()
        origin = max(self._words.settled, self._ring.end - int(KEPT_SECONDS * self._rate))
        dialect = self._maker.connection(self._words, self._rate, origin, self._hints)
        socket = ModelSocket(lambda message: self._message(socket, dialect, message))
        try:
            await socket.open(dialect.url(), dialect.headers(), self._maker.connect_seconds)
        except OSError as broken:  # TimeoutError is one
            self.reason = str(broken) or "no connection in time"
            log.info("recogniser_unreachable", reason=self.reason)
            return False
        self._socket, self._dialect, self._sent = socket, dialect, origin
        self.reason = ""
        begun = loop.time()
        try:
            for message in dialect.hello():
                self._put(message)
            self._send(1)
            await socket.closed.wait()
        finally:
            self._socket = self._dialect = None
            socket.close()
        self.reason = socket.reason
        log.info("recogniser_lost", reason=socket.reason)
        return loop.time() - begun > LASTED

    def _send(self, least: int) -> None:
        """Send what is kept and was not sent, when it is enough for a message."""
        if self._socket is None or self._dialect is None or self._ring.end - self._sent < least:
            return
        piece = int(PIECE_SECONDS * self._rate)
        while self._sent < self._ring.end:
            until = min(self._ring.end, self._sent + piece)
            sound = self._ring.take(self._sent, until).tobytes()
            self._sent = until
            for message in self._dialect.sound(sound):
                self._put(message)

    def _flush(self, end: int) -> None:
        """Ask once for the words up to `end`."""
        if self._dialect is None or end in self._asked:
            return
        self._asked.append(end)
        self._send(1)
        for message in self._dialect.flush():
            self._put(message)

    def _put(self, message: str | bytes) -> None:
        if self._socket is None:
            return
        if isinstance(message, str):
            self._socket.send(message)
        else:
            self._socket.send_bytes(message)

    def _message(self, socket: ModelSocket, dialect: Dialect, message: bytes) -> None:
        if dialect is not self._dialect and self._dialect is not None:
            return  # of a connection that was given up
        try:
            partial = dialect.receive(message)
        except ValueError as wrong:
            log.info("bad_event", reason=str(wrong)[:200])
            return
        except OSError as broken:
            socket.reason = str(broken)
            socket.close()
            return
        self._changed.set()
        if partial is not None and self._on_words is not None:
            self._on_words(partial if self._advises else replace(partial, turn=None))
