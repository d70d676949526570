"""The shell of a voice that takes text as it is made: sends words, gives sound, stops at once.

Connections that serve more than one utterance are kept for the next one, since opening one costs
more than the voice's first sound.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import structlog

from gateway.backends.cascade.ports import SpeechChunk
from gateway.backends.cascade.voices.dialect import VoiceDialect, VoiceMaker, VoiceNews
from gateway.backends.cascade.voices.spoken_text import Pace, SpokenText
from gateway.backends.socket import ModelSocket
from gateway.events import Word
from media.resample import Resampler

IDLE_CONNECTIONS = 8
"""Kept for the next utterances, of each rate."""

CLEAN_SECONDS = 0.3
"""How long an answer to a cancelled utterance is waited for before a new connection is better."""

INBOX = 4096
"""Messages of a voice that may wait to be taken; beyond it the connection is given up."""

log = structlog.get_logger("voice")


@dataclass(eq=False)
class _Connection:
    """One connection, and what came over it."""

    dialect: VoiceDialect
    inbox: asyncio.Queue[VoiceNews | OSError | None] = field(
        default_factory=lambda: asyncio.Queue(INBOX)
    )
    "None: all text was sent"
    socket: ModelSocket = field(init=False)

    def __post_init__(self) -> None:
        self.socket = ModelSocket(self._text, self._closed, self._binary)

    def send(self, messages: Sequence[str]) -> None:
        """Send messages."""
        for message in messages:
            self.socket.send(message)

    def put(self, news: VoiceNews | OSError | None) -> None:
        """Queue what happened; a voice that is not listened to any more is given up."""
        if self.inbox.full():
            self.socket.close()
            return
        self.inbox.put_nowait(news)

    def _text(self, message: bytes) -> None:
        try:
            self.put(self.dialect.receive(message))
        except ValueError as wrong:
            log.info("bad_event", reason=str(wrong)[:200])
        except OSError as broken:
            self.put(broken)

    def _binary(self, message: bytes) -> None:
        self.put(self.dialect.sound(message))

    def _closed(self) -> None:
        self.put(OSError(f"the voice: {self.socket.reason}"))


class StreamingVoice:
    """Implements `Voice` over a vendor's protocol; one for all calls."""

    def __init__(self, maker: VoiceMaker) -> None:
        self._maker = maker
        self._idle: dict[int, list[_Connection]] = {}
        self._pace = Pace()

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Speak a stream of tokens; closing the iterator stops the voice."""
        connection = await self._connect(rate)
        done = False
        spoken = SpokenText(rate, self._pace)
        try:
            connection.send(connection.dialect.begin())
            async with (
                _beside(_send(connection, texts, spoken)),
                aclosing(self._sound(connection, spoken, rate)) as chunks,
            ):
                async for chunk in chunks:
                    yield chunk
            done = True
        finally:
            self._put_back(connection, rate, done)

    async def close(self) -> None:
        """Close every idle connection."""
        for connections in self._idle.values():
            for connection in connections:
                connection.socket.close()
        self._idle.clear()

    async def _sound(
        self, connection: _Connection, spoken: SpokenText, rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Return the sound of one utterance until all of it was given."""
        dialect = connection.dialect
        resampler = Resampler(dialect.rate, rate)
        sent = asked = False
        while True:
            limit = self._maker.silent_seconds if sent else None
            try:
                async with asyncio.timeout(limit):
                    news = await connection.inbox.get()
            except TimeoutError:
                raise TimeoutError("the voice fell silent") from None
            match news:
                case None:
                    sent = True
                    asked = spoken.asked
                    if not asked:
                        return  # there was nothing to say
                case OSError():
                    raise news
                case VoiceNews():
                    pcm = resampler.feed(news.pcm)
                    if news.done:
                        pcm += resampler.flush()
                    if chunk := _chunk(spoken, pcm, news, timed=dialect.times):
                        yield chunk
                    if news.done:
                        break
        text, words = spoken.end()
        if text:
            yield SpeechChunk(b"", text, words)
        if not spoken.seconds:
            raise OSError("the voice gave no sound")

    async def _connect(self, rate: int) -> _Connection:
        """Take a connection that is kept, or open one."""
        idle = self._idle.setdefault(rate, [])
        while idle:
            connection = idle.pop()
            if await _cleaned(connection):
                return connection
            connection.socket.close()
        connection = _Connection(self._maker.connection(rate))
        dialect = connection.dialect
        await connection.socket.open(dialect.url(), dialect.headers(), self._maker.connect_seconds)
        return connection

    def _put_back(self, connection: _Connection, rate: int, done: bool) -> None:
        """Keep a connection for the next utterance, stopped if need be, or close it."""
        if not done:
            connection.send(connection.dialect.cancel())
        idle = self._idle.setdefault(rate, [])
        alive = not connection.socket.closed.is_set()
        if alive and connection.dialect.reusable and len(idle) < IDLE_CONNECTIONS:
            idle.append(connection)
        else:
            connection.socket.close()


@asynccontextmanager
async def _beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run work that never fails while the block is left open.

    A group entered by hand: what a generator is closed with, or raises, is no failure of a group,
    and must not come out of it as one.
    """
    group = asyncio.TaskGroup()
    await group.__aenter__()
    task = group.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await group.__aexit__(None, None, None)


async def _send(connection: _Connection, texts: AsyncIterator[str], spoken: SpokenText) -> None:
    """Send the words as they become whole; a failure is the receiver's to raise."""
    partial = ""
    try:
        async for token in texts:
            spoken.add(token)
            partial += token
            cut = max(partial.rfind(space) for space in " \n\t") + 1
            if cut and partial[:cut].strip():
                connection.send(connection.dialect.say(partial[:cut]))
                partial = partial[cut:]
        if partial.strip():
            connection.send(connection.dialect.say(partial))
        spoken.whole()
        if spoken.asked:
            connection.send(connection.dialect.finish())
    except OSError as broken:
        connection.put(broken)
    else:
        connection.put(None)


async def _cleaned(connection: _Connection) -> bool:
    """Make sure that nothing of the utterance before can come; False: it cannot be used."""
    try:
        async with asyncio.timeout(CLEAN_SECONDS):
            while not connection.dialect.clean:
                if isinstance(await connection.inbox.get(), OSError):
                    return False
    except TimeoutError:
        return False
    while not connection.inbox.empty():
        if isinstance(connection.inbox.get_nowait(), OSError):
            return False
    return not connection.socket.closed.is_set()


def _chunk(spoken: SpokenText, pcm: bytes, news: VoiceNews, *, timed: bool) -> SpeechChunk | None:
    """Join a piece of sound with the words that begin in it."""
    text, words = "", tuple[Word, ...]()
    if news.times:
        text, words = spoken.timed(news.times)
    samples = len(pcm) // 2
    if timed:
        spoken.advance(samples)
    elif samples:
        text, words = spoken.sound(samples)
    return SpeechChunk(pcm, text, words) if pcm or text else None
