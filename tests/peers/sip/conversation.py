"""One conversation that a softphone holds with the shipped agent, and what is left of it.

A recorded human talks: two turns, a cut-in, keys, a hold, and one side hangs up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import soundfile

from gateway.caller.sound import load
from tests.peers.sip.phones import Phone, wave
from tests.peers.sip.service import ROOT, CallLog, Gateway, words

RATE = 8000
SPEECH = ROOT / "tests/data/speech"
SOUNDS = {
    "car": "demo/tel_ar40_caller_dealership.flac",
    "cut in": "demo/tel_ar40_caller_8to10.flac",
    "aside": "demo/tel_ar40_caller_tesla.flac",
    "goodbye": "demo/wb_sm_st_goodbye.flac",
}
"""What the recogniser understands whichever way the packets cut it; no name is among them."""
THANKS = "complete/tel_ar40_caller_thanks.flac"
OTHER_CUT = 67
"""Samples; a packet has 160."""

KEYS = "5#"
CUT_IN_AFTER = 1.2
"""Seconds of a reply that lasts 3: late enough to have its first words recognised, and early
enough for its last ones to be missed although a busy machine is slow."""

CALLS = 4
"""Calls until somebody gives up."""
TIMES = 2
"""Times that somebody says what is not understood; after that the agent takes a message."""

TAIL = 120.0
"""Seconds of silence behind what is said: softphones hang up, or begin again, at a file's end."""

Side = Literal["phone", "agent"]


def sounds(folder: Path) -> dict[str, Path]:
    """Make the files that a softphone plays: speech, then silence for the rest of the call."""
    tail = bytes(2 * round(RATE * TAIL))
    made = {
        name: wave(folder / f"{name}.wav", load(SPEECH / file, RATE).pcm + tail)
        for name, file in SOUNDS.items()
    }
    # Said again, it is cut into other packets: the same ones would be heard in the same way.
    for time in range(TIMES):
        pcm = bytes(2 * OTHER_CUT * time) + load(SPEECH / THANKS, RATE).pcm
        made[f"thanks {time}"] = wave(folder / f"thanks-{time}.wav", pcm + tail)
    return made | {"nothing": wave(folder / "nothing.wav", tail)}


@dataclass(frozen=True)
class Talk:
    """What is left of a conversation."""

    log: CallLog
    heard: npt.NDArray[np.int16]
    "what the phone recorded; up to the hold its positions are those of the call"
    recording: Path
    "what the gateway recorded: left the caller, right the agent"
    folder: Path

    @cached_property
    def _words(self) -> list[str]:
        """Recognise both recordings; a model is loaded only once for them."""
        both, rate = soundfile.read(self.recording, dtype="int16", always_2d=True)
        left = np.ascontiguousarray(both[:, 0])
        heard = wave(self.folder / "far-end.wav", self.heard.tobytes())
        return words([heard, wave(self.folder / "left.wav", left.tobytes(), rate)])

    @property
    def words_heard(self) -> str:
        """What is recognised in the phone's recording."""
        return self._words[0]

    @property
    def words_said(self) -> str:
        """What is recognised in the caller's side of the gateway's recording."""
        return self._words[1]

    def one(self, event: str) -> dict[str, Any]:
        """Return the only line of a kind."""
        (line,) = self.log.lines(event)
        return line

    @property
    def cut(self) -> dict[str, Any]:
        """What the log says of the caller's cut-in."""
        return self.log.lines("interrupted")[0]

    def between(self, start: float, end: float) -> npt.NDArray[np.int16]:
        """Return what the phone heard, by seconds of the call."""
        return self.heard[max(0, round(RATE * start)) : round(RATE * end)]


async def converse(
    phone: Phone, gateway: Gateway, number: str, uri: str, folder: Path, ends: Side
) -> Talk:
    """Hold the conversation; `ends` says who hangs up."""
    log, sound = gateway.log(number), sounds(folder)
    await _answered(phone, uri)
    await log.wrote("agent_spoke", kind="greeting")
    await phone.say(sound["car"])
    await log.wrote("turn", 1)
    await asyncio.sleep(CUT_IN_AFTER)
    await _replied(log, phone.say(sound["cut in"]))
    await _hold(phone, sound)
    for time in range(TIMES):
        await _replied(log, phone.say(sound[f"thanks {time}"]))
        if "My pleasure" in log.texts("agent_spoke"):
            break
    await _replied(log, _press(phone))
    if ends == "agent":
        await phone.say(sound["goodbye"])
        await phone.hung_up_on()
    else:
        await phone.hang_up()
    await log.wrote("call_ended")
    await asyncio.sleep(0.5)  # files are closed
    return Talk(log, phone.heard(), gateway.recording(number), folder)


async def _answered(phone: Phone, uri: str) -> None:
    """Call until the call is taken: a gateway whose machine has no time left says it is busy."""
    for left in reversed(range(CALLS)):
        try:
            await phone.call(uri)
        except TimeoutError:
            if not left:
                raise
        else:
            return


async def _replied(log: CallLog, deed: Awaitable[None]) -> None:
    """Do something, and wait until the agent has replied to it."""
    turns, replies = log.count("turn"), log.count("agent_spoke", kind="reply")
    await deed
    await log.wrote("turn", turns + 1)
    await log.wrote("agent_spoke", replies + 1, kind="reply")


async def _press(phone: Phone) -> None:
    for key in KEYS:
        await phone.press(key)


async def _hold(phone: Phone, sound: dict[str, Path]) -> None:
    """Hold, speak to somebody else meanwhile, and come back."""
    await phone.hold()
    await phone.say(sound["aside"])
    await asyncio.sleep(3.0)
    await phone.say(sound["nothing"])
    await phone.resume()
    await asyncio.sleep(1.0)
