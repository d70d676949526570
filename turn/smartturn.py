"""Prepares the end-of-turn model's graph for what it is run on.

The graph that ships (smart-turn v3.2, quantised) takes eight seconds and no less: its positions are
a constant of 400 rows, and shapes inside say 400 too.
"""

from __future__ import annotations

import numpy as np

from inference.dequantise import dequantise
from inference.graph import Graph
from turn.features import FRAMES

POSITIONS = "inner.encoder.embed_positions.weight"
"""One row for each two frames of the picture, the oldest first."""

LENGTH = "val_21"
"""The shape constant that says how many positions there are."""

INPUT = "input_features"

SHIFTS = {400: 0.91, 600: 0.48}
"""What a shorter window's answer is raised by, in log odds, to mean what the whole window's means.

The model was trained with zeros in front of short turns and takes their absence for less certainty.
Means over 327 and 387 questions about turns that fit into the window; `python -m bench.semantic`
measures them again.
"""

FLOAT_SHIFT = 0.9
"""The same for the graph of float operations, which was left sharper by taking the rounding out."""


def with_plain_softmax(model: bytes) -> bytes:
    """Take the rounding off in front of the attention's softmax.

    onnxruntime's quantised softmax is slow: plain ones take a third off the whole graph's time.
    """
    graph = Graph(model)
    maker = {name: node for node in graph.nodes for name in node.outputs}
    for node in graph.nodes:
        if node.op == "Softmax":
            restored = maker.get(node.inputs[0])
            if restored is not None and restored.op == "DequantizeLinear":
                node.inputs[0] = maker[restored.inputs[0]].inputs[0]
    graph.drop_unused()
    return graph.encode()


def with_window(model: bytes, frames: int) -> bytes:
    """Shorten the window to the last `frames` (of 800) that a picture has.

    The positions kept are the last ones, so that a sound keeps its place before the end.
    """
    graph = Graph(model)
    positions = graph.constant(POSITIONS)
    kept = frames * len(positions) // FRAMES
    graph.set_constant(POSITIONS, positions[len(positions) - kept :])
    graph.set_constant(LENGTH, np.array([kept], np.int64))
    graph.resize_input(INPUT, 2, frames)
    graph.forget_shapes()
    return graph.encode()


def for_gpu(model: bytes) -> bytes:
    """Make the graph one of float operations, which TensorRT takes and CUDA runs fastest."""
    return dequantise(model)
