"""The voice activity model written with matrices says what the model itself says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from inference import find, protobuf
from inference.graph import Graph, Node
from inference.protobuf import Field
from inference.runtime import Runtime, Session
from tests.inference.tiny import doubling
from tests.turn.recordings import recordings
from turn.silero import BRANCHES, FULL_SCALE, UNITS, as_matrix, with_matrices
from turn.vad import CONTEXT, WINDOW

RATES = sorted(BRANCHES)

Floats = npt.NDArray[np.float32]
Heard = tuple[Floats, Floats]
"""Probabilities, and the state after."""


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    made = Runtime()
    yield made
    made.close()


def ours(runtime: Runtime, rate: int) -> Session:
    model = with_matrices(find("silero-vad").read_bytes(), rate)
    return runtime.load(model, name=f"matrices-{rate}")


def hear(session: Session, sound: Floats, state: Floats) -> Heard:
    """Let the graph with matrices hear 16-bit numbers."""
    output, after = session.run({"input": sound, "state": state}, ("output", "stateN"))
    return output.astype(np.float32), after.astype(np.float32)


def shipped(runtime: Runtime, rate: int, sound: Floats, state: Floats) -> Heard:
    """Let the model itself hear the same, whose full scale is 1."""
    inputs = {
        "input": sound / np.float32(FULL_SCALE),
        "state": state,
        "sr": np.array(rate, np.int64),
    }
    output, after = runtime.load("silero-vad").run(inputs, ("output", "stateN"))
    return output.astype(np.float32), after.astype(np.float32)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("batch", [1, 2, 7, 40])
def test_any_sound_in_any_state_is_judged_the_same(runtime: Runtime, rate: int, batch: int) -> None:
    random = np.random.default_rng(batch)
    session = ours(runtime, rate)
    for loudest in (1, 30, 1000, 32767):
        shape = (batch, CONTEXT[rate] + WINDOW[rate])
        sound = random.integers(-loudest, loudest, shape, endpoint=True).astype(np.float32)
        state = random.normal(size=(2, batch, UNITS)).astype(np.float32)
        found = hear(session, sound, state)
        expected = shipped(runtime, rate, sound, state)
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape
            assert np.abs(one - other).max() < 1e-4


@pytest.mark.parametrize("rate", RATES)
def test_speech_is_judged_the_same_from_its_first_window_to_its_last(
    runtime: Runtime, rate: int
) -> None:
    """Several recordings side by side, each with what is remembered of it."""
    sounds = [each.samples for each in recordings(rate, "complete", "short_turn")[:5]]
    window, context = WINDOW[rate], CONTEXT[rate]
    windows = min(map(len, sounds)) // window
    sound = np.stack([each[: windows * window] for each in sounds]).astype(np.float32)
    sound = np.pad(sound, ((0, 0), (context, 0)))
    session = ours(runtime, rate)
    state = own = np.zeros((2, len(sounds), UNITS), np.float32)
    spoken = 0
    for begin in range(0, windows * window, window):
        piece = sound[:, begin : begin + context + window]
        found, own = hear(session, piece, own)
        expected, state = shipped(runtime, rate, piece, state)
        assert np.abs(found - expected).max() < 1e-3
        assert np.abs(own - state).max() < 1e-2
        spoken += int((expected > 0.5).sum())
    assert spoken > windows  # there was speech in it


@pytest.mark.parametrize("rate", RATES)
def test_it_has_the_network_for_one_rate_alone(runtime: Runtime, rate: int) -> None:
    session = ours(runtime, rate)
    assert sorted(session.inputs) == ["input", "state"]
    assert session.outputs == ("output", "stateN")
    model = find("silero-vad").read_bytes()
    graph = Graph(with_matrices(model, rate))
    assert not {node.op for node in graph.nodes} & {"If", "Conv"}


def choosing(*constants: str) -> bytes:
    """Make a model that chooses by rate, with such constants in its networks."""
    network = Graph(doubling())
    for name in constants:
        network.set_constant(name, np.zeros(3, np.float32))
    (inner,) = (each for each in protobuf.decode(network.encode()) if each.number == 7)
    node = Node("If", ["x"], ["doubled"], [])
    for name in BRANCHES.values():
        branch = Field(6, protobuf.BYTES, inner.content)
        node.rest.append(protobuf.message(5, [protobuf.text(1, name), branch]))
    graph = Graph(doubling())
    graph.nodes = [node]
    return graph.encode()


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (doubling(), "it chooses no network by rate"),
        (choosing(), "it has 0 constants 'forward_basis_buffer'"),
        (
            choosing("one.forward_basis_buffer", "other.forward_basis_buffer"),
            "it has 2 constants 'forward_basis_buffer'",
        ),
    ],
)
def test_a_model_of_another_kind_is_refused(model: bytes, problem: str, rate: int) -> None:
    with pytest.raises(ValueError, match=problem):
        with_matrices(model, rate)


def test_the_same_network_without_a_choice_is_refused() -> None:
    model = find("silero-vad", "silero_vad_op18_ifless.onnx").read_bytes()
    with pytest.raises(ValueError, match="not the voice activity model"):
        with_matrices(model, 16000)


@pytest.mark.parametrize(("steps", "stride"), [(4, 1), (4, 2), (2, 2), (1, 1), (1, 2), (7, 3)])
def test_a_convolution_is_one_matrix(steps: int, stride: int) -> None:
    """Against the definition: each step after is a sum over three steps, one of them padding."""
    random = np.random.default_rng(steps)
    weight = random.normal(size=(5, 2, 3)).astype(np.float32)
    sound = random.normal(size=(steps, 2)).astype(np.float32)
    padded = np.pad(sound, ((1, 1), (0, 0)))
    expected = [
        np.einsum("tcw,wc->t", weight, padded[begin : begin + 3])
        for begin in range(0, steps, stride)
    ]
    found = sound.reshape(1, -1) @ as_matrix(weight, steps, stride)
    assert found.reshape(-1, 5) == pytest.approx(np.array(expected), abs=1e-5)
