"""Writes ONNX graphs from nothing, and adds outputs to graphs there are.

    network = Network({"x": ("float32", 2)})
    weighted = network.add("MatMul", "x", weights)
    network.add("Relu", weighted, to=("y",))
    runtime.load(network.encode({"y": ("float32", 2)}), name="mine")

Field numbers are those of onnx/onnx.proto, ONNX IR version 10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from inference import protobuf
from inference.graph import Array, Attribute, Graph, Node
from inference.protobuf import Field

ElementType = Literal["float32", "int32", "int64"]
Tensors = Mapping[str, tuple[ElementType, int]]
"""Type and number of dimensions by name; all sizes are free."""

MICROSOFT: Final = "com.microsoft"
"""Domain of the operations that onnxruntime has beside ONNX's own."""

IR_VERSION: Final = 8
OPERATIONS: Final = {"": 17, MICROSOFT: 1}
"""Versions of the operations, by domain."""

_MODEL_IR, _MODEL_GRAPH, _MODEL_OPERATIONS = 1, 7, 8
_OPERATIONS_DOMAIN, _OPERATIONS_VERSION = 1, 2
_NODE_DOMAIN = 7
_GRAPH_NAME, _GRAPH_INPUT, _GRAPH_OUTPUT = 2, 11, 12
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR = 1, 2, 1
_TENSOR_ELEMENT, _TENSOR_SHAPE, _SHAPE_DIMENSION, _DIMENSION_NAME = 1, 2, 1, 2
_NUMBERS: Final[Mapping[ElementType, int]] = {"float32": 1, "int32": 6, "int64": 7}


class Network:
    """A graph in the making: nodes are added in an order in which they can run."""

    def __init__(self, inputs: Tensors) -> None:
        """Begin with the graph's inputs."""
        around = [
            protobuf.message(
                _MODEL_OPERATIONS,
                [
                    protobuf.text(_OPERATIONS_DOMAIN, domain),
                    protobuf.number(_OPERATIONS_VERSION, version),
                ],
            )
            for domain, version in OPERATIONS.items()
        ]
        edges = [protobuf.text(_GRAPH_NAME, "network")]
        edges += [_described(_GRAPH_INPUT, name, *of) for name, of in inputs.items()]
        version = protobuf.number(_MODEL_IR, IR_VERSION)
        graph = protobuf.message(_MODEL_GRAPH, edges)
        self._graph = Graph(protobuf.encode([version, graph, *around]))
        self._made = 0

    def add(
        self, op: str, *inputs: str | Array, to: Sequence[str] = ("",), **attributes: Attribute
    ) -> str:
        """Add a node of ONNX's own; give the name of its first output.

        Numbers become constants; an input named "" is left out. `to` names the outputs; a single
        one needs no name.
        """
        return self._add("", op, inputs, to, attributes)

    def add_fused(
        self, op: str, *inputs: str | Array, to: Sequence[str] = ("",), **attributes: Attribute
    ) -> str:
        """Add one of onnxruntime's own operations, as `add` does."""
        return self._add(MICROSOFT, op, inputs, to, attributes)

    def encode(self, outputs: Tensors) -> bytes:
        """Put the model together, with these outputs."""
        edges = [_described(_GRAPH_OUTPUT, name, *of) for name, of in outputs.items()]
        more = protobuf.encode([protobuf.message(_MODEL_GRAPH, edges)])
        return self._graph.encode() + more

    def _add(
        self,
        domain: str,
        op: str,
        inputs: Sequence[str | Array],
        to: Sequence[str],
        attributes: Mapping[str, Attribute],
    ) -> str:
        if tuple(to) == ("",):
            self._made += 1
            to = (f"made_{self._made}",)
        names = [self._named(each) for each in inputs]
        node = Node.make(op, names, to, **attributes)
        if domain:
            node.rest.append(protobuf.text(_NODE_DOMAIN, domain))
        self._graph.nodes.append(node)
        return to[0]

    def _named(self, value: str | Array) -> str:
        if isinstance(value, str):
            return value
        name = f"constant_{len(self._graph.constants)}"
        self._graph.set_constant(name, np.ascontiguousarray(value))
        return name


def with_output(model: bytes, name: str, dtype: ElementType, rank: int) -> bytes:
    """Add a tensor inside the graph to the graph's outputs, after those it has.

    All dimensions are left free.
    A runtime refuses the model if no such tensor is in it, or if it is of another type.
    Protobuf merges a message that appears twice and joins its lists, so that appending a second
    graph, which holds the output alone, is all there is to do.
    """
    output = _described(_GRAPH_OUTPUT, name, dtype, rank)
    return model + protobuf.encode([protobuf.message(_MODEL_GRAPH, [output])])


def _described(number: int, name: str, dtype: ElementType, rank: int) -> Field:
    """Describe an input or output, with all its dimensions left free."""
    sizes = [[protobuf.text(_DIMENSION_NAME, f"{name}_{axis}")] for axis in range(rank)]
    shape = [protobuf.message(_SHAPE_DIMENSION, each) for each in sizes]
    tensor = [
        protobuf.number(_TENSOR_ELEMENT, _NUMBERS[dtype]),
        protobuf.message(_TENSOR_SHAPE, shape),
    ]
    kind = [protobuf.message(_TYPE_TENSOR, tensor)]
    value = [protobuf.text(_VALUE_NAME, name), protobuf.message(_VALUE_TYPE, kind)]
    return protobuf.message(number, value)
