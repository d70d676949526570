"""Turns a quantised graph back into one of plain float operations.

TensorRT takes symmetric 8-bit integers alone, so a graph with an offset (unsigned activations) is
refused; on a GPU there is nothing to gain from them at this size anyway.
Weights keep the values they were rounded to; activations are not rounded any more, so that results
differ a little from the quantised graph's, towards those of the model before it was quantised.
"""

from __future__ import annotations

import numpy as np

from inference.graph import Array, Graph, Node


def dequantise(model: bytes) -> bytes:
    """Replace all pairs of QuantizeLinear and DequantizeLinear by what they stand for."""
    graph = Graph(model)
    became: dict[str, str] = {}
    "tensors that are the same but for rounding, by their name before"
    kept = []
    for node in graph.nodes:
        match node.op:
            case "QuantizeLinear":
                became[node.outputs[0]] = node.inputs[0]
            case "DequantizeLinear" if node.inputs[0] in graph.constants:
                graph.set_constant(node.outputs[0], _restored(graph, node))
            case "DequantizeLinear":
                became[node.outputs[0]] = node.inputs[0]
            case _:
                kept.append(node)
    outputs = {_origin(name, became): name for name in graph.outputs}
    for node in kept:
        for names in (node.inputs, node.outputs):
            for place, name in enumerate(names):
                origin = _origin(name, became)
                names[place] = outputs.get(origin, origin)
    graph.nodes = kept
    graph.forget_shapes()
    graph.drop_unused()
    return graph.encode()


def _origin(name: str, became: dict[str, str]) -> str:
    while name in became:
        name = became[name]
    return name


def _restored(graph: Graph, node: Node) -> Array:
    """Return the values that a quantised constant stands for (ONNX, DequantizeLinear)."""
    rounded = graph.constant(node.inputs[0]).astype(np.float32)
    scale = graph.constant(node.inputs[1]).astype(np.float32)
    offset = np.zeros_like(scale)
    if len(node.inputs) > 2:
        offset = graph.constant(node.inputs[2]).astype(np.float32)
    if scale.size > 1:  # one for each slice along an axis
        shape = [1] * rounded.ndim
        shape[node.attribute("axis", 1)] = -1
        scale, offset = scale.reshape(shape), offset.reshape(shape)
    else:
        scale, offset = scale.reshape(()), offset.reshape(())
    return ((rounded - offset) * scale).astype(np.float32)
