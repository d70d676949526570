"""Prepares the voice activity model's graph: the same numbers, from matrices for convolutions.

Silero VAD hears windows of one length.
A convolution over so few steps (four spectra, then two, then one) is one matrix, and a matrix for
the windows of all calls is what a processor is fastest at: it takes a third of the time.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from inference.graph import Graph
from inference.network import Network

Floats = npt.NDArray[np.float32]

BRANCHES: Final = {16000: "then_branch", 8000: "else_branch"}
"""The model holds a network for each rate, and chooses by its input `sr`."""

FULL_SCALE: Final = 32768.0

STEPS: Final = 4
"""Spectra of a window and its context."""

STRIDES: Final = (1, 2, 2, 1)
"""Of the four convolutions of the encoder, each three steps wide with one of padding."""

UNITS: Final = 128
"""Of the recurrent layer."""


def with_matrices(model: bytes, rate: int) -> bytes:
    """Return the network for one rate alone, with inputs `input` (context and window) and `state`.

    It takes samples as the 16-bit numbers they are; the model itself takes full scale as 1.

    Raise ValueError where the model is not built as this one is.
    """
    weights = _Weights(Graph(model), rate)
    network = Network({"input": ("float32", 2), "state": ("float32", 3)})
    spectra = _spectra(network, weights.read("forward_basis_buffer")[:, 0])
    _decoder(network, _encoder(network, spectra, weights), weights)
    return network.encode({"output": ("float32", 2), "stateN": ("float32", 3)})


class _Weights:
    """The network's own numbers, by the ends of their names."""

    def __init__(self, graph: Graph, rate: int) -> None:
        choice = next((node for node in graph.nodes if node.op == "If"), None)
        if choice is None:
            raise ValueError("not the voice activity model: it chooses no network by rate")
        self._within = choice.branch(BRANCHES[rate])
        self._within.lift_constants()

    def read(self, end: str) -> Floats:
        """Read the one constant whose name ends so."""
        names = [name for name in self._within.constants if name.endswith(end)]
        if len(names) != 1:
            raise ValueError(f"not the voice activity model: it has {len(names)} constants {end!r}")
        return self._within.constant(names[0]).astype(np.float32)

    def gates(self, end: str) -> Floats:
        """Read what belongs to the four gates, in ONNX's order (PyTorch has i, f, g, o)."""
        i, f, g, o = np.split(self.read(end), 4)
        return np.concatenate([i, o, f, g])


def _spectra(network: Network, basis: Floats) -> str:
    """Make the magnitudes of all spectra of a window, in one row: `[batch, steps * bins]`.

    `basis` is `[2 * bins, samples]`: cosines, then sines.
    """
    rows, length = basis.shape
    hop, bins = length // 2, rows // 2
    padded = network.add("Pad", "input", _ints(0, 0, 0, hop // 2), mode="reflect")
    # Spectra overlap by half: halves are laid side by side.
    halves = network.add("Reshape", padded, _ints(0, -1, hop))
    firsts = network.add("Slice", halves, _ints(0), _ints(-1), _ints(1))
    seconds = network.add("Slice", halves, _ints(1), _ints(STEPS + 1), _ints(1))
    overlapping = network.add("Concat", firsts, seconds, axis=2)
    frames = network.add("Reshape", overlapping, _ints(-1, length))
    spectrum = network.add("MatMul", frames, basis.T / np.float32(FULL_SCALE))
    parts = ("real", "imaginary")
    network.add("Split", spectrum, to=parts, axis=1)
    power = network.add("Add", *(network.add("Mul", part, part) for part in parts))
    return network.add("Reshape", network.add("Sqrt", power), _ints(-1, STEPS * bins))


def _encoder(network: Network, name: str, weights: _Weights) -> str:
    """Make what is heard in the window: `[batch, units]`."""
    steps = STEPS
    for number, stride in enumerate(STRIDES):
        weight = weights.read(f"encoder.{number}.reparam_conv.weight")
        matrix = as_matrix(weight, steps, stride)
        steps = matrix.shape[1] // len(weight)
        bias = np.tile(weights.read(f"encoder.{number}.reparam_conv.bias"), steps)
        name = network.add("Relu", network.add("Gemm", name, matrix, bias))
    return name


def _decoder(network: Network, name: str, weights: _Weights) -> None:
    """Make `output`, the probability of speech, and `stateN`."""
    bias = np.concatenate([weights.gates("rnn.bias_ih"), weights.gates("rnn.bias_hh")])
    before, after = ("hidden", "cell"), ("hidden_after", "cell_after")
    network.add("Split", "state", to=before, axis=0)
    recurrent = (weights.gates("rnn.weight_ih")[None], weights.gates("rnn.weight_hh")[None])
    network.add(
        "LSTM", network.add("Unsqueeze", name, _ints(0)), *recurrent, bias[None], "", *before,
        to=("", *after), hidden_size=UNITS,
    )  # fmt: skip
    network.add("Concat", *after, to=("stateN",), axis=0)
    decoded = network.add("Relu", network.add("Squeeze", after[0], _ints(0)))
    last = weights.read("decoder.2.weight")[0], weights.read("decoder.2.bias")
    network.add("Sigmoid", network.add("Gemm", decoded, *last), to=("output",))


def as_matrix(weight: Floats, steps: int, stride: int) -> Floats:
    """Write a convolution over `steps` steps, with one of padding, as one matrix.

    `weight` is `[to, from, 3]`; the matrix takes a row of all steps' channels to such a row, so it
    is `[steps * from, steps after * to]`.
    """
    to, channels, width = weight.shape
    after = (steps + 2 - width) // stride + 1
    matrix = np.zeros((steps, channels, after, to), np.float32)
    for step in range(after):
        for offset in range(width):
            source = step * stride + offset - 1
            if 0 <= source < steps:
                matrix[source, :, step] = weight[:, :, offset].T
    return matrix.reshape(steps * channels, after * to)


def _ints(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)
