"""A bot of Pipecat on Twilio's socket: hears, decides about turns, answers with a tone.

Run in an environment of its own: `pipecat_bot.py PORT vad|turn SECONDS`. It prints `ready` when it
listens. Everything but the answer is Pipecat's: transport, Twilio's serializer, Silero's voice
activity, turn strategies (a timer, or its own smart-turn model), interruptions and pacing.
"""

from __future__ import annotations

import json
import socket
import sys

import numpy as np
import uvicorn
import uvloop
from fastapi import FastAPI, WebSocket
from loguru import logger
from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import (
    Frame,
    StartFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.turns.user_start import VADUserTurnStartStrategy
from pipecat.turns.user_stop import (
    SpeechTimeoutUserTurnStopStrategy,
    TurnAnalyzerUserTurnStopStrategy,
)
from pipecat.turns.user_turn_processor import UserTurnProcessor
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner

RATE = 8000
GREETING_SECONDS = 0.5

PORT, TURNS, SECONDS = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])


def tone(seconds: float) -> bytes:
    """Return a tone as loud as speech."""
    at = np.arange(round(RATE * seconds)) / RATE
    sound: bytes = (8000 * np.cos(2 * np.pi * 300 * at)).astype("<i2").tobytes()
    return sound


class Answer(FrameProcessor):
    """Says hello, and answers every turn."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        if isinstance(frame, StartFrame):
            await self._say(GREETING_SECONDS)
        elif isinstance(frame, UserStoppedSpeakingFrame):
            await self._say(SECONDS)

    async def _say(self, seconds: float) -> None:
        await self.push_frame(TTSAudioRawFrame(tone(seconds), RATE, 1))
        await self.push_frame(TTSStoppedFrame())


def strategies() -> UserTurnStrategies:
    """Decide about turns as asked: by a timer after voice activity, or by the end-of-turn model."""
    if TURNS == "vad":
        stop = SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.4, wait_for_transcript=False)
    else:
        stop = TurnAnalyzerUserTurnStopStrategy(
            turn_analyzer=LocalSmartTurnAnalyzerV3(), wait_for_transcript=False
        )
    return UserTurnStrategies(start=[VADUserTurnStartStrategy()], stop=[stop])


app = FastAPI()


@app.websocket("/ws")
async def call(caller: WebSocket) -> None:
    """Hold one call."""
    await caller.accept()
    await caller.receive_text()  # connected
    start = json.loads(await caller.receive_text())
    serializer = TwilioFrameSerializer(
        start["streamSid"], params=TwilioFrameSerializer.InputParams(auto_hang_up=False)
    )
    transport = FastAPIWebsocketTransport(
        websocket=caller,
        params=FastAPIWebsocketParams(
            audio_in_enabled=True, audio_out_enabled=True, serializer=serializer
        ),
    )
    pipeline = Pipeline(
        [
            transport.input(),
            VADProcessor(vad_analyzer=SileroVADAnalyzer()),
            UserTurnProcessor(user_turn_strategies=strategies()),
            Answer(),
            transport.output(),
        ]
    )
    worker = PipelineWorker(
        pipeline,
        params=PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE),
        cancel_on_idle_timeout=False,
        idle_timeout_secs=None,
        enable_rtvi=False,
        enable_turn_tracking=False,
    )

    @transport.event_handler("on_client_disconnected")
    async def gone(_transport: object, _client: object) -> None:
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


class Server(uvicorn.Server):
    """Says when it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print("ready", flush=True)


logger.remove()
logger.add(sys.stderr, level="ERROR")
config = uvicorn.Config(app, host="127.0.0.1", port=PORT, log_level="warning")
uvloop.run(Server(config).serve())
