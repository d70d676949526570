"""A call through a Realtime server that no one here wrote: Hugging Face's `speech-to-speech`.

It decides about turns with a detector of its own and hears and speaks through OpenAI's routes,
which Parley's own recogniser and voice serve; a scripted model answers. It knows no G.711, tells of
no truncation, and has its own order of events.
"""

from __future__ import annotations

import asyncio
import csv
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from bench.calls.gateway_process import ROOT, gateway
from gateway.caller.measure import Figures, measure
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan, CutIn, Say
from gateway.caller.report import CutIn as CutInFigures
from gateway.caller.sound import load
from gateway.caller.twilio import TwilioCaller
from gateway.observe.lines import LogLine
from tests.support import chat_server
from tests.support.chat_server import FakeChat
from tests.support.local_sound import LocalSound
from tests.support.peers import is_up
from tests.support.realtime_tap import RealtimeTap

FOLDER = ROOT / ".peers/speech-to-speech"
PROGRAM = FOLDER / "bin/speech-to-speech"

pytestmark = [
    pytest.mark.peer,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (FOLDER / ".made").exists(),
        reason="not installed: speech-to-speech (make speech-to-speech; 1.5 GB)",
    ),
]

START_SECONDS = 120.0
"""It starts in eight seconds; on a busy machine in a minute."""

HEARD_SECONDS = 0.06
"""How far the truncation may be from what the far end recorded."""

RATE = 8000
"""Of the line."""

SPEECH = ROOT / "tests/data/speech"
OPENING = SPEECH / "demo/tel_ar40_caller_light.flac"
CUT = SPEECH / "complete/sti_c13_45e6e6bb.flac"
SECOND = "coffee"
"""A word of the second that is not in the first."""

LONG = (
    "Our garage is open from Monday to Saturday, and we look at every car within one day. "
    "Most repairs are done by the evening. We call you before we begin. "
    "Should we look at the brakes as well, while the car is here?"
)
SHORT = "You are welcome, goodbye and thank you for calling."

AGENT = """
instructions = "You are the receptionist of a garage."

[lines]
greeting = "Good morning."

[backend]
kind = "realtime"

[backend.options]
url = "{url}/v1/realtime"
sound = "pcm"
turns = "server_vad"
"""


class Receptionist(FakeChat):
    """Answers by what was said last, not by how often it is asked: the server asks at its start,
    and again, with both turns in one, when an answer that it was making was cut."""

    def __init__(self, gap: float) -> None:
        super().__init__([], "vllm")
        self.gap = gap

    def answer(self, body: dict[str, Any]) -> chat_server.Say:
        last = next(one for one in reversed(body["messages"]) if one["role"] == "user")
        text = SHORT if SECOND in str(last["content"]).lower() else LONG
        return chat_server.Say(text, gap=self.gap)


@asynccontextmanager
async def server(sound: LocalSound, chat: FakeChat, log: Path) -> AsyncIterator[str]:
    """Run the server with those behind it; give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    options = {
        "--host": "127.0.0.1",
        "--port": str(port),
        "--device": "cpu",
        "--stt": "openai",
        "--openai-stt-base-url": sound.url,
        "--openai-stt-model": "moonshine",
        "--llm-backend": "chat-completions",
        "--responses-api-base-url": chat.url,
        "--model-name": "receptionist",
        "--stream-batch-sentences": "1",
        "--tts": "openai",
        "--openai-tts-base-url": sound.url,
        "--openai-tts-model": "hibari",
    }
    offline = {
        "TORCH_HOME": str(FOLDER / "share/torch"),
        "NLTK_DATA": str(FOLDER / "share/nltk"),
        "HF_HUB_OFFLINE": "1",
        "OPENAI_API_KEY": "none",
    }
    words = [word for option in options.items() for word in option]
    with log.open("wb") as messages:
        process = await asyncio.create_subprocess_exec(
            *(str(PROGRAM), "serve", *words, "--no-smart-turn"),
            stdout=messages,
            stderr=messages,
            env={**os.environ, **offline},
        )
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await is_up(port):
                    if process.returncode is not None:
                        said = await asyncio.to_thread(log.read_text)
                        raise AssertionError(said[-2000:])
                    await asyncio.sleep(0.2)
            yield f"ws://127.0.0.1:{port}"
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()


@dataclass(frozen=True)
class Held:
    """A call that was held, seen from all sides."""

    figures: Figures
    lines: list[LogLine]
    tap: RealtimeTap
    first: str
    "words at the far end, of the reply that was cut"
    last: str
    "and of the reply to the cut-in"

    @property
    def cut(self) -> CutInFigures:
        (cut,) = self.figures.cut_ins
        return cut


async def hold(plan: CallPlan, folder: Path, gap: float) -> Held:
    """Hold one call through the Twilio socket; `gap`: seconds between the model's words."""
    sound, chat = LocalSound(), Receptionist(gap)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(sound.serving())
        await stack.enter_async_context(chat.serving())
        url = await stack.enter_async_context(server(sound, chat, folder / "server.log"))
        tap = await stack.enter_async_context(RealtimeTap(url).serving())
        agents = folder / "agents"
        agents.mkdir()
        (agents / "garage.toml").write_text(AGENT.format(url=tap.url))
        chosen = {"agents": {"folder": str(agents), "default": "garage", "data": str(folder)}}
        key = {"OPENAI_API_KEY": "none"}
        running = stack.enter_context(gateway(chosen, folder=folder, environment=key))
        line = TwilioCaller(parse_target(running.target).address)
        phone = Phone(plan, line.form, NetworkSettings())
        call_id = line.new_id()
        await line.call(call_id, phone)
        lines = await asyncio.to_thread(running.ended, call_id)
        figures, heard = measure(phone.tape), phone.tape.heard_pcm()
        (turn,), (cut,) = figures.turns, figures.cut_ins

        def words(start: float | None, end: float | None) -> str:
            assert start is not None
            stop = len(heard) if end is None else 2 * round(end * RATE)
            return sound.words(heard[2 * round(start * RATE) : stop], RATE)

        first = await asyncio.to_thread(words, turn.first_audio, cut.stopped)
        last = await asyncio.to_thread(words, cut.first_audio, None)
        return Held(figures, lines, tap, first, last)


def alike(heard: str, said: str) -> float:
    """Say how much of what was heard is in what was said, in order: 1.0 is all of it."""
    one, other = (re.findall(r"[a-z']+", text.lower()) for text in (heard, said))
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / max(1, len(one))


def transcript(recording: Path) -> str:
    """Return the words of a recording, by the list they stand in."""
    with (SPEECH / "manifest.csv").open() as lines:
        (row,) = (row for row in csv.DictReader(lines) if SPEECH / row["file"] == recording)
    return row["transcript"]


# The reply is cut when all of it is there, and when the server is still making it.
@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_two_turns_and_a_cut_in(tmp_path: Path, gap: float) -> None:
    plan = CallPlan(steps=(Say(load(OPENING, RATE)), CutIn(load(CUT, RATE), 1.5)), linger=1.5)
    held = asyncio.run(hold(plan, tmp_path, gap))
    tap, cut = held.tap, held.cut

    assert tap.of("theirs", "error") == []
    assert [line.fields for line in held.lines if line.event in ("fault", "model_error")] == []
    (update,) = tap.of("ours", "session.update")
    assert update["session"]["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24000}

    # What the caller said reached the server as speech, and what it said the caller.
    kind = "conversation.item.input_audio_transcription.completed"
    caller = [event["transcript"] for event in tap.of("theirs", kind)]
    assert [alike(transcript(OPENING), caller[0]) > 0.6, alike(transcript(CUT), caller[1]) > 0.6]
    assert len(caller) == 2
    logged = [line.fields["text"] for line in held.lines if line.event == "caller_spoke"]
    assert logged == caller
    assert alike(held.first, LONG) > 0.6, held.first
    assert alike(SHORT, held.last) > 0.8, held.last

    # The cut-in stopped the first reply for good.
    assert cut.stopped is not None
    assert not cut.resumed
    assert held.figures.audio_after_clear_seconds == 0
    (cancelled,) = [event["response"]["status"] for event in tap.of("theirs", "response.done")[:1]]
    assert cancelled == ("cancelled" if gap else "completed")

    # It was told what was heard of it.
    (truncated,) = tap.of("ours", "conversation.item.truncate")
    spoken = [event["item_id"] for event in tap.of("theirs", "response.output_audio.delta")]
    assert truncated["item_id"] == spoken[0] != spoken[-1]
    told = truncated["audio_end_ms"] / 1000
    print(f"truncated at {told:.3f} s, heard at the far end {cut.heard_of_reply:.3f} s")
    assert told == pytest.approx(cut.heard_of_reply, abs=HEARD_SECONDS)
