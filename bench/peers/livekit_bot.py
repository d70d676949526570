"""A bot of LiveKit Agents on Twilio's socket: hears, decides about turns, answers with a tone.

Run in an environment of its own: `livekit_bot.py PORT vad|turn SECONDS`. It prints `ready` when it
listens. LiveKit Agents has no transport for this protocol: the socket, mu-law and the pacing of
frames are here, as lean as may be; the session (voice activity, turns, interruptions, speech) is
its own, without a room.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections import deque
from collections.abc import AsyncIterator

import numpy as np
import uvloop
from aiohttp import WSMsgType, web
from livekit import rtc
from livekit.agents import Agent, AgentSession, ChatContext, ChatMessage, StopResponse, inference
from livekit.agents.voice import io

RATE, FRAME = 8000, 160
GREETING_SECONDS = 0.5
SILENCE = 0.6

PORT, TURNS, SECONDS = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])

VAD = inference.VAD(model="silero")


def _magnitudes() -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    """Return what each mu-law byte stands for (ITU-T G.711)."""
    byte = ~np.arange(256, dtype=np.int32) & 0xFF
    size = (((byte & 0x0F) << 3) + 0x84) << ((byte & 0x70) >> 4)
    return np.where(byte & 0x80, 0x84 - size, size - 0x84).astype("<i2")


DECODED = _magnitudes()
ENCODED = np.argmin(
    np.abs(DECODED[None, :].astype(np.int32) - np.arange(-32768, 32768, 16)[:, None]), axis=1
).astype(np.uint8)


def decode(payload: bytes) -> bytes:
    """Decode mu-law."""
    return DECODED[np.frombuffer(payload, np.uint8)].tobytes()


def encode(pcm: bytes) -> bytes:
    """Encode mu-law."""
    return ENCODED[(np.frombuffer(pcm, "<i2").astype(np.int32) + 32768) >> 4].tobytes()


def tone(seconds: float) -> list[rtc.AudioFrame]:
    """Return a tone as loud as speech, in frames."""
    at = np.arange(round(RATE * seconds)) / RATE
    pcm = (8000 * np.cos(2 * np.pi * 300 * at)).astype("<i2").tobytes()
    size = 2 * FRAME
    return [rtc.AudioFrame(pcm[n : n + size], RATE, 1, FRAME) for n in range(0, len(pcm), size)]


async def frames(seconds: float) -> AsyncIterator[rtc.AudioFrame]:
    """Give the tone as a voice would."""
    for frame in tone(seconds):
        yield frame


class Hears(io.AudioInput):
    """The caller's sound."""

    def __init__(self) -> None:
        super().__init__(label="twilio")
        self.waiting: asyncio.Queue[rtc.AudioFrame] = asyncio.Queue()

    async def __anext__(self) -> rtc.AudioFrame:
        return await self.waiting.get()


class Speaks(io.AudioOutput):
    """Sends the agent's sound, a frame every 20 ms, a tenth of a second ahead."""

    def __init__(self, socket: web.WebSocketResponse, stream: str) -> None:
        super().__init__(
            label="twilio", capabilities=io.AudioOutputCapabilities(pause=False), sample_rate=RATE
        )
        self._socket = socket
        self._head = f'{{"event":"media","streamSid":"{stream}","media":{{"payload":"'
        self._clear = f'{{"event":"clear","streamSid":"{stream}"}}'
        self._frames: deque[bytes] = deque()
        self._more = asyncio.Event()
        self._ends = False
        self._played = 0
        self._clearing: asyncio.Future[None] | None = None

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        self._frames.append(bytes(frame.data))
        self._more.set()

    def flush(self) -> None:
        super().flush()
        self._ends = True
        self._more.set()

    def clear_buffer(self) -> None:
        if self._frames or self._played:
            self._frames.clear()
            self._clearing = asyncio.ensure_future(self._socket.send_str(self._clear))
            self._finish(interrupted=True)

    def _finish(self, *, interrupted: bool) -> None:
        played, self._played, self._ends = self._played, 0, False
        self.on_playback_finished(playback_position=played * 0.02, interrupted=interrupted)

    async def run(self) -> None:
        """Pace what waits until the call is over."""
        loop = asyncio.get_running_loop()
        while True:
            await self._more.wait()
            self._more.clear()
            due = loop.time() - 0.1
            while self._frames:
                payload = base64.b64encode(encode(self._frames.popleft())).decode()
                self._played += 1
                await self._socket.send_str(f'{self._head}{payload}"}}}}')
                due += 0.02
                if (wait := due - loop.time()) > 0:
                    await asyncio.sleep(wait)
            if self._ends and self._played:
                await asyncio.sleep(0.1)
                if self._played and not self._frames:
                    self._finish(interrupted=False)


class Answers(Agent):
    """Says hello, and answers every turn."""

    async def on_enter(self) -> None:
        self.session.say("hello", audio=frames(GREETING_SECONDS))

    async def on_user_turn_completed(self, turn_ctx: ChatContext, new_message: ChatMessage) -> None:
        self.session.say("answer", audio=frames(SECONDS))
        raise StopResponse


async def listen(socket: web.WebSocketResponse, hears: Hears) -> None:
    """Take the caller's sound until they hang up."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            return
        said = json.loads(message.data)
        if said["event"] == "media":
            pcm = decode(base64.b64decode(said["media"]["payload"]))
            hears.waiting.put_nowait(rtc.AudioFrame(pcm, RATE, 1, len(pcm) // 2))
        elif said["event"] == "stop":
            return


async def call(request: web.Request) -> web.WebSocketResponse:
    """Hold one call."""
    socket = web.WebSocketResponse(compress=False)
    await socket.prepare(request)
    await socket.receive_str()  # connected
    stream = json.loads(await socket.receive_str())["streamSid"]
    hears, speaks = Hears(), Speaks(socket, stream)
    session: AgentSession[None] = AgentSession(
        vad=VAD,
        turn_handling={
            # Its own half a second would make it stop late; 0.2 s is what Pipecat waits for.
            "interruption": {"min_duration": 0.2, "resume_false_interruption": False},
            "turn_detection": "vad" if TURNS == "vad" else inference.TurnDetector(),
            **({"endpointing": {"min_delay": SILENCE}} if TURNS == "vad" else {}),
        },
        user_away_timeout=None,
    )
    session.input.audio, session.output.audio = hears, speaks
    async with asyncio.TaskGroup() as group:
        pacing = group.create_task(speaks.run())
        await session.start(Answers(instructions=""), record=False)
        try:
            await listen(socket, hears)
        finally:
            pacing.cancel()
            await session.aclose()
    return socket


async def main() -> None:
    """Serve until killed."""
    app = web.Application()
    app.add_routes([web.get("/ws", call)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", PORT).start()
    print("ready", flush=True)
    await asyncio.Event().wait()


uvloop.run(main())
