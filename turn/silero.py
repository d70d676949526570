"""Prepares the voice activity model's graph: the same numbers, from matrices for convolutions.

Silero VAD hears windows of one length.
A convolution over so few steps (four spectra, then two, then one) is one matrix, and a matrix for
the windows of all calls is what a processor is fastest at: it takes a third of the time.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from inference.graph import Graph, Node

Floats = npt.NDArray[np.float32]
_Array = Floats | npt.NDArray[np.int64]

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
    graph = Graph(model)
    weights = _Weights(graph, rate)
    maker = _Maker(graph)
    spectra = maker.spectra(weights.read("forward_basis_buffer")[:, 0])
    heard = maker.encoder(spectra, weights)
    maker.decoder(heard, weights)
    graph.nodes = maker.nodes
    graph.drop_input("sr")
    graph.forget_shapes()
    graph.drop_unused()
    return graph.encode()


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


class _Maker:
    """Writes the nodes, each of which makes one tensor named after its place."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self._graph = graph

    def spectra(self, basis: Floats) -> str:
        """Make the magnitudes of all spectra of a window, in one row: `[batch, steps * bins]`.

        `basis` is `[2 * bins, samples]`: cosines, then sines.
        """
        rows, length = basis.shape
        hop, bins = length // 2, rows // 2
        self._make("Pad", "input", _ints(0, 0, 0, hop // 2), to="padded", mode="reflect")
        # Spectra overlap by half: halves are laid side by side.
        self._make("Reshape", "padded", _ints(0, -1, hop), to="halves")
        self._make("Slice", "halves", _ints(0), _ints(-1), _ints(1), to="firsts")
        self._make("Slice", "halves", _ints(1), _ints(STEPS + 1), _ints(1), to="seconds")
        self._make("Concat", "firsts", "seconds", to="overlapping", axis=2)
        self._make("Reshape", "overlapping", _ints(-1, length), to="frames")
        self._make("MatMul", "frames", basis.T / np.float32(FULL_SCALE), to="spectrum")
        self._split("spectrum", "real", "imaginary", axis=1)
        self._make("Mul", "real", "real", to="real_power")
        self._make("Mul", "imaginary", "imaginary", to="imaginary_power")
        self._make("Add", "real_power", "imaginary_power", to="power")
        self._make("Sqrt", "power", to="magnitude")
        return self._make("Reshape", "magnitude", _ints(-1, STEPS * bins), to="magnitudes")

    def encoder(self, name: str, weights: _Weights) -> str:
        """Make what is heard in the window: `[batch, units]`."""
        steps = STEPS
        for number, stride in enumerate(STRIDES):
            weight = weights.read(f"encoder.{number}.reparam_conv.weight")
            matrix = as_matrix(weight, steps, stride)
            steps = matrix.shape[1] // len(weight)
            bias = np.tile(weights.read(f"encoder.{number}.reparam_conv.bias"), steps)
            self._make("Gemm", name, matrix, bias, to=f"convolved_{number}")
            name = self._make("Relu", f"convolved_{number}", to=f"encoded_{number}")
        return name

    def decoder(self, name: str, weights: _Weights) -> None:
        """Make `output`, the probability of speech, and `stateN`."""
        bias = np.concatenate([weights.gates("rnn.bias_ih"), weights.gates("rnn.bias_hh")])
        self._split("state", "hidden", "cell", axis=0)
        self._make("Unsqueeze", name, _ints(0), to="sequence")
        recurrent = (weights.gates("rnn.weight_ih")[None], weights.gates("rnn.weight_hh")[None])
        inputs = [self._name(each) for each in ("sequence", *recurrent, bias[None])]
        outputs = ["", "hidden_after", "cell_after"]
        self.nodes.append(
            Node.make("LSTM", [*inputs, "", "hidden", "cell"], outputs, hidden_size=UNITS)
        )
        self._make("Concat", "hidden_after", "cell_after", to="stateN", axis=0)
        self._make("Squeeze", "hidden_after", _ints(0), to="remembered")
        self._make("Relu", "remembered", to="decoded")
        last = weights.read("decoder.2.weight")[0], weights.read("decoder.2.bias")
        self._make("Gemm", "decoded", *last, to="logit")
        self._make("Sigmoid", "logit", to="output")

    def _make(self, op: str, *inputs: str | _Array, to: str, **attributes: int | str) -> str:
        names = [self._name(each) for each in inputs]
        self.nodes.append(Node.make(op, names, [to], **attributes))
        return to

    def _split(self, name: str, first: str, second: str, *, axis: int) -> None:
        self.nodes.append(Node.make("Split", [name], [first, second], axis=axis))

    def _name(self, tensor: str | _Array) -> str:
        """Name a tensor; numbers become a constant."""
        if isinstance(tensor, str):
            return tensor
        name = f"constant_{len(self._graph.constants)}"
        self._graph.set_constant(name, tensor)
        return name


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
