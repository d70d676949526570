"""Every sample that was sent has a mark behind it by the time sending pauses."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.websocket.marks import MarkPlan
from media.playout import Chunk, Mark

SOUND = bytes(160)


def chunks(utterance: int, count: int, *, generation: int = 1, ends: bool = True) -> list[Chunk]:
    return [
        Chunk(utterance, generation, n * 160, (n + 1) * 160, SOUND, ends and n == count - 1)
        for n in range(count)
    ]


def run(plan: MarkPlan, sent: list[Chunk]) -> list[tuple[int, Mark]]:
    """Return each mark with the number of chunks sent before it."""
    marks = []
    for n, chunk in enumerate(sent):
        if (mark := plan.before(chunk)) is not None:
            marks.append((n, mark))
        if (mark := plan.after(chunk)) is not None:
            marks.append((n + 1, mark))
    if (mark := plan.rest()) is not None:
        marks.append((len(sent), mark))
    return marks


def test_the_first_every_fifth_and_the_last() -> None:
    marks = run(MarkPlan(800), chunks(1, 13))
    assert [(n, mark.end) for n, mark in marks] == [(1, 160), (6, 960), (11, 1760), (13, 2080)]


def test_an_end_that_became_known_late_is_marked_before_what_follows() -> None:
    marks = run(MarkPlan(800), chunks(1, 3, ends=False) + chunks(2, 1))
    assert [(n, mark.utterance, mark.end) for n, mark in marks] == [
        (1, 1, 160),
        (3, 1, 480),
        (4, 2, 160),
    ]


def test_a_new_generation_begins_with_a_mark() -> None:
    plan = MarkPlan(800)
    run(plan, chunks(1, 2, ends=False))
    plan.forget()
    assert run(plan, chunks(1, 1, generation=2, ends=False)) == [(1, Mark(2, 1, 160))]


utterances = st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=8)


@given(utterances, st.integers(1, 3000))
def test_all_sound_is_covered_by_marks_in_order(story: list[tuple[int, bool]], every: int) -> None:
    sent = [
        chunk
        for number, (count, ends) in enumerate(story, start=1)
        for chunk in chunks(number, count, ends=ends)
    ]
    marks = run(MarkPlan(every), sent)
    for n, mark in marks:
        before = sent[n - 1]
        assert (mark.utterance, mark.end) == (before.utterance, before.end)
    for number, (count, _) in enumerate(story, start=1):
        ends = [mark.end for _, mark in marks if mark.utterance == number]
        assert ends[0] == 160
        assert ends[-1] == count * 160
        assert ends == sorted(set(ends))
        assert all(b - a < every + 160 for a, b in pairwise(ends))
