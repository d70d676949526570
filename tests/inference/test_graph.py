"""A tensor from inside a graph becomes one of its outputs."""

from __future__ import annotations

import numpy as np
import pytest

from inference.graph import with_output
from inference.runtime import Runtime
from tests.inference.tiny import doubling


def test_a_tensor_inside_becomes_an_output_after_the_others() -> None:
    session = Runtime().load(with_output(doubling(), "negated", "float32", 1), name="tiny")
    assert session.outputs == ("doubled", "negated")
    doubled, negated = session.run({"x": np.array([1, 2], np.float32)})
    assert doubled.tolist() == [-2, -4]
    assert negated.tolist() == [-1, -2]


@pytest.mark.parametrize(("name", "dtype"), [("nowhere", "float32"), ("negated", "int64")])
def test_the_runtime_refuses_a_tensor_that_is_not_there(name: str, dtype: str) -> None:
    with pytest.raises(Exception, match=name):
        Runtime().load(with_output(doubling(), name, dtype, 1), name="tiny")  # type: ignore[arg-type]


def test_the_synthesiser_tells_its_durations() -> None:
    from inference import find

    model = with_output(find("hibari").read_bytes(), "/Clip_output_0", "float32", 1)
    session = Runtime().load(model, name="hibari")
    durations, pitch = session.run(
        {"ids": np.array([[3, 50, 20, 4]], np.int64), "speed": np.ones(1, np.float32)},
        ["/Clip_output_0", "f0"],
    )
    assert durations.shape == (4,)
    # Two acoustic frames to a unit of duration.
    assert pitch.shape == (1, 2 * int(durations.sum()))
