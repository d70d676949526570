"""Sounds over the agent's voice: which stop it, how soon, and what our own echo does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from bench.echo import listening
from bench.turns.recordings import RATE, Recording
from gateway.call.hearing import UNLIKELY
from media.codec import wire_form
from media.frame import Samples
from turn.events import FloorClaimed, OverlapBegan, OverlapDismissed, OverlapHeld, VoiceScored
from turn.offline import Ears, Run, agent_speaking, run
from turn.taking import TurnSettings

BEFORE = 0.6
"""Silence before each recording, so that those that begin at once are not half heard."""

AFTER = 1.5

CLAIMS = ("interruption", "complete")
"""Words that want the floor: the recorded interruptions are few, so that whole turns, spoken over
the agent, stand for simply going on speaking."""

NOISES = ("noise", "tone", "music")

PCMU = wire_form("pcmu", RATE)


@dataclass(frozen=True, slots=True)
class Heard:
    """What one sound over the agent's voice led to; seconds after its first voiced sample."""

    file: str
    kind: str
    silent: float | None
    "the agent was silent"
    claimed: float | None
    "it was a claim"
    dismissed: float | None
    verdict: str
    "evidence of the claim, or what it was dismissed as, with the words"

    @property
    def gap(self) -> float:
        """Seconds for which the agent paused for a sound that was no claim."""
        if self.silent is None or self.dismissed is None or self.claimed is not None:
            return 0.0
        return max(0.0, self.dismissed - self.silent)


def heard(recordings: Sequence[Recording], ears: Ears) -> list[Heard]:
    """Play each back-channel, claim and noise while the agent speaks."""
    kinds = ("backchannel", *CLAIMS, *NOISES)
    return [
        _heard(each, ears)
        for each in recordings
        if each.kind in kinds and each.language in ("en", "")
    ]


def _heard(recording: Recording, ears: Ears) -> Heard:
    sound = padded(recording.samples)
    agent = agent_speaking(0, len(sound) / RATE, RATE)
    found = run(sound, RATE, ears, TurnSettings(), others=agent)
    return _read(recording, found, recording.start + BEFORE)


def padded(samples: Samples) -> Samples:
    """Put silence around a recording."""
    silences = [np.zeros(int(seconds * RATE), np.int16) for seconds in (BEFORE, AFTER)]
    return np.concatenate([silences[0], samples, silences[1]])


def _read(recording: Recording, found: Run, onset: float) -> Heard:
    claim, held = found.first(FloorClaimed), found.first(OverlapHeld)
    last = [each for each in found.said if isinstance(each.what, OverlapDismissed)]
    silent = min((each.at for each in (claim, held) if each), default=None)
    verdict = ""
    if claim and isinstance(claim.what, FloorClaimed):
        verdict = claim.what.evidence
    elif last and isinstance(last[0].what, OverlapDismissed):
        verdict = f"{last[0].what.kind} {last[0].what.text}".strip()
    return Heard(
        recording.file,
        recording.kind,
        None if silent is None else silent - onset,
        None if claim is None else claim.at - onset,
        last[0].at - onset if last else None,
        verdict,
    )


# --- echo ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Echoed:
    """What our own sound, coming back, led to."""

    delay: float
    loss: int
    "dB below what was sent"
    interrupted: int
    "agent utterances that their own echo stopped for good"
    paused: int
    "those that it made pause"
    utterances: int
    claimed: int
    "claims over the echo that were taken"
    claims: int
    claim_p95: float
    "seconds until the agent was silent, for 95 of 100 claims over the echo"


def echoed(
    agents: Sequence[Recording], claims: Sequence[Recording], ears: Ears, delay: float, loss: int
) -> Echoed:
    """Play the agent's utterances over a line with echo, alone and with claims over them."""
    alone = [_over_echo(each, None, ears, delay, loss) for each in agents]
    both = [
        (_over_echo(agents[index % len(agents)], claim, ears, delay, loss), claim)
        for index, claim in enumerate(claims)
    ]
    taken = [
        (
            min(each.at for each in (found.first(FloorClaimed), found.first(OverlapHeld)) if each),
            claim,
        )
        for found, claim in both
        if found.first(FloorClaimed)
    ]
    times = [at - CLAIM_AT - claim.start for at, claim in taken]
    return Echoed(
        delay,
        loss,
        sum(found.first(FloorClaimed) is not None for found in alone),
        sum(found.first(OverlapBegan) is not None for found in alone),
        len(alone),
        len(taken),
        len(both),
        float(np.percentile(times, 95)) if times else float("nan"),
    )


CLAIM_AT = 1.5
"""The claim begins so long after the agent: the echo's path is known by then."""


def _over_echo(
    agent: Recording, claim: Recording | None, ears: Ears, delay: float, loss: int
) -> Run:
    sent = np.tile(agent.samples, 1 + int(6 * RATE / len(agent.samples)))[: 6 * RATE]
    came = np.zeros(len(sent), np.float64)
    shift = int(delay * RATE)
    came[shift:] = sent[: len(sent) - shift] * 10 ** (-loss / 20)
    if claim is not None:
        first = int(CLAIM_AT * RATE)
        voice = claim.samples[: len(came) - first]
        came[first : first + len(voice)] += voice
    pcm = np.clip(np.rint(came), -32768, 32767).astype("<i2")
    line = np.frombuffer(PCMU.decode(PCMU.encode(pcm.tobytes())), "<i2")
    reference = listening(line)
    out = sent.astype("<i2")

    def voice_with_echo(samples: Samples, rate: int) -> list[VoiceScored]:
        found = []
        for each in ears.voice(samples, rate):
            reference.sent(each.start, out[each.start : each.end].tobytes())
            likely = each.probability >= UNLIKELY
            echo = reference.score(each.start, each.end) if likely else 0.0
            found.append(replace(each, echo=echo))
        return found

    hearing = Ears(voice_with_echo, ears.semantic, ears.words)
    others = agent_speaking(0, len(sent) / RATE, RATE)
    return run(line, RATE, hearing, TurnSettings(), others=others)
