"""People's own words over a telephone: ends are early, pauses are waited through, nods let pass.

A few recordings stand here for the many of `make bench-turns`; bounds leave room for processors
whose int8 arithmetic rounds differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np
import pytest

from gateway.commands.shared.offline_models import ears
from inference.runtime import Runtime
from media.codec import wire_form
from media.frame import Samples
from tests.turn.recordings import Recording, telephone
from turn.events import FloorClaimed, OverlapDismissed, OverlapHeld, TurnEnded
from turn.offline import Ears, agent_speaking, run

RATE = 8000
PCMU = wire_form("pcmu", RATE)


@pytest.fixture(scope="module")
def hearing() -> Iterator[Ears]:
    runtime = Runtime()
    yield ears(runtime, "silero")
    runtime.close()


def on_the_phone(recording: Recording) -> Samples:
    return np.frombuffer(PCMU.decode(PCMU.encode(recording.samples.tobytes())), "<i2")


def test_finished_turns_end_early_and_not_before_their_end(hearing: Ears) -> None:
    delays = []
    for each in telephone("complete"):
        ended = run(on_the_phone(each), RATE, hearing).first(TurnEnded)
        if ended is not None:
            delays.append(ended.at - each.end / RATE)
    assert len(delays) >= 6
    assert sum(delay < 0 for delay in delays) <= 1
    assert median(delays) <= 0.45
    assert max(delays) <= 2.0


def test_pauses_and_unfinished_turns_are_waited_through(hearing: Ears) -> None:
    cut = []
    for each in telephone("incomplete", "midpause"):
        until = each.end if each.kind == "midpause" else len(each.samples) - RATE
        found = run(on_the_phone(each)[:until], RATE, hearing)
        if found.first(TurnEnded) is not None:
            cut.append(each.file)
    # `tel_ar40_caller_name` says "Sure." and after 1.1 s the name that was asked for.
    assert len(cut) <= 2, cut


def test_nods_do_not_stop_the_agent(hearing: Ears) -> None:
    stopped = []
    for each in telephone("backchannel"):
        agent = agent_speaking(0, len(each.samples) / RATE, RATE)
        found = run(on_the_phone(each), RATE, hearing, others=agent)
        assert found.first(OverlapDismissed) or found.first(FloorClaimed), each.file
        if found.first(FloorClaimed):
            stopped.append(each.file)
    assert len(stopped) <= 1, stopped


def test_claims_silence_the_agent_in_time(hearing: Ears) -> None:
    late = []
    recordings = telephone("interruption", "complete")
    for each in recordings:
        agent = agent_speaking(0, len(each.samples) / RATE, RATE)
        # Some begin to speak at their first sample.
        lead = np.zeros(RATE // 2, np.int16)
        found = run(np.concatenate([lead, on_the_phone(each)]), RATE, hearing, others=agent)
        held, claimed = found.first(OverlapHeld), found.first(FloorClaimed)
        assert claimed is not None, each.file
        silent = min(said.at for said in (held, claimed) if said is not None)
        if silent - 0.5 - each.start / RATE > 0.4:
            late.append(each.file)
    assert len(late) <= 1, late
