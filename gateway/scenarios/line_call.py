"""Scenarios over a real line: a caller with a voice calls a running gateway and says them.

When the agent answers and stops is what the caller's own ear measures; what it said and which
tools it used stands in the gateway's call log, where that can be read.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gateway.backends.cascade.ports import Voice
from gateway.caller.place import CallOptions, Target, place_call
from gateway.caller.plan import CallPlan, CutIn, Say, Step
from gateway.caller.report import CallReport
from gateway.caller.sound import Recording, recording
from gateway.plumbing.wire_json import parse
from gateway.scenarios.conditions import Conditions, heard_through, noise
from gateway.scenarios.held import Held, Spoken
from gateway.scenarios.scenario import PAUSE, Scenario, Sound, Turn
from gateway.scenarios.sound_call import SOUNDS
from gateway.scenarios.sound_leg import Stretch
from gateway.scenarios.sound_parts import FAR, PAUSE_SECONDS
from gateway.scenarios.text_call import Used

WORD_SECONDS = 0.33
"""Of the agent's speech: the local voice says three words a second."""

COUGH_SECONDS = 0.3

LOG_SECONDS = 2.0
"""How long the last lines of a call may take to be written."""


class NotOverLineError(ValueError):
    """A scenario cannot be held over a line; its text says why."""


@dataclass(frozen=True, slots=True)
class Caller:
    """With what calls are placed."""

    target: Target
    options: CallOptions
    voice: Voice
    conditions: Conditions = "control"
    log: Path | None = None
    "the gateway's call log"


def fits(scenario: Scenario) -> None:
    """Raise NotOverLineError where a scenario needs what a line cannot give."""
    turns = scenario.turns
    for what, found in (
        ("a persona", bool(scenario.persona)),
        ("broken tools", any(turn.broken for turn in turns)),
        ("dtmf", any(turn.dtmf for turn in turns)),
        ("late_ms", any(turn.late_ms for turn in turns)),
        ("hangs_up_ms", any(turn.hangs_up_ms is not None for turn in turns)),
        ("a time of its own (began)", scenario.began is not None),
        ("loss", scenario.loss is not None),
    ):
        if found:
            raise NotOverLineError(f"{what}: not over a line")


async def hold(
    scenario: Scenario, caller: Caller, tools: Container[str]
) -> tuple[Held, CallReport]:
    """Place the call of a scenario and give how it went; raises NotOverLineError.

    `tools` are the agent's own, beside those that act on the call.
    """
    fits(scenario)
    steps, kinds = await _steps(scenario, caller)
    options = replace(
        caller.options, parameters={**caller.options.parameters, **scenario.variables}
    )
    report = await place_call(CallPlan(tuple(steps)), caller.target, options)
    lines: list[tuple[float, str, dict[str, Any]]] = []
    if caller.log is not None:
        await asyncio.sleep(LOG_SECONDS)
        lines = logged(caller.log, report.call_id)
    return held_of(report, kinds, lines, tools), report


async def _steps(scenario: Scenario, caller: Caller) -> tuple[list[Step], list[str]]:
    """Return what the caller does in order, and of which kind each thing is."""
    steps: list[Step] = []
    kinds: list[str] = []
    chance = random.Random(scenario.seed)
    for turn in scenario.turns:
        sound = await _said(turn.user, caller, chance)
        cut = turn.heard
        steps.append(Say(sound) if cut is None else CutIn(sound, cut * WORD_SECONDS))
        kinds.append("turn" if cut is None else "cut_in")
        for each in sorted(turn.sounds, key=lambda one: one.at_ms):
            steps.append(CutIn(await _laid(each, caller, chance), each.at_ms / 1000))
            kinds.append(each.kind)
    return steps, kinds


async def _said(text: str, caller: Caller, chance: random.Random) -> Recording:
    rate = caller.target.rate
    pcm = bytearray()
    for part in text.split(PAUSE):
        if pcm:
            pcm += bytes(2 * int(PAUSE_SECONDS * rate))
        if part.strip():
            async for chunk in caller.voice.speak(_tokens(part), rate):
                pcm += chunk.pcm
    heard = heard_through(bytes(pcm), rate, caller.conditions, chance)
    # Where the voice begins and ends is known of the clean sound alone.
    return replace(recording(text, bytes(pcm), rate), pcm=heard)


async def _laid(sound: Sound, caller: Caller, chance: random.Random) -> Recording:
    rate = caller.target.rate
    if sound.kind == "cough":
        draws = np.random.default_rng(chance.randrange(2**32))
        samples = int(COUGH_SECONDS * rate)
        wave = noise(samples, draws) * 4000 * np.exp(-np.linspace(0, 4, samples))
        return recording("(cough)", np.clip(wave, -32768, 32767).astype("<i2").tobytes(), rate)
    said = await _said(sound.text or SOUNDS[sound.kind], caller, chance)
    if sound.kind == "backchannel":
        return said
    softer = (np.frombuffer(said.pcm, "<i2") / FAR).astype("<i2").tobytes()
    return replace(said, pcm=softer)


async def _tokens(text: str) -> AsyncIterator[str]:
    yield text


def logged(path: Path, call: str) -> list[tuple[float, str, dict[str, Any]]]:
    """Read the lines of one call; raises OSError."""
    found = []
    for raw in path.read_bytes().splitlines():
        if call.encode() not in raw:
            continue
        try:
            line = parse(raw)
        except ValueError:
            continue  # it is being written
        if isinstance(line, dict) and line.get("call") == call and "at" in line:
            found.append((float(line["at"]), str(line["event"]), line))
    return found


def held_of(
    report: CallReport,
    kinds: Sequence[str],
    lines: list[tuple[float, str, dict[str, Any]]],
    tools: Container[str],
) -> Held:
    """Return a call as it was held, of what the caller measured and the gateway wrote."""
    held = Held(lines=lines)
    turns, cuts = list(report.turns), list(report.cut_ins)
    for kind in kinds:
        if kind == "turn" and turns:
            turn = turns.pop(0)
            held.spoken.append(Spoken(kind, turn.speech_start, turn.speech_end))
            if turn.first_audio is not None:
                end = turn.first_audio + turn.reply_seconds
                held.stretches.append(Stretch(turn.first_audio, end))
        elif kind != "turn" and cuts:
            cut = cuts.pop(0)
            held.spoken.append(Spoken(kind, cut.onset, cut.speech_end))
            if cut.stopped is None:
                held.undone.append((0, f"the agent was silent before the {kind.replace('_', '-')}"))
            elif held.stretches and not cut.resumed:
                held.stretches[-1].end = max(held.stretches[-1].start, cut.stopped)
            if cut.first_audio is not None:
                held.stretches.append(Stretch(cut.first_audio, report.seconds))
    if not lines:  # nobody knows the words
        held.lines = [
            (x.end, "agent_spoke", {"seconds": x.end - x.start, "text": "(something)"})
            for x in held.stretches
        ]
    held.used = used_in(lines, tools)
    held.ended = report.seconds if report.ended_by == "agent" else None
    return held


def used_in(
    lines: Sequence[tuple[float, str, Mapping[str, Any]]], tools: Container[str]
) -> list[tuple[float, Used]]:
    """Return the tools that were used, as the call log tells them."""
    asked: dict[str, Mapping[str, Any]] = {}
    found: list[tuple[float, Used]] = []
    for at, name, fields in lines:
        if name != "tool" or fields["name"] not in tools:
            continue
        ask, outcome = str(fields.get("ask", "")), str(fields["outcome"])
        if outcome == "asked":
            asked[ask] = fields.get("arguments") or {}
        elif outcome in ("done", "failed", "refused", "timeout", "uncertain"):
            found.append((at, Used(str(fields["name"]), asked.get(ask, {}), outcome, {})))
    return found


def judged_part(scenario: Scenario, known: bool) -> Scenario:
    """Return a scenario with what can be judged: words and tools only with the call log."""
    if known:
        return replace(scenario, store=())
    return replace(scenario, store=(), turns=tuple(_timed(turn) for turn in scenario.turns))


def _timed(turn: Turn) -> Turn:
    kept = tuple(
        replace(each, text_contains=(), text_excludes=())
        for each in turn.expect
        if each.within_ms is not None
    )
    return replace(turn, expect=kept)
