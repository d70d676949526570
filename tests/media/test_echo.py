"""Our own sound coming back is known for it, and the caller's is not taken for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.echo import LOUD_DB, RATE, Signal, line, scores, speech, window_levels
from media.echo import WINDOW, EchoReference
from tests.media.speech import DATA

AUDIBLE_DB = -50.0


@pytest.fixture(scope="module")
def agent() -> Signal:
    return speech(DATA, "ar40_agent_8am|sti_c13")


@pytest.fixture(scope="module")
def caller(agent: Signal) -> Signal:
    voice = speech(DATA, "ar40_caller_letsdoit|ar40_caller_thanks")
    return np.resize(voice, len(agent))


@pytest.mark.parametrize("kind", ["flat", "hybrid"])
@pytest.mark.parametrize("loss", [6, 12, 24])
@pytest.mark.parametrize("delay", [0.02, 0.1, 0.25])
def test_an_echo_alone_is_known_for_it(agent: Signal, kind: str, loss: float, delay: float) -> None:
    one = line(agent, None, delay=delay, loss=loss, kind=kind)
    reference = EchoReference(RATE)
    found = scores(one.sent, one.came, reference)
    echo = found[window_levels(one.echo) > AUDIBLE_DB]
    assert np.mean(echo > 0.7) >= 0.95
    assert reference.delay == pytest.approx(delay, abs=0.004)


@pytest.mark.parametrize("loss", [6, 12, 24])
def test_a_caller_who_speaks_over_the_echo_is_not_taken_for_it(
    agent: Signal, caller: Signal, loss: float
) -> None:
    one = line(agent, caller, delay=0.1, loss=loss, kind="hybrid")
    found = scores(one.sent, one.came)
    loud = window_levels(caller)
    over = found[(loud > LOUD_DB) & (loud > window_levels(one.echo) - 3)]
    assert np.mean(over < 0.4) >= 0.9


def test_without_an_echo_the_caller_is_never_taken_for_one(agent: Signal, caller: Signal) -> None:
    one = line(agent, caller, delay=0.1, loss=120, kind="flat")
    reference = EchoReference(RATE)
    found = scores(one.sent, one.came, reference)
    assert np.mean(found[window_levels(caller) > LOUD_DB] < 0.1) >= 0.99
    assert found.max() < 0.4
    assert reference.delay is None


def test_while_the_agent_is_silent_nothing_is_an_echo(caller: Signal) -> None:
    assert not scores(np.zeros(len(caller)), caller).any()


def test_half_a_second_after_the_agent_nothing_is_an_echo(agent: Signal) -> None:
    reference = EchoReference(RATE)
    one = line(agent, None, delay=0.1, loss=10, kind="flat")
    scores(one.sent, one.came, reference)
    loud = agent[:WINDOW].astype("<i2").tobytes()
    assert reference.score(len(agent) + RATE // 2, loud) == 0.0


def test_the_first_words_of_an_echo_are_known_within_a_third_of_a_second(agent: Signal) -> None:
    one = line(agent, None, delay=0.15, loss=12, kind="hybrid")
    found = scores(one.sent, one.came)
    heard = np.flatnonzero(window_levels(one.echo) > AUDIBLE_DB)
    known = np.flatnonzero(found > 0.7)
    assert (known[0] - heard[0]) * WINDOW / RATE <= 0.33


def test_an_echo_whose_delay_changes_is_found_again(agent: Signal) -> None:
    reference = EchoReference(RATE)
    first = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    then = line(agent, None, delay=0.18, loss=12, kind="hybrid", seed=2)
    whole = len(agent) // 2 // WINDOW * WINDOW
    came = np.concatenate((first.came[:whole], then.came[whole:]))
    found = scores(first.sent, came, reference)
    later = (np.arange(len(found)) * WINDOW >= whole + RATE) & (
        window_levels(then.echo) > AUDIBLE_DB
    )
    assert np.mean(found[later] > 0.7) >= 0.95
    assert reference.delay == pytest.approx(0.18, abs=0.004)


def test_ducking_the_agent_changes_nothing(agent: Signal) -> None:
    ducked = agent * np.where(np.arange(len(agent)) // RATE % 2, 0.25, 1.0)
    one = line(ducked, None, delay=0.1, loss=6, kind="hybrid")
    found = scores(one.sent, one.came)
    assert np.mean(found[window_levels(one.echo) > AUDIBLE_DB] > 0.7) >= 0.95


def test_what_was_cut_was_not_played_and_is_no_echo(agent: Signal) -> None:
    one = line(agent, None, delay=0.0, loss=6, kind="flat")
    reference = EchoReference(RATE)
    pcm = one.sent.astype("<i2").tobytes()
    reference.sent(0, pcm[: 2 * 6000])
    reference.cut(1600)
    back = one.came.astype("<i2").tobytes()
    late = [reference.score(at, back[2 * at : 2 * at + 320]) for at in range(4800, 6000, 160)]
    assert late == [0.0] * len(late)


def test_frames_that_leave_in_bursts_and_not_quite_on_time_are_one_stream(agent: Signal) -> None:
    one = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    reference = EchoReference(RATE)
    out, back = one.sent.astype("<i2").tobytes(), one.came.astype("<i2").tobytes()
    found = []
    for tick in range(len(agent) // 160 - 6):
        now = tick * 160 + (tick * 7919) % 40
        for frame in range(6) if tick == 0 else (tick + 5,):
            reference.sent(now, out[320 * frame : 320 * (frame + 1)])
        found.append(reference.score(tick * 160, back[320 * tick : 320 * (tick + 1)]))
    power = one.echo[: len(found) * 160].reshape(-1, 160)
    loud = 10 * np.log10(np.mean(power**2, axis=1) / 32768**2 + 1e-10) > AUDIBLE_DB
    assert np.mean(np.array(found)[loud] > 0.7) >= 0.95


@pytest.mark.parametrize("rate", [16000, 24000, 48000])
def test_other_rates_are_brought_to_that_of_the_telephone(agent: Signal, rate: int) -> None:
    one = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    factor = rate // RATE
    reference = EchoReference(rate)
    out = np.repeat(one.sent, factor).astype("<i2").tobytes()
    back = np.repeat(one.came, factor).astype("<i2").tobytes()
    step = rate // 50 * 2
    found = []
    for at in range(0, len(back) - step, step):
        reference.sent(at // 2, out[at : at + step])
        found.append(reference.score(at // 2, back[at : at + step]))
    assert np.mean(np.array(found) > 0.7) > 0.3
    assert reference.delay == pytest.approx(0.1, abs=0.004)


@given(
    st.lists(
        st.tuples(st.sampled_from(["sent", "score", "cut"]), st.integers(0, 60000), st.binary()),
        max_size=20,
    )
)
def test_whatever_it_is_told_a_score_is_a_share(told: list[tuple[str, int, bytes]]) -> None:
    reference = EchoReference(RATE)
    for what, start, sound in told:
        pcm = (sound * 20)[: len(sound) * 20 // 2 * 2]
        match what:
            case "sent":
                reference.sent(start, pcm)
            case "cut":
                reference.cut(start)
            case _:
                assert 0.0 <= reference.score(start, pcm) <= 1.0
