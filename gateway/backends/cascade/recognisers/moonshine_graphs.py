"""Writes Moonshine's decoder anew, from its own numbers: the same results for half the time.

The graph that comes with the model has 750 operations a step, and the processor spends more time
between them than in them. What it computes is a plain transformer, for which onnxruntime has whole
operations: 110 are left. All ways of writing that are kept in mind are one batch, whose rows share
the sound.

Two graphs come of it. `sound` computes once what each layer looks up in the sound; `decoder` writes
on, from any number of pieces at once:

    sound      heard [1, moments, 288]  ->  sound.N.key, sound.N.value [1, 8, moments, 36]
    decoder    pieces, positions [rows, new]; past.N.* [rows, 8, so far, 36]; sound.N.*
               ->  logits [rows, new, 32768], present.N.* [rows, 8, so far + new, 36]

Source: J. Jeffries et al., "Moonshine: Speech Recognition for Live Transcription and Voice
Commands", 2024; the model's own graph, whose nodes name the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from inference.graph import Array
from inference.network import Network, Tensors
from inference.ort_file import OrtFile

LAYERS: Final = 6
HEADS: Final = 8
WIDTH: Final = 36
"""Of a head."""
STATE: Final = HEADS * WIDTH
TURNED: Final = 32
"""Numbers of a head that tell its position: nine tenths of it, in pairs."""
INNER: Final = 1152
"""Of the perceptron behind each layer's attentions, which has as many gates."""

LONGEST: Final = 512
"""Pieces that have a position; 28 s of sound are 190 at most."""

TINY: Final = 1e-5
"""Of the normalisations."""

EMBEDDED: Final = "/model/decoder/embed_tokens/Gather_output_0"

LAYER_KEYS: Final = tuple(f"{layer}.{what}" for layer in range(LAYERS) for what in ("key", "value"))


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A matrix of 8-bit numbers: `(numbers - zero) * scale`, and what is added to its product."""

    numbers: Array
    scale: Array
    zero: Array
    added: Array | None = None


def graphs(model: bytes) -> tuple[bytes, bytes]:
    """Return `sound` and `decoder` of a Moonshine decoder in onnxruntime's format.

    Raise ValueError where the model is not built as this one is.
    """
    weights = _Weights(OrtFile.parse(model))
    return _sound(weights), _decoder(weights)


class _Weights:
    """The model's numbers, by the tensors that they make."""

    def __init__(self, file: OrtFile) -> None:
        self._file = file

    def matrix(self, made: str) -> _Matrix:
        """Return the matrix whose product a tensor is."""
        node = self._file.made(made)
        places = PLACES.get(node.op)
        if places is None:
            raise ValueError(f"{made!r} is made by {node.op}, not by a matrix of 8-bit numbers")
        numbers, scale, zero, added = (
            node.inputs[each] if each < len(node.inputs) else "" for each in places
        )
        plus = self.constant(added) if added else None
        return _Matrix(self.constant(numbers), self.constant(scale), self.constant(zero), plus)

    def norm(self, name: str) -> Array:
        """Return the weights of a normalisation."""
        return self.constant(f"model.decoder.{name}.weight_merged_0")

    def embedding(self) -> tuple[Array, Array, Array]:
        """Return the pieces' own numbers, as 8-bit ones with their scale and zero."""
        numbers, scale, zero = self._file.made(EMBEDDED).inputs
        table = self._file.made(numbers).inputs[0]
        return self.constant(table), self.constant(scale), self.constant(zero)

    def constant(self, name: str) -> Array:
        """Return a constant."""
        found = self._file.constants.get(name)
        if found is None:
            raise ValueError(f"it has no constant {name!r}")
        return found


PLACES: Final = {"DynamicQuantizeMatMul": (1, 2, 3, 4), "MatMulIntegerToFloat": (1, 3, 5, 6)}
"""Where these operations have a matrix's numbers, scale and zero, and what is added."""


def _sound(weights: _Weights) -> bytes:
    """Write the graph of what all layers look up in the sound: one product for all of it."""
    network = Network({"heard": ("float32", 3)})
    wanted = [
        weights.matrix(f"/model/decoder/layers.{layer}/encoder_attn/{which}_proj/MatMul_output_0")
        for layer in range(LAYERS)
        for which in ("k", "v")
    ]
    found = _product(network, "heard", _beside_each_other(wanted))
    parted = network.add("Reshape", found, _ints(0, 0, 2 * LAYERS, HEADS, WIDTH))
    turned = network.add("Transpose", parted, perm=(2, 0, 3, 1, 4))
    pieces = [f"piece.{each}" for each in LAYER_KEYS]
    network.add("Split", turned, to=pieces, axis=0)
    for each in LAYER_KEYS:
        network.add("Squeeze", f"piece.{each}", _ints(0), to=(f"sound.{each}",))
    return network.encode(_tensors("sound"))


def _decoder(weights: _Weights) -> bytes:
    """Write the graph that writes on."""
    words: Tensors = {"pieces": ("int64", 2), "positions": ("int64", 2)}
    network = Network({**words, **_tensors("past"), **_tensors("sound")})
    table, scale, zero = weights.embedding()
    state = network.add("DequantizeLinear", network.add("Gather", table, "pieces"), scale, zero)
    shape = network.add("Shape", state)
    first = weights.norm("layers.0.input_layernorm")
    ready = network.add("LayerNormalization", state, first, axis=-1, epsilon=TINY)
    turns = _turns()
    for layer in range(LAYERS):
        heard = _Layer(network, weights, layer)
        own = heard.own_pieces(ready, turns)
        ready, state = heard.added(state, own, f"layers.{layer}.post_attention_layernorm")
        looked_up = heard.sound(ready, shape)
        ready, state = heard.added(state, looked_up, f"layers.{layer}.final_layernorm")
        last = layer + 1 == LAYERS
        then = "norm" if last else f"layers.{layer + 1}.input_layernorm"
        ready, state = heard.added(state, heard.perceptron(ready), then)
    _product(network, ready, weights.matrix("logits"), to="logits")
    return network.encode({"logits": ("float32", 3), **_tensors("present")})


class _Layer:
    """Writes one layer of the decoder."""

    def __init__(self, network: Network, weights: _Weights, number: int) -> None:
        self._network = network
        self._weights = weights
        self._number = number

    def own_pieces(self, ready: str, turns: tuple[Array, Array]) -> str:
        """Look at the pieces so far; keep what is to be known of the new ones."""
        network, number = self._network, self._number
        projections = [self._matrix(f"self_attn/{which}_proj/MatMul") for which in "qkv"]
        asked = [f"{which}.{number}" for which in ("query", "key", "value")]
        together = _product(network, ready, _beside_each_other(projections))
        network.add("Split", together, _ints(STATE, STATE, STATE), to=asked, axis=-1)
        query, key = (
            network.add_fused(
                "RotaryEmbedding", each, "positions", *turns,
                interleaved=1, num_heads=HEADS, rotary_embedding_dim=TURNED,
            )
            for each in asked[:2]
        )  # fmt: skip
        past = (f"past.{number}.key", f"past.{number}.value")
        found = network.add_fused(
            "MultiHeadAttention", query, key, asked[2], "", "", "", *past,
            to=(f"own.{number}", f"present.{number}.key", f"present.{number}.value"),
            num_heads=HEADS, unidirectional=1,
        )  # fmt: skip
        return _product(network, found, self._matrix("self_attn/o_proj/MatMul"))

    def sound(self, ready: str, shape: str) -> str:
        """Look something up in the sound, which is the same for all rows: they are one."""
        network, number = self._network, self._number
        query = _product(network, ready, self._matrix("encoder_attn/q_proj/MatMul"))
        row = network.add("Reshape", query, _ints(1, -1, STATE))
        sound = (f"sound.{number}.key", f"sound.{number}.value")
        found = network.add_fused("MultiHeadAttention", row, *sound, num_heads=HEADS)
        back = network.add("Reshape", found, shape)
        return _product(network, back, self._matrix("encoder_attn/o_proj/MatMul"))

    def perceptron(self, ready: str) -> str:
        """Make of it what the layer makes of each piece by itself."""
        network = self._network
        both = _product(network, ready, self._matrix("mlp/fc1/Add"))
        values, gates = f"values.{self._number}", f"gates.{self._number}"
        network.add("Split", both, _ints(INNER, INNER), to=(values, gates), axis=-1)
        opened = network.add_fused("QuickGelu", gates, alpha=1.0)
        return _product(network, network.add("Mul", opened, values), self._matrix("mlp/fc2/Add"))

    def added(self, state: str, found: str, norm: str) -> tuple[str, str]:
        """Add what was found to the state; give it normalised for what comes next, and as it is."""
        network, names = self._network, (f"{norm}.ready", f"{norm}.state")
        network.add_fused(
            "SkipLayerNormalization", state, found, self._weights.norm(norm),
            to=(names[0], "", "", names[1]), epsilon=TINY,
        )  # fmt: skip
        return names

    def _matrix(self, part: str) -> _Matrix:
        return self._weights.matrix(f"/model/decoder/layers.{self._number}/{part}_output_0")


def _product(network: Network, of: str, matrix: _Matrix, to: str = "") -> str:
    """Multiply by a matrix; what is multiplied is rounded to 8 bits by its own extent."""
    more = () if matrix.added is None else (matrix.added,)
    return network.add_fused(
        "DynamicQuantizeMatMul", of, matrix.numbers, matrix.scale, matrix.zero, *more, to=(to,)
    )


def _beside_each_other(matrices: Sequence[_Matrix]) -> _Matrix:
    """Make one matrix of some, each column with the scale and zero of its own."""
    wide = [np.shape(each.numbers)[1] for each in matrices]
    return _Matrix(
        np.concatenate([each.numbers for each in matrices], axis=1),
        np.repeat(np.array([each.scale for each in matrices], np.float32), wide),
        np.repeat(np.array([each.zero for each in matrices], np.uint8), wide),
    )


def _turns() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return cosine and sine of the angle of each pair at each position."""
    speeds = 10000.0 ** -(np.arange(0, TURNED, 2) / TURNED)
    angles = np.arange(LONGEST)[:, None] * speeds[None]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _tensors(kind: str) -> Tensors:
    return {f"{kind}.{each}": ("float32", 4) for each in LAYER_KEYS}


def _ints(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)
