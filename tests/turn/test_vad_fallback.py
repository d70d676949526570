"""A run of the model that fails costs nobody their ears, and at worst one caller the good ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest

from inference.runtime import Array, Runtime, Session
from tests.turn.recordings import telephone
from tests.turn.test_vad import assert_same
from turn.cheap import REST_WINDOWS
from turn.vad import VoiceActivity, score


@pytest.fixture
def voices() -> Iterator[VoiceActivity]:
    runtime = Runtime()
    yield VoiceActivity(runtime)
    runtime.close()


class Unwell:
    """A session that raises while it is unwell, or when it is given this stream's sound."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.unwell: type[BaseException] | None = None
        self.poison: float | None = None
        self.runs = 0

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        self.runs += 1
        if self.unwell is not None:
            raise self.unwell("unwell")
        if self.poison is not None and (inputs["input"] == self.poison).any():
            return [np.full((len(inputs["input"]), 1), np.nan), inputs["state"]]
        return self.session.run(inputs, outputs)


def unwell(voices: VoiceActivity, rate: int = 8000) -> Unwell:
    """Put a session that can be made unwell in the place of a rate's own."""
    bank = voices._banks[rate]
    bank._session = made = Unwell(bank._session)  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_what_the_model_cannot_judge_a_cheaper_detector_does_and_the_windows_say_so(
    voices: VoiceActivity, kind: type[BaseException]
) -> None:
    session = unwell(voices)
    sound = telephone("complete")[0].samples
    stream = voices.open(8000)
    stream.feed(sound[:8000])
    voices.score_pending()
    assert not any(each.fault for each in stream.take())
    session.unwell = kind
    stream.feed(sound[8000:20000])
    voices.score_pending()
    fallen = stream.take()
    assert len(fallen) == 47
    assert all("unwell" in each.fault for each in fallen)
    assert {each.probability for each in fallen} == {0.0, 1.0}
    assert session.runs < 31 + 10  # it is let alone for a second at a time
    session.unwell = None
    stream.feed(np.tile(sound[:8000], 3))
    voices.score_pending()
    again = stream.take()
    assert again[0].fault
    assert not any(each.fault for each in again[REST_WINDOWS:])
    assert max(each.probability for each in again[REST_WINDOWS:]) > 0.9


def test_a_stream_that_breaks_the_model_leaves_the_others_as_they_are(
    voices: VoiceActivity,
) -> None:
    session = unwell(voices)
    session.poison = 31000.0
    sound = telephone("complete")[0].samples
    alone = score(voices, sound[:16000], 8000)
    well, ill = voices.open(8000), voices.open(8000)
    spoilt = sound[:16000].copy()
    spoilt[4000] = 31000
    for at in range(0, 16000, 160):
        well.feed(sound[at : at + 160])
        ill.feed(spoilt[at : at + 160])
        voices.score_pending()
    assert_same(well.take(), alone)
    faults = [bool(each.fault) for each in ill.take()]
    assert not faults[0]
    assert sum(faults) == 1 + REST_WINDOWS


def test_a_run_that_fails_once_is_not_noticed(voices: VoiceActivity) -> None:
    session = unwell(voices)
    sound = telephone("complete")[0].samples[:8000]
    expected = score(voices, sound, 8000)

    class Once(Unwell):
        def run(self, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
            self.runs += 1
            if self.runs % 2:
                raise MemoryError
            return self.session.run(inputs, outputs)

    voices._banks[8000]._session = Once(session.session)  # type: ignore[assignment]
    assert_same(score(voices, sound, 8000), expected)
