"""Our own sound coming back is known for it, and the caller's is not taken for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.echo import LOUD_DB, RATE, Signal, line, listening, scores, speech, window_levels
from media.codec import wire_form
from media.echo import FRESH, HISTORY, SELDOM, WINDOW, EchoReference
from media.frame import Samples
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
    reference = listening(one.came)
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
    reference = listening(one.came)
    found = scores(one.sent, one.came, reference)
    assert np.mean(found[window_levels(caller) > LOUD_DB] < 0.1) >= 0.99
    assert found.max() < 0.4
    assert reference.delay is None


def test_while_the_agent_is_silent_nothing_is_an_echo(caller: Signal) -> None:
    assert not scores(np.zeros(len(caller)), caller).any()


def test_half_a_second_after_the_agent_nothing_is_an_echo(agent: Signal) -> None:
    one = line(agent, None, delay=0.1, loss=10, kind="flat")
    came = np.concatenate((one.came, one.came))
    reference = listening(came)
    scores(one.sent, one.came, reference)
    later = len(agent) + RATE // 2
    assert not any(reference.score(later + at, later + at + 256) for at in range(0, RATE, 256))


def test_the_first_words_of_an_echo_are_known_within_a_third_of_a_second(agent: Signal) -> None:
    one = line(agent, None, delay=0.15, loss=12, kind="hybrid")
    found = scores(one.sent, one.came)
    heard = np.flatnonzero(window_levels(one.echo) > AUDIBLE_DB)
    known = np.flatnonzero(found > 0.7)
    assert (known[0] - heard[0]) * WINDOW / RATE <= 0.33


def test_an_echo_whose_delay_changes_is_found_again(agent: Signal) -> None:
    first = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    then = line(agent, None, delay=0.18, loss=12, kind="hybrid", seed=2)
    whole = len(agent) // 2 // WINDOW * WINDOW
    came = np.concatenate((first.came[:whole], then.came[whole:]))
    reference = listening(came)
    found = scores(first.sent, came, reference)
    later = (np.arange(len(found)) * WINDOW >= whole + RATE) & (
        window_levels(then.echo) > AUDIBLE_DB
    )
    assert np.mean(found[later] > 0.7) >= 0.95
    assert reference.delay == pytest.approx(0.18, abs=0.004)


def test_a_line_without_an_echo_is_looked_at_closely_first_and_then_seldom(
    agent: Signal, caller: Signal
) -> None:
    one = line(agent, caller, delay=0.1, loss=120, kind="flat")
    heard, looks = one.came.astype("<i2"), [0, 0]

    def came(start: int, end: int) -> Samples:
        looks[0] += end - start == WINDOW
        looks[1] += end - start == HISTORY
        return heard[max(start, 0) : max(end, 0)]

    scores(one.sent, one.came, EchoReference(wire_form("l16", RATE), came))
    windows, searches = looks
    # What seems to be one by chance is looked at once more.
    assert FRESH // 2 <= searches <= FRESH // 2 + 1.3 * (windows - FRESH) // SELDOM


def test_an_echo_that_comes_late_in_a_call_is_found(agent: Signal, caller: Signal) -> None:
    none = line(agent, caller, delay=0.1, loss=120, kind="flat")
    then = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    whole = len(agent) // 2 // WINDOW * WINDOW
    came = np.concatenate((none.came[:whole], then.came[whole:]))
    found = scores(then.sent, came)
    later = (np.arange(len(found)) * WINDOW >= whole + RATE) & (
        window_levels(then.echo) > AUDIBLE_DB
    )
    assert np.mean(found[later] > 0.7) >= 0.95


def test_ducking_the_agent_changes_nothing(agent: Signal) -> None:
    ducked = agent * np.where(np.arange(len(agent)) // RATE % 2, 0.25, 1.0)
    one = line(ducked, None, delay=0.1, loss=6, kind="hybrid")
    found = scores(one.sent, one.came)
    assert np.mean(found[window_levels(one.echo) > AUDIBLE_DB] > 0.7) >= 0.95


def test_what_was_cut_was_not_played_and_is_no_echo(agent: Signal) -> None:
    one = line(agent, None, delay=0.0, loss=6, kind="flat")
    reference = listening(one.came)
    pcm = one.sent.astype("<i2").tobytes()
    reference.sent(0, pcm[: 2 * 6000])
    reference.cut(1600)
    late = [reference.score(at, at + 160) for at in range(4800, 6000, 160)]
    assert late == [0.0] * len(late)


def test_frames_that_leave_in_bursts_and_not_quite_on_time_are_one_stream(agent: Signal) -> None:
    one = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    reference = listening(one.came)
    out = one.sent.astype("<i2").tobytes()
    found = []
    for tick in range(len(agent) // 160 - 6):
        now = tick * 160 + (tick * 7919) % 40
        for frame in range(6) if tick == 0 else (tick + 5,):
            reference.sent(now, out[320 * frame : 320 * (frame + 1)])
        found.append(reference.score(tick * 160, (tick + 1) * 160))
    power = one.echo[: len(found) * 160].reshape(-1, 160)
    loud = 10 * np.log10(np.mean(power**2, axis=1) / 32768**2 + 1e-10) > AUDIBLE_DB
    assert np.mean(np.array(found)[loud] > 0.7) >= 0.95


@pytest.mark.parametrize("rate", [16000, 24000, 48000])
def test_other_rates_are_brought_to_that_of_the_telephone(agent: Signal, rate: int) -> None:
    one = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    factor = rate // RATE
    came = np.repeat(one.came, factor)
    reference = listening(came, rate)
    out = np.repeat(one.sent, factor).astype("<i2").tobytes()
    step = rate // 50
    found = []
    for at in range(0, len(came) - step, step):
        reference.sent(at, out[2 * at : 2 * (at + step)])
        found.append(reference.score(at, at + step))
    assert np.mean(np.array(found) > 0.7) > 0.3
    assert reference.delay == pytest.approx(0.1, abs=0.004)


def test_who_speaks_long_after_what_was_sent_is_judged_by_what_was_sent_last(
    agent: Signal,
) -> None:
    """While nobody asks, what was sent is put by; what is too old is let go, the rest counts."""
    one = line(agent, None, delay=0.1, loss=12, kind="hybrid")
    reference = listening(one.came)
    out = one.sent.astype("<i2").tobytes()
    loud = np.flatnonzero(window_levels(one.echo) > AUDIBLE_DB)
    until = int(loud[-1]) * WINDOW // 160 * 160
    for at in range(0, until, 160):
        reference.sent(at, out[2 * at : 2 * at + 320])
    last = loud[(loud * WINDOW > until - RATE) & (loud * WINDOW < until)] * WINDOW
    found = np.array([reference.score(at, at + WINDOW) for at in last.tolist()])
    assert np.mean(found[-12:] > 0.7) >= 0.9


@given(
    st.lists(
        st.tuples(st.sampled_from(["sent", "score", "cut"]), st.integers(0, 60000), st.binary()),
        max_size=20,
    ),
    st.binary(min_size=1),
)
def test_whatever_it_is_told_a_score_is_a_share(
    told: list[tuple[str, int, bytes]], noise: bytes
) -> None:
    came = np.resize(np.frombuffer(noise * 2, dtype="<i2"), 60000)
    reference = listening(came)
    for what, start, sound in told:
        pcm = (sound * 20)[: len(sound) * 20 // 2 * 2]
        match what:
            case "sent":
                reference.sent(start, pcm)
            case "cut":
                reference.cut(start)
            case _:
                assert 0.0 <= reference.score(start, start + len(sound)) <= 1.0
