"""Edges of speech lie where the level says, and starts and stops take turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.turn.windows import LOUD, QUIET, RATE, WINDOW, windows
from turn.events import SpeechStarted, SpeechStopped, VoiceScored
from turn.gate import Gate


def run(scored: list[VoiceScored]) -> tuple[Gate, list[SpeechStarted | SpeechStopped]]:
    gate = Gate(RATE)
    return gate, [edge for each in scored for edge in gate.feed(each)]


def test_a_sound_has_a_start_and_a_stop() -> None:
    _, (started, stopped) = run(windows((0.5, False), (0.64, True), (0.5, False)))
    assert isinstance(started, SpeechStarted)
    assert isinstance(stopped, SpeechStopped)
    assert started.start == 16 * WINDOW
    assert started.at == 18 * WINDOW  # two windows: 64 ms
    assert stopped.end == 36 * WINDOW
    assert stopped.at - stopped.end == 4 * WINDOW  # 0.1 s in whole windows


def test_a_click_and_a_closure_are_no_edges() -> None:
    click = windows((0.5, False), (0.032, True), (0.5, False))
    assert run(click)[1] == []
    closure = windows((0.5, False), (0.32, True), (0.064, False), (0.32, True))
    assert len(run(closure)[1]) == 1


def test_the_models_late_stop_is_moved_back_to_the_level() -> None:
    scored = windows((0.5, False), (0.64, True), (0.5, False))
    # The model goes on for three windows over silence, as Silero does.
    late = [
        replace(each, probability=0.8) if 36 <= index < 39 else each
        for index, each in enumerate(scored)
    ]
    gate, (_, stopped) = run(late)
    assert isinstance(stopped, SpeechStopped)
    assert stopped.end == 36 * WINDOW
    assert gate.model_end == 39 * WINDOW
    assert gate.seconds == pytest.approx(20 * WINDOW / RATE)


def test_a_soft_onset_is_moved_back_while_it_is_heard() -> None:
    scored = windows((0.5, False), (0.64, True), (0.5, False))
    soft = [
        replace(each, probability=0.1, level=-35.0) if 13 <= index < 16 else each
        for index, each in enumerate(scored)
    ]
    assert run(soft)[1][0].start == 13 * WINDOW  # type: ignore[union-attr]


def test_an_edge_is_moved_by_a_fifth_of_a_second_at_most() -> None:
    scored = windows((0.5, False), (0.64, True), (0.5, False))
    faded = [
        replace(each, level=QUIET) if index >= 26 else each for index, each in enumerate(scored)
    ]
    _, (_, stopped) = run(faded)
    assert isinstance(stopped, SpeechStopped)
    assert 36 * WINDOW - stopped.end <= 0.2 * RATE


def test_our_own_echo_is_not_the_caller() -> None:
    assert run(windows((0.5, False), (1.0, True), (0.5, False), echo=0.9))[1] == []


def test_the_callers_usual_level_is_learned() -> None:
    gate, _ = run(windows((0.5, False), (0.64, True), (0.5, False)))
    assert gate.usual == pytest.approx(LOUD)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(-96, 0), st.sampled_from([0.0, 0.0, 0.3, 0.9])),
        max_size=120,
    )
)
def test_starts_and_stops_alternate_and_never_lie_ahead(
    scores: list[tuple[float, float, float]],
) -> None:
    scored = [
        VoiceScored(index * WINDOW, (index + 1) * WINDOW, probability, level, echo)
        for index, (probability, level, echo) in enumerate(scores)
    ]
    gate = Gate(RATE)
    last = 0
    started = False
    for each in scored:
        for edge in gate.feed(each):
            assert isinstance(edge, SpeechStarted) is not started
            started = isinstance(edge, SpeechStarted)
            place = edge.start if isinstance(edge, SpeechStarted) else edge.end
            assert last <= place <= edge.at == each.end
            last = place
            assert gate.seconds >= 0
        assert gate.voiced is started


def test_a_word_said_loudly_after_a_silence_opens_it_at_a_lower_score():
    gate = Gate(RATE)
    silence = [VoiceScored(i * 256, (i + 1) * 256, 0.0, -60.0) for i in range(40)]
    scores = (0.34, 0.43, 0.46, 0.46, 0.39)
    word = [VoiceScored((40 + i) * 256, (41 + i) * 256, p, -15.0) for i, p in enumerate(scores)]
    said = [edge for window in (*silence, *word) for edge in gate.feed(window)]
    assert [type(edge) for edge in said] == [SpeechStarted]
    faint = Gate(RATE)
    quiet = [VoiceScored(w.start, w.end, w.probability, -45.0) for w in word]
    assert not [edge for window in (*silence, *quiet) for edge in faint.feed(window)]


def test_the_faint_end_of_our_echo_is_not_the_caller() -> None:
    echo = windows((0.5, False), (0.64, True), echo=0.9)
    # The model stays open for three windows over what is too faint to be explained.
    end = [
        replace(each, probability=0.9, level=-58.0)
        for each in windows((0.096, True), start=echo[-1].end)
    ]
    after = windows((0.5, False), start=end[-1].end)
    assert run([*echo, *end, *after])[1] == []


def test_a_caller_as_loud_as_our_echo_is_heard_at_once_after_it() -> None:
    echo = windows((0.5, False), (0.64, True), echo=0.9)
    caller = windows((0.32, True), start=echo[-1].end)
    (started,) = run([*echo, *caller])[1]
    assert isinstance(started, SpeechStarted)
    assert started.start == caller[0].start
