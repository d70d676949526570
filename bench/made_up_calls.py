"""Call logs of any size that nobody held the calls of, written as the gateway writes them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from gateway.observe.files import aged
from gateway.observe.journal import timestamp

FILE_BYTES = 64_000_000
"""Where the gateway begins a new file, unless told otherwise."""

DAYS = 14
"""Over which the calls are spread."""

ASKED = (
    ("one call", "please come on tuesday", "tell me about the {word}"),
    ("opening hours", "we are open from eight until six", "is it the {word}"),
    ("the invoice", "your invoice was sent on tuesday for the {word}", "I did not get it"),
    ("a service", "the service light means that the {word} is due", "how long does it take"),
)

NOUNS = (
    *("brakes", "winter", "tyres", "battery", "gearbox", "wiper", "mirror", "clutch", "engine"),
    *("filter", "lamp", "window", "radio", "heater", "bonnet", "pedal", "axle", "exhaust"),
    *("sensor", "key", "alarm", "trailer", "receipt", "warranty", "oil"),
)

STAGES = {
    "end_of_turn": 0.3,
    "transcript": 0.1,
    "first_token": 0.3,
    "first_audio": 0.2,
    "line": 0.1,
}
"""Shares of the response."""


@dataclass
class MadeUp:
    """One call that nobody held."""

    call: str
    began: float
    "seconds since the epoch"
    at: float = 0.0
    lines: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    "when in the call, and what"

    def tell(self, event: str, **fields: Any) -> None:
        """Add a line."""
        self.lines.append((self.at, {"event": event, **fields}))

    def bytes(self) -> Iterator[bytes]:
        """Return the lines as the gateway writes them."""
        for at, event in self.lines:
            head = {"ts": timestamp(self.began + at), "call": self.call, "at": round(at, 3)}
            yield msgspec.json.encode(head | event) + b"\n"


def make_up(number: int, began: float, dice: random.Random) -> MadeUp:
    """Make a call up: turns, some cut into, some slow, with tools, and a fault now and then."""
    line = dice.choice(("sip", "twilio", "webrtc"))
    agent = dice.choice(("workshop", "clinic", "hotel"))
    call = MadeUp(f"{line}-{number:08x}", began)
    parties = {"from": "" if line == "webrtc" else f"+49301{number:07d}", "to": "+493055500"}
    call.tell("call_started", line=line, **parties, agent=agent, direction="inbound", codec="pcmu")
    call.at = 2.4
    greeting = f"Hello, this is the {agent}. How can I help?"
    call.tell("agent_spoke", utterance=1, kind="greeting", text=greeting, seconds=2.4)
    turns = dice.randint(2, 9)
    for turn in range(1, turns + 1):
        _turn(call, turn, dice)
    if dice.random() < 0.05:
        call.tell("fault", part="model", reason="the server answered 503")
    call.at += 1.0
    ended_by = dice.choices(("caller", "agent", "failure"), (70, 27, 3))[0]
    seconds, quality = round(call.at, 3), {"loss": 0.001, "jitter": 0.004, "mos": 4.3}
    call.tell(
        "call_ended", reason="hung up", ended_by=ended_by, seconds=seconds, turns=turns,
        quality=quality,
    )  # fmt: skip
    return call


def _turn(call: MadeUp, turn: int, dice: random.Random) -> None:
    said, answer, more = dice.choice(ASKED)
    words = more.format(word=dice.choice(NOUNS)) if turn % 2 else f"I call about {said}"
    spoke = dice.uniform(0.8, 3.5)
    response = min(4.0, dice.lognormvariate(-0.45, 0.4))
    end = call.at + 0.7 + spoke
    call.at = end + 0.3 * response
    call.tell("draft", outcome="started", reply=turn, probability=0.91)
    call.tell("turn_ended", turn=turn, why="semantic", probability=0.93, seconds=round(spoke, 3))
    call.tell("caller_spoke", turn=turn, text=words)
    call.tell("draft", outcome="used", reply=turn)
    if dice.random() < 0.25:
        slots: dict[str, Any] = {"name": "free_slots", "ask": f"t{turn}", "turn": turn}
        call.tell("tool", outcome="asked", arguments={"day": "tuesday"}, effect="read", **slots)
        call.at += 0.1 * response
        call.tell("tool", outcome="done", seconds=round(0.1 * response, 3), **slots)
    call.at = end + response
    stages = {name: round(share * response, 3) for name, share in STAGES.items()}
    call.tell(
        "turn", turn=turn, stages=stages, response=round(response, 3), drafted=True,
        draft_saved=0.2,
    )  # fmt: skip
    _answer(call, turn, f"{answer.format(word=dice.choice(NOUNS))}, if you like I book it", dice)
    call.tell("usage", input_tokens=400 + 60 * turn, output_tokens=40, cached_tokens=380)


def _answer(call: MadeUp, turn: int, text: str, dice: random.Random) -> None:
    length = round(dice.uniform(1.5, 6.0), 3)
    same: dict[str, Any] = {"utterance": turn + 1, "kind": "reply", "text": text, "turn": turn}
    if dice.random() < 0.2:
        share = dice.uniform(0.3, 0.7)
        words = text.split()
        call.at += length * share
        call.tell(
            "interrupted", heard=round(length * share, 3), error=0.02, basis="acknowledged",
            queued=length, heard_text=" ".join(words[: round(len(words) * share)]),
            evidence="words: no wait, 0.62 s", stop_delay=0.21, **same,
        )  # fmt: skip
        return
    call.at += length / 2
    if dice.random() < 0.2:
        call.tell("backchannel", kind="nod", text="mhm")
    call.at += length / 2
    call.tell("agent_spoke", seconds=length, **same)


def write_log(path: Path, count: int, now: float, seed: int = 1) -> None:
    """Write a log of so many calls, the last of which just ended, in files of the usual size."""
    dice = random.Random(seed)
    step = DAYS * 86400.0 / count
    write_calls(path, (make_up(n, now - 120.0 - (count - n) * step, dice) for n in range(count)))


def write_calls(path: Path, calls: Iterable[MadeUp]) -> None:
    """Write calls one after the other."""
    files, size = [path.with_name("0")], 0
    file = files[0].open("wb")
    for call in calls:
        lines = b"".join(call.bytes())
        if size + len(lines) > FILE_BYTES:
            file.close()
            files.append(path.with_name(str(len(files))))
            file, size = files[-1].open("wb"), 0
        file.write(lines)
        size += len(lines)
    file.close()
    for age, each in enumerate(reversed(files)):
        each.rename(aged(path, age))
