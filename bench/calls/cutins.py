"""How soon the agent falls silent when a caller cuts in, and whether it knows what was heard.

The agent reads out one long text again and again; an undisturbed reading is the reference in which
the end of every disturbed one is looked for.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.calls.gateway_process import GatewayProcess, gateway
from bench.calls.speech import recordings
from gateway.caller.measure import Said, Tape, measure
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan, CutIn, Say
from gateway.caller.report import CutIn as Outcome
from gateway.caller.sound import Recording
from gateway.caller.twilio import TwilioCaller
from gateway.log_events import InterruptedLogged
from gateway.observe.lines import LogLine

AGENTS = Path(__file__).parent / "agents"
READING = {"default": "talker", "folder": str(AGENTS)}

RATE = 8000

STOP = 0.40
"""Seconds from the caller's first voiced sample to the agent's last audible one, 95 of 100."""

HEARD = 0.06
"""Seconds by which the log's heard position may be off."""

EARLIEST, LATEST = 0.8, 9.0
"""Seconds into the reading at which the caller speaks; it lasts some twenty."""

CUTS_IN_A_CALL = 5

TAIL = 1.0
"""Seconds of what was heard last that are looked for in the reference."""

LIKE = 0.7
"""Correlation from which the place is believed; another place of the text has under 0.4."""

LATE = 1.0
"""Seconds after the caller's last word by which the agent has given way, or does not."""

FRAME = 0.02

GAP = 0.05
"""A pause in the supply longer than this parts what was heard: the agent was held."""

Signal = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cut:
    """One cut-in."""

    call: str
    said: str
    at: float
    "seconds into the reading"
    outcome: Outcome
    by: str = ""
    "what made the agent silent: `clear`, `hold`, or nothing did"
    evidence: str = ""
    "why the log says it gave way"
    logged: float | None = None
    "seconds of the utterance that were heard, by the log"
    error: float | None = None
    "within which the log says so"
    found: float | None = None
    "the same, found in the far end's recording"
    likeness: float = 0.0

    @property
    def off(self) -> float | None:
        """Log less far end."""
        if self.logged is None or self.found is None:
            return None
        return self.logged - self.found


@dataclass(frozen=True, slots=True)
class CutIns:
    """What was measured."""

    cuts: tuple[Cut, ...]
    after_clear: float
    "seconds of sound after a clear, in all calls"
    reading: float
    "seconds of the undisturbed reading"

    @property
    def delays(self) -> list[float]:
        """Stop delays, shortest first."""
        return sorted(d for cut in self.cuts if (d := cut.outcome.stop_delay) is not None)

    @property
    def p95(self) -> float:
        """The delay that 95 of 100 stay within."""
        return float(np.percentile(self.delays, 95)) if self.delays else float("nan")

    def problems(self) -> list[str]:
        """Return what does not hold."""
        found = []
        if not self.p95 <= STOP:
            found.append(f"the agent talks on for {self.p95:.3f} s (95th percentile)")
        if self.after_clear:
            found.append(f"{self.after_clear:.3f} s are audible after a clear")
        for cut in self.cuts:
            where = f"{cut.said} at {cut.at:.2f} s"
            if cut.logged is None and not cut.outcome.resumed:
                found.append(f"{where}: the log knows of no interruption")
            if cut.off is not None and abs(cut.off) > HEARD:
                found.append(f"{where}: the log's heard position is {cut.off:+.3f} s off")
        return found


@dataclass(slots=True)
class _Planned:
    sounds: list[Recording]
    afters: list[float] = field(default_factory=list)


def plans(sounds: Sequence[Recording], cuts: int, seed: int) -> list[_Planned]:
    """Spread so many cut-ins, each at a random moment, over calls."""
    chance = random.Random(seed)
    order = [sounds[n % len(sounds)] for n in range(cuts)]
    chance.shuffle(order)
    return [
        _Planned(
            part := order[n : n + CUTS_IN_A_CALL], [chance.uniform(EARLIEST, LATEST) for _ in part]
        )
        for n in range(0, cuts, CUTS_IN_A_CALL)
    ]


async def measure_cut_ins(
    speech: Path, kinds: Sequence[str], cuts: int, seed: int, together: int
) -> CutIns:
    """Cut in so many times, `together` callers at once."""
    sounds = recordings(speech, kinds)
    with gateway({"agents": READING}) as running:
        reference = await _reference(running, sounds[0])
        waiting = plans(sounds, cuts, seed)
        found: list[Cut] = []
        after_clear = 0.0

        async def caller(number: int) -> None:
            nonlocal after_clear
            await asyncio.sleep(1.7 * number)
            while waiting:
                each = waiting.pop(0)
                cuts, rest = await _one(running, each, sounds[0], reference)
                found.extend(cuts)
                after_clear += rest

        async with asyncio.TaskGroup() as group:
            for number in range(together):
                group.create_task(caller(number))
    return CutIns(tuple(found), after_clear, len(reference) / RATE)


async def _call(to: GatewayProcess, plan: CallPlan) -> tuple[str, Phone]:
    line = TwilioCaller(parse_target(to.target).address)
    phone = Phone(plan, line.form, NetworkSettings())
    call_id = line.new_id()
    await line.call(call_id, phone)
    return call_id, phone


async def _reference(to: GatewayProcess, opening: Recording) -> Signal:
    """Record one reading from its first to its last sample."""
    _, phone = await _call(to, CallPlan(steps=(Say(opening),), linger=1.0))
    tape = phone.tape
    after = tape.said[0].speech_end
    first = next(piece.start for piece in tape.heard if piece.start > after)
    sound = np.frombuffer(tape.heard_pcm(), "<i2").astype(np.float64)
    last = tape.heard[-1].start + len(tape.heard[-1].payload)
    return sound[first:last]


async def _one(
    to: GatewayProcess, planned: _Planned, opening: Recording, reference: Signal
) -> tuple[list[Cut], float]:
    cut_ins = [CutIn(s, a) for s, a in zip(planned.sounds, planned.afters, strict=True)]
    # Greeting, opening and answer; then each cut-in and its answer; then the last one's aftermath.
    limit = 8.0 + opening.seconds
    limit += sum(s.seconds + a + 2.5 for s, a in zip(planned.sounds, planned.afters, strict=True))
    plan = CallPlan(steps=(Say(opening), *cut_ins), hang_up_after=limit)
    call_id, phone = await _call(to, plan)
    lines = await asyncio.to_thread(to.ended, call_id)
    figures = measure(phone.tape)
    said = [each for each in phone.tape.said if each.cut_in]
    cuts = [
        _cut(call_id, lines, phone.tape, each, outcome, after, reference)
        for each, outcome, after in zip(said, figures.cut_ins, planned.afters, strict=False)
    ]
    return cuts, figures.audio_after_clear_seconds


def _cut(
    call: str,
    lines: Sequence[LogLine],
    tape: Tape,
    said: Said,
    outcome: Outcome,
    at: float,
    reference: Signal,
) -> Cut:
    onset = said.speech_start / RATE
    logged = _interruption(lines, onset, said.speech_end / RATE + LATE)
    clears = [c / RATE for c in tape.clears if said.speech_start <= c]
    if logged is None or not clears:
        by = "hold" if outcome.resumed else ""
        return Cut(call, said.name, at, outcome, by)
    line, cut = logged
    by = "hold" if clears[0] < line.at - 2 * FRAME else "clear"
    heard = [each for each in tape.heard if each.start / RATE < line.at + FRAME]
    end = heard[-1].start + len(heard[-1].payload) if heard else 0
    found, likeness = locate(tape, end, reference)
    return Cut(
        call,
        said.name,
        at,
        outcome,
        by,
        cut.evidence,
        cut.heard,
        cut.error,
        found if likeness >= LIKE else None,
        likeness,
    )


def _interruption(
    lines: Sequence[LogLine], start: float, end: float
) -> tuple[LogLine, InterruptedLogged] | None:
    """Return the first `interrupted` line of speech that was heard, within a time."""
    for line in lines:
        match line.told:
            case InterruptedLogged(heard=heard) as cut if heard and start <= line.at <= end:
                return line, cut
            case _:
                pass
    return None


def locate(tape: Tape, end: int, reference: Signal) -> tuple[float, float]:
    """Find what was heard last before `end` in the reference.

    Gives how many seconds of the reading were heard, and how alike the sound at that place is.
    """
    stretch = [s for s in _joined(tape) if s[0] < end <= s[1] + round(GAP * RATE)]
    if not stretch:
        return 0.0, 0.0
    start = max(stretch[-1][0], end - round(TAIL * RATE))
    sound = np.frombuffer(tape.heard_pcm(), "<i2").astype(np.float64)[start:end]
    if len(sound) < 0.1 * RATE or not sound.any():
        return 0.0, 0.0
    padded = np.concatenate((reference, np.zeros(len(sound))))
    size = 1 << (len(padded) + len(sound)).bit_length()
    product = np.fft.irfft(np.fft.rfft(padded, size) * np.conj(np.fft.rfft(sound, size)), size)
    product = product[: len(reference)]
    sums = np.concatenate(([0.0], np.cumsum(padded * padded)))
    energy = (sums[len(sound) :] - sums[: -len(sound)])[: len(reference)]
    norm = np.sqrt(np.maximum(energy, 1.0) * np.dot(sound, sound))
    likeness = product / norm
    best = int(np.argmax(likeness))
    return (best + len(sound)) / RATE, float(likeness[best])


def _joined(tape: Tape) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in tape.stretches():
        if joined and start - joined[-1][1] <= GAP * RATE:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
