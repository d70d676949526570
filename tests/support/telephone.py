"""The far end of a Twilio stream: a telephone that plays, records and speaks in real time."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed

from gateway.caller.playclock import PlayClock
from tests.gateway.lines.twilio.harness import Far, media_message

SILENCE = b"\xff" * 160

NETWORK = 0.04
"""Seconds one way between gateway and telephone."""


@dataclass
class Telephone:
    """Twilio's end: plays in real time, gives marks back, and records what was heard."""

    far: Far
    clock: PlayClock = field(default_factory=PlayClock)
    recording: bytearray = field(default_factory=bytearray)
    first_media: list[float] = field(default_factory=list)
    silent: bool = True

    said: bytes = SILENCE
    "what the person is saying: a frame"
    started: list[tuple[float, bytes]] = field(default_factory=list)
    "the pieces that were heard, each with the moment at which it began"

    def at(self) -> int:
        return round((asyncio.get_running_loop().time() - 1000) * 8000)

    async def listen(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for text in self.far.socket:
                message = json.loads(text)
                if message["event"] == "media" and self.silent:
                    self.silent = False
                    self.first_media.append(loop.time())
                loop.call_at(self._next(), self.take, message)
        except ConnectionClosed:
            pass  # somebody has hung up

    def take(self, message: dict[str, Any]) -> None:
        self.play()
        match message["event"]:
            case "media":
                self.clock.push(base64.b64decode(message["media"]["payload"]), self.at())
            case "mark":
                self.clock.mark(message["mark"]["name"], self.at())
            case "clear":
                self.give_back(self.clock.clear(self.at()))

    def play(self) -> None:
        heard, passed = self.clock.advance(self.at())
        for piece in heard:
            self.recording += piece.payload
            self.started.append((1000 + piece.start / 8000, piece.payload))
        self.give_back(passed)

    def give_back(self, marks: list[str]) -> None:
        for name in marks:
            message = {"event": "mark", "streamSid": "MZ0a", "mark": {"name": name}}
            asyncio.get_running_loop().call_at(self._next(), self._queue, message)

    def _next(self) -> float:
        """Return when the next message is over the network: timers of one moment have no order."""
        self._latest = max(self._latest + 1e-6, asyncio.get_running_loop().time() + NETWORK)
        return self._latest

    _latest: float = 0.0
    sent: list[dict[str, Any]] = field(default_factory=list)

    def _queue(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def speak(self) -> None:
        """Send a frame every 20 ms, and the marks that are due."""
        loop = asyncio.get_running_loop()
        begun, number = loop.time(), 0
        while True:
            number += 1
            await asyncio.sleep(max(0.0, begun + number * 0.02 - loop.time()))
            self.play()
            due, self.sent = self.sent, []
            message = media_message(number + 1, number * 20, self.said)
            for one in [*due, message]:
                await self.far.socket.send(json.dumps(one))
