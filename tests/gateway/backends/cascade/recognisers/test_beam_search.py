"""The search for the likeliest words, on made-up probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.cascade.recognisers.beam_search import (
    BeamSearch,
    Expected,
    Scores,
    Written,
    loops,
)
from gateway.backends.cascade.recognisers.moonshine_tokens import END

PIECES = 12

Model = Callable[[tuple[int, ...]], Scores]
"""Says how likely each next piece is after some pieces."""


def search(model: Model, width: int, limit: int = 20, expected: Expected | None = None) -> Written:
    """Drive a beam as the decoder does: it only ever sees last pieces and parents."""
    beam = BeamSearch(width, limit, expected)
    paths: list[tuple[int, ...]] = [()]
    while step := beam.advance(np.stack([model(path) for path in paths])):
        assert len(step.pieces) == len(step.parents) <= width
        paths = [
            (*paths[parent], piece) for parent, piece in zip(step.parents, step.pieces, strict=True)
        ]
    return beam.best


def table(**after: dict[int, float]) -> Model:
    """Make a model from probabilities by history, written like `_3_4={END: 0.9}`."""

    def model(path: tuple[int, ...]) -> Scores:
        row = np.full(PIECES, 1e-9, np.float32)
        for piece, probability in after.get("".join(f"_{one}" for one in path) or "_", {}).items():
            row[piece] = probability
        return np.log(row / row.sum())

    return model


GARDEN_PATH = table(
    _={3: 0.6, 4: 0.4},
    _3={5: 0.4, 6: 0.3, 7: 0.3},
    _4={8: 1.0},
    _3_5={END: 1.0},
    _3_6={END: 1.0},
    _3_7={END: 1.0},
    _4_8={END: 1.0},
)
"""Begins likeliest with 3, but 4 8 is likelier as a whole (0.40) than any that begins so (0.24)."""


def test_one_path_takes_the_likeliest_next_piece() -> None:
    assert search(GARDEN_PATH, width=1).pieces == (3, 5)


def test_two_paths_find_what_is_likelier_as_a_whole() -> None:
    best = search(GARDEN_PATH, width=2)
    assert best.pieces == (4, 8)
    assert np.isclose(best.score, np.log(0.4), atol=1e-5)
    assert np.isclose(best.confidence, np.log(0.4) / 3, atol=1e-5)


def test_an_expected_word_wins_where_it_is_nearly_as_likely() -> None:
    expected = Expected()
    expected.add((3, 6))
    best = search(GARDEN_PATH, width=2, expected=expected)
    assert best.pieces == (3, 6)
    # The bonus decides, and says nothing about how sure the model was.
    assert np.isclose(best.confidence, np.log(0.6 * 0.3) / 3, atol=1e-5)


def test_an_expected_word_that_breaks_off_gains_nothing() -> None:
    expected = Expected()
    expected.add((3, 9, 9, 9))
    assert search(GARDEN_PATH, width=4, expected=expected).pieces == (4, 8)


def test_an_expected_word_that_is_not_said_loses() -> None:
    expected = Expected()
    expected.add((10, 11))
    assert search(GARDEN_PATH, width=4, expected=expected).pieces == (4, 8)


def test_an_expected_word_pays_once() -> None:
    """A bonus for every repetition would make repeating better than ending."""

    def parrot(path: tuple[int, ...]) -> Scores:
        row = np.full(PIECES, 1e-9, np.float32)
        row[[3, END]] = 0.5
        return np.log(row)

    expected = Expected()
    expected.add((3,))
    assert search(parrot, width=3, expected=expected).pieces == (3,)


def test_a_stuck_model_ends_early() -> None:
    def stuck(path: tuple[int, ...]) -> Scores:
        row = np.full(PIECES, 1e-4, np.float32)
        row[3 + len(path) % 2] = 0.99
        return np.log(row)

    assert len(search(stuck, width=3, limit=500).pieces) < 30


def test_what_people_repeat_is_no_loop_and_what_models_repeat_is() -> None:
    assert not loops((5, 5, 5, 5))
    assert not loops((4, 5, 6) * 3)
    assert not loops(tuple(range(3, 60)))
    assert loops((9, 4, *(5,) * 8))
    assert loops((9, *(5, 6, 7) * 4))
    phrase = (3, 4, 5, 6)
    assert loops((9, *phrase, 7, *phrase, 8, *phrase, 7, *phrase, 8, *phrase))


@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.integers(1, 5),
    limit=st.integers(1, 12),
    phrases=st.lists(st.lists(st.integers(3, PIECES - 1), min_size=1, max_size=4), max_size=3),
)
def test_it_always_ends_and_scores_what_it_gives(
    seed: int, width: int, limit: int, phrases: list[list[int]]
) -> None:
    """Whatever the model says: the result is bounded and its confidence is the model's own."""

    def model(path: tuple[int, ...]) -> Scores:
        source = np.random.default_rng([seed, *path])
        return source.normal(0, 3, PIECES).astype(np.float32)

    expected = Expected()
    for phrase in phrases:
        expected.add(phrase)
    best = search(model, width, limit, expected)
    assert len(best.pieces) <= limit
    assert END not in best.pieces
    assert not loops(best.pieces)
    steps = [*best.pieces, END]
    logs = [
        float(np.log(np.exp(row - row.max()) / np.exp(row - row.max()).sum())[piece])
        for place, piece in enumerate(steps)
        for row in [model(tuple(steps[:place]))]
    ]
    ended = sum(logs) / len(steps)
    cut = sum(logs[:-1]) / max(1, len(best.pieces))
    assert np.isclose(best.confidence, ended, atol=1e-3) or np.isclose(
        best.confidence, cut, atol=1e-3
    )
