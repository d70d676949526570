"""Edits model graphs: outputs, inputs, constants and nodes of an ONNX file, and nothing else.

What an edit does not name is kept byte for byte.
The library made for this is a large dependency, and what is needed here is small.
Field numbers are those of onnx/onnx.proto, ONNX IR version 10.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from inference import protobuf
from inference.protobuf import Field

Array = npt.NDArray[np.generic]
Attribute = int | float | str | tuple[int, ...]

_MODEL_GRAPH: Final = 7
_NODE, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO = 1, 5, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_OP, _NODE_ATTRIBUTE = 1, 2, 4, 5
_ATTRIBUTE_NAME, _ATTRIBUTE_TYPE = 1, 20
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_TEXT, _ATTRIBUTE_INTS = 2, 3, 4, 8
_ATTRIBUTE_TENSOR, _ATTRIBUTE_GRAPH = 5, 6
_FLOAT, _INT, _TEXT, _INTS = 1, 2, 3, 7
"""Types of attributes, as they are noted beside the value."""
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR = 1, 2, 1
_TENSOR_ELEMENT, _TENSOR_SHAPE, _SHAPE_DIMENSION = 1, 2, 1
_DIMENSION_SIZE, _DIMENSION_NAME = 1, 2
_CONSTANT_DIMS, _CONSTANT_TYPE, _CONSTANT_NAME, _CONSTANT_RAW = 1, 2, 8, 9

ELEMENTS: Final[Mapping[int, str]] = {
    1: "<f4",
    2: "u1",
    3: "i1",
    6: "<i4",
    7: "<i8",
}
_TYPED: Final[Mapping[int, int]] = {1: 4, 2: 5, 3: 5, 6: 5, 7: 7}
"""Where a constant keeps its values when it does not keep them raw, by element type."""


@dataclass(slots=True)
class Node:
    """One operation."""

    op: str
    inputs: list[str]
    outputs: list[str]
    rest: list[Field]
    "all other fields"

    @classmethod
    def make(
        cls, op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Attribute
    ) -> Node:
        """Make a node; an input or output named "" is left out."""
        rest = [_attribute(*each) for each in attributes.items()]
        return cls(op, list(inputs), list(outputs), rest)

    def attribute(self, name: str, default: int) -> int:
        """Return an attribute that is a whole number."""
        found = self._field(name, _ATTRIBUTE_INT)
        return default if found is None else protobuf.read_numbers(found)[0]

    def branch(self, name: str) -> Graph:
        """Return a graph that is an attribute of this node; raise KeyError where there is none."""
        found = self._field(name, _ATTRIBUTE_GRAPH)
        if found is None:
            raise KeyError(name)
        return Graph(protobuf.encode([Field(_MODEL_GRAPH, protobuf.BYTES, found.content)]))

    def tensor(self) -> bytes | None:
        """Return the constant that this node does nothing but hold, still encoded."""
        found = self._field("value", _ATTRIBUTE_TENSOR) if self.op == "Constant" else None
        return None if found is None else found.content

    def _field(self, name: str, kind: int) -> Field | None:
        for each in self.rest:
            if each.number == _NODE_ATTRIBUTE:
                fields = protobuf.decode(each.content)
                if any(f.number == _ATTRIBUTE_NAME and f.value == name.encode() for f in fields):
                    return next((f for f in fields if f.number == kind), None)
        return None

    @classmethod
    def parse(cls, content: bytes) -> Node:
        """Take a node apart."""
        node = cls("", [], [], [])
        for each in protobuf.decode(content):
            match each.number:
                case 1:
                    node.inputs.append(each.content.decode())
                case 2:
                    node.outputs.append(each.content.decode())
                case 4:
                    node.op = each.content.decode()
                case _:
                    node.rest.append(each)
        return node

    def encode(self) -> bytes:
        """Put the node together."""
        fields = [protobuf.text(_NODE_INPUT, each) for each in self.inputs]
        fields += [protobuf.text(_NODE_OUTPUT, each) for each in self.outputs]
        return protobuf.encode([*fields, protobuf.text(_NODE_OP, self.op), *self.rest])


class Graph:
    """A model taken apart far enough to change its nodes and constants."""

    def __init__(self, model: bytes) -> None:
        """Take a model apart; raise ValueError where it is none."""
        self._around = protobuf.decode(model)
        self.nodes: list[Node] = []
        self.constants: dict[str, bytes] = {}
        "by name, still encoded: most are never looked at"
        self._inputs: list[Field] = []
        self._rest: list[Field] = []
        for each in self._graph():
            match each.number:
                case 1:
                    self.nodes.append(Node.parse(each.content))
                case 5:
                    self.constants[_name(each, _CONSTANT_NAME)] = each.content
                case 11:
                    self._inputs.append(each)
                case _:
                    self._rest.append(each)

    def _graph(self) -> list[Field]:
        return [
            inner
            for each in self._around
            if each.number == _MODEL_GRAPH
            for inner in protobuf.decode(each.content)
        ]

    @property
    def outputs(self) -> list[str]:
        """Name the graph's outputs."""
        return [_name(each, _VALUE_NAME) for each in self._rest if each.number == _OUTPUT]

    def constant(self, name: str) -> Array:
        """Read a constant."""
        dims: list[int] = []
        raw: bytes | None = None
        kind = 0
        typed: list[Field] = []
        for each in protobuf.decode(self.constants[name]):
            match each.number:
                case 1:
                    dims += protobuf.read_numbers(each)
                case 2:
                    kind = each.number_value
                case 9:
                    raw = each.content
                case 4 | 5 | 7:
                    typed.append(each)
                case _:
                    pass
        if kind not in ELEMENTS:
            raise ValueError(f"constant {name!r} has an element type that is not known: {kind}")
        element = np.dtype(ELEMENTS[kind])
        if raw is not None:
            return np.frombuffer(raw, element).reshape(dims)
        fields = [each for each in typed if each.number == _TYPED[kind]]
        if kind == 1:
            return np.frombuffer(b"".join(each.content for each in fields), element).reshape(dims)
        numbers = [value for each in fields for value in protobuf.read_numbers(each)]
        return np.array(numbers, element).reshape(dims)

    def set_constant(self, name: str, value: Array) -> None:
        """Replace a constant, or add one; its shape may differ."""
        kind = next(k for k, v in ELEMENTS.items() if np.dtype(v) == value.dtype)
        self.constants[name] = protobuf.encode(
            [
                *(protobuf.number(_CONSTANT_DIMS, size) for size in value.shape),
                protobuf.number(_CONSTANT_TYPE, kind),
                protobuf.text(_CONSTANT_NAME, name),
                Field(_CONSTANT_RAW, protobuf.BYTES, value.tobytes()),
            ]
        )

    def resize_input(self, name: str, axis: int, size: int) -> None:
        """Give one dimension of an input another fixed size."""
        for place, each in enumerate(self._inputs):
            if _name(each, _VALUE_NAME) == name:
                self._inputs[place] = _resized(each, axis, size)
                return
        raise KeyError(name)

    def lift_constants(self) -> None:
        """Write as constants what nodes hold that do nothing else."""
        kept = []
        for node in self.nodes:
            held = node.tensor()
            if held is None:
                kept.append(node)
            else:
                self.constants[node.outputs[0]] = _renamed(held, node.outputs[0])
        self.nodes = kept

    def drop_input(self, name: str) -> None:
        """Take an input away that no node reads any more."""
        self._inputs = [each for each in self._inputs if _name(each, _VALUE_NAME) != name]

    def forget_shapes(self) -> None:
        """Drop the shapes noted for tensors inside, which an edit may have made untrue."""
        self._rest = [each for each in self._rest if each.number != _VALUE_INFO]

    def drop_unused(self) -> None:
        """Drop nodes that lead to no output, and constants that no node reads."""
        wanted = set(self.outputs)
        kept = []
        for node in reversed(self.nodes):  # nodes stand in an order in which they can run
            if wanted.intersection(node.outputs):
                wanted.update(node.inputs)
                kept.append(node)
        self.nodes = kept[::-1]
        self.constants = {name: each for name, each in self.constants.items() if name in wanted}

    def encode(self) -> bytes:
        """Put the model together."""
        fields = [Field(_NODE, protobuf.BYTES, each.encode()) for each in self.nodes]
        fields += [Field(_INITIALIZER, protobuf.BYTES, each) for each in self.constants.values()]
        graph = protobuf.message(_MODEL_GRAPH, [*fields, *self._inputs, *self._rest])
        around = [each for each in self._around if each.number != _MODEL_GRAPH]
        return protobuf.encode([*around, graph])


def _name(field: Field, number: int) -> str:
    """Read the name in an encoded constant or value."""
    for each in protobuf.decode(field.content):
        if each.number == number:
            return each.content.decode()
    return ""


def _attribute(name: str, value: Attribute) -> Field:
    """Write an attribute of a node."""
    match value:
        case str():
            written, kind = [protobuf.text(_ATTRIBUTE_TEXT, value)], _TEXT
        case float():
            single = struct.pack("<f", value)
            written, kind = [Field(_ATTRIBUTE_FLOAT, protobuf.FIXED32, single)], _FLOAT
        case tuple():
            written, kind = [_whole(_ATTRIBUTE_INTS, each) for each in value], _INTS
        case _:
            written, kind = [_whole(_ATTRIBUTE_INT, value)], _INT
    fields = [protobuf.text(_ATTRIBUTE_NAME, name), *written]
    return protobuf.message(_NODE_ATTRIBUTE, [*fields, protobuf.number(_ATTRIBUTE_TYPE, kind)])


def _whole(number: int, value: int) -> Field:
    return protobuf.number(number, value % 2**64)  # two's complement, where it is negative


def _renamed(constant: bytes, name: str) -> bytes:
    """Return an encoded constant a name, instead of the one it has."""
    kept = [each for each in protobuf.decode(constant) if each.number != _CONSTANT_NAME]
    return protobuf.encode([*kept, protobuf.text(_CONSTANT_NAME, name)])


def _resized(value: Field, axis: int, size: int) -> Field:
    """Change one dimension in the description of an input, deep inside it."""

    def within(path: Iterable[int], field: Field) -> Field:
        number, *further = path
        seen = -1
        inner = []
        for each in protobuf.decode(field.content):
            if each.number == number and further:
                each = within(further, each)
            elif each.number == number:
                seen += 1
                if seen == axis:
                    each = protobuf.message(number, [protobuf.number(_DIMENSION_SIZE, size)])
            inner.append(each)
        return protobuf.message(field.number, inner)

    return within((_VALUE_TYPE, _TYPE_TENSOR, _TENSOR_SHAPE, _SHAPE_DIMENSION), value)
