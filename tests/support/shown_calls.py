"""Calls that show everything the call browser can: a log with recordings, that nobody held."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.made_up_calls import MadeUp, make_up, write_calls
from media.wav_file import WavFile

RATE = 8000

CUT_AT = 22.6
"""Seconds into the call of which a test knows each moment: the caller cuts in."""

SHOWN = "sip-7f3a90c2"
OTHER = "sip-11d4e8b7"
RUNNING = "webrtc-live"


def _stages(response: float) -> dict[str, float]:
    shares = {"end_of_turn": 0.34, "transcript": 0.06, "first_token": 0.28, "first_audio": 0.2}
    found = {name: round(response * share, 3) for name, share in shares.items()}
    return found | {"line": round(response - sum(found.values()), 3)}


class Told:
    """Tells a call line by line, and sounds it."""

    def __init__(self, name: str, began: float, **started: Any) -> None:
        self.call = MadeUp(name, began)
        self.spans: list[tuple[int, float, float]] = []
        "side, from, to"
        self._utterance = 0
        fields = {
            "line": "sip", "from": "+493012345678", "to": "+493055500", "agent": "workshop",
            "direction": "inbound", "codec": "pcmu",
        }  # fmt: skip
        self.tell(0.0, "call_started", **(fields | started))

    def tell(self, at: float, event: str, **fields: Any) -> None:
        self.call.at = at
        self.call.tell(event, **fields)

    def agent(self, start: float, end: float, text: str, turn: int | None = None) -> None:
        self._utterance += 1
        self.spans.append((1, start, end))
        told = {} if turn is None else {"turn": turn}
        kind = "greeting" if turn is None else "reply"
        self.tell(end, "agent_spoke", utterance=self._utterance, kind=kind, text=text,
                  seconds=round(end - start, 3), **told)  # fmt: skip

    def caller(self, turn: int, start: float, end: float, text: str, response: float) -> None:
        self.spans.append((0, start, end))
        known = end + 0.35 * response
        self.tell(end + 0.2, "draft", outcome="started", reply=turn, probability=0.88)
        self.tell(known, "turn_ended", turn=turn, why="semantic", probability=0.93,
                  seconds=round(known - start, 3))  # fmt: skip
        self.tell(known, "caller_spoke", turn=turn, text=text)
        self.tell(known, "draft", outcome="used", reply=turn)
        self.tell(end + response, "turn", turn=turn, stages=_stages(response), response=response,
                  drafted=True, draft_saved=0.21)  # fmt: skip

    def cut(self, start: float, end: float, heard: str, text: str, queued: float) -> None:
        self._utterance += 1
        self.spans.append((1, start, end))
        self.tell(end, "interrupted", utterance=self._utterance, kind="reply",
                  heard=round(end - start, 3), error=0.02, basis="acknowledged", queued=queued,
                  heard_text=heard, text=text, evidence="words: no wait, 0.61 s",
                  stop_delay=0.24, turn=2)  # fmt: skip

    def tool(
        self, at: float, name: str, arguments: dict[str, Any], took: float, **end: Any
    ) -> None:
        ask = f"{name}-{at}"
        self.tell(at, "tool", name=name, outcome="asked", ask=ask, arguments=arguments,
                  effect=end.pop("effect", "read"), turn=end.pop("turn", 1))  # fmt: skip
        self.tell(
            at + took, "tool", name=name, ask=ask, seconds=took, **({"outcome": "done"} | end)
        )

    def over(self, at: float, turns: int) -> None:
        quality = {"received": 2254, "lost": 9, "concealed": 0.18, "jitter": 0.0062, "mos": 4.2}
        self.tell(at, "call_ended", reason="hung up", ended_by="caller", seconds=at, turns=turns,
                  quality=quality)  # fmt: skip

    def record(self, folder: Path, name: str, seconds: float) -> None:
        """Write a recording in which each side sounds where the log says so."""
        sound: npt.NDArray[np.int16] = np.zeros((round(seconds * RATE), 2), dtype=np.int16)
        dice = np.random.default_rng(3)
        for side, start, end in self.spans:
            length = round((end - start) * RATE)
            at = np.arange(length) / RATE
            syllables = np.abs(np.sin(2 * np.pi * 2.1 * at)) * (0.5 + 0.5 * np.sin(0.9 * at + side))
            voice = np.sin(2 * np.pi * (118 + 74 * side) * at) + 0.3 * dice.standard_normal(length)
            first = round(start * RATE)
            sound[first : first + length, side] = (6500 * syllables * voice)[: len(sound) - first]
        folder.mkdir(parents=True, exist_ok=True)
        WavFile(folder / name, RATE).put(0, sound.tobytes())


def shown(began: float) -> Told:
    """Tell the call in which everything happens."""
    told = Told(SHOWN, began, recording=f"{SHOWN}.wav", sip_call_id="a84b4c76e66710@pbx.example")
    told.tell(0.1, "backend", name="", state="ready")
    told.agent(0.4, 3.6, "Good morning, this is the workshop. How can I help you?")
    told.caller(
        1, 4.4, 8.1, "Hi, my service light came on yesterday, do you have a slot on Tuesday?", 0.74
    )
    told.tool(8.4, "free_slots", {"day": "tuesday", "work": "service"}, 0.31)
    told.agent(
        8.84, 12.9, "I can look. On Tuesday there is one at nine and one at half past two.", 1
    )
    told.spans.append((0, 10.6, 11.0))
    told.tell(11.0, "backchannel", kind="nod", text="mhm")
    told.caller(2, 13.8, 17.2, "Half past two would be fine. What will it cost?", 1.92)
    told.cut(
        19.12, CUT_AT, "A service for your model costs two hundred and",
        "A service for your model costs two hundred and forty euros with oil and filters, and if "
        "the brake pads have to be changed as well it comes to about four hundred.", 9.4,
    )  # fmt: skip
    told.caller(3, 22.1, 24.6, "No wait, just the service please.", 0.58)
    told.agent(25.18, 28.3, "Just the service then: two hundred and forty euros.", 3)
    told.tell(29.0, "held", why="hold")
    told.tell(34.5, "released", seconds=5.5)
    told.tell(35.2, "key", keys="1")
    told.tell(36.0, "fault", part="model", reason="the server answered 503")
    told.tell(36.3, "recovered", part="model")
    told.caller(4, 36.6, 39.0, "Sorry, I am back. Yes, please book it.", 0.81)
    told.tool(
        39.4,
        "book",
        {"day": "tuesday", "time": "14:30", "work": "service"},
        0.6,
        effect="write",
        turn=4,
    )
    told.agent(39.81, 43.9, "Booked: Tuesday at half past two. See you then, goodbye!", 4)
    told.tell(44.0, "usage", input_tokens=2210, output_tokens=168, cached_tokens=1890)
    told.over(45.2, 4)
    return told


def other(began: float) -> Told:
    """Tell a call like it, on another day."""
    told = Told(OTHER, began, recording=f"{OTHER}.wav")
    told.agent(0.4, 3.6, "Good morning, this is the workshop. How can I help you?")
    told.caller(1, 4.2, 7.4, "Hello, is there a slot for a service on Tuesday?", 0.66)
    told.agent(8.06, 11.8, "On Tuesday there is one at nine and one at half past two.", 1)
    told.caller(2, 12.4, 14.9, "Nine is fine. What does it cost?", 0.71)
    told.agent(15.61, 19.2, "A service for your model costs two hundred and forty euros.", 2)
    told.over(20.6, 2)
    return told


def running(began: float) -> Told:
    """Tell a call that goes on."""
    told = Told(RUNNING, began, line="webrtc", codec="opus", **{"from": "", "to": ""})
    told.agent(0.4, 3.6, "Good morning, this is the workshop. How can I help you?")
    told.caller(1, 4.4, 6.9, "My gearbox makes a strange sound.", 0.69)
    return told


def write_shown(log: Path, recordings: Path, now: float, others: int = 400) -> None:
    """Write a log with these calls among many others, and what was recorded."""
    dice = random.Random(7)
    step = 15 * 86400 / max(1, others)
    many = [make_up(n, now - 400 - (others - n) * step, dice) for n in range(others)]
    full, like, live = shown(now - 300), other(now - 86400), running(now - 12)
    calls = sorted((*many, full.call, like.call, live.call), key=lambda each: each.began)
    log.parent.mkdir(parents=True, exist_ok=True)
    write_calls(log, calls)
    full.record(recordings, f"{SHOWN}.wav", 45.2)
    like.record(recordings, f"{OTHER}.wav", 20.6)
