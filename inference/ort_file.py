"""Reads models in onnxruntime's own format (`.ort`): their constants, and which node reads which.

Such a file holds what onnxruntime made of a model, and onnxruntime has no way back; its tools have
the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from inference.graph import ELEMENTS, Array


@dataclass(frozen=True, slots=True)
class OrtNode:
    """One operation."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(slots=True)
class OrtFile:
    """The nodes and constants of a model and of the graphs inside it, which share no names."""

    nodes: list[OrtNode] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    @staticmethod
    def parse(content: bytes) -> OrtFile:
        """Take a model apart; raise ValueError where it is none."""
        # Imported late: it is a package of its own, and most models are not in this format.
        from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs.InferenceSession import (
            InferenceSession,
        )

        if content[4:8] != IDENTIFIER:
            raise ValueError("not a model in onnxruntime's format")
        found = OrtFile()
        for graph in _graphs(InferenceSession.GetRootAsInferenceSession(content, 0).Model()):
            found._add(graph)
        return found

    def made(self, output: str) -> OrtNode:
        """Return the node that makes a tensor; raise ValueError where none or different ones do.

        An `If` has two of each, which do the same by the same constants.
        """
        nodes = [one for one in self.nodes if output in one.outputs and one.op != "If"]
        if not nodes or any(self._does(one) != self._does(nodes[0]) for one in nodes):
            raise ValueError(f"{len(nodes)} nodes make {output!r}, each its own")
        return nodes[0]

    def _does(self, node: OrtNode) -> tuple[str, tuple[str, ...]]:
        return node.op, tuple(each if each in self.constants else "" for each in node.inputs)

    def _add(self, graph: Any) -> None:
        for tensor in _all(graph, "Initializers"):
            kind = ELEMENTS.get(tensor.DataType())
            if kind is not None and tensor.RawDataLength():
                sizes = [tensor.Dims(each) for each in range(tensor.DimsLength())]
                # A copy: what is taken must not keep the whole file.
                values = np.frombuffer(tensor.RawDataAsNumpy().tobytes(), kind)
                self.constants[tensor.Name().decode()] = values.reshape(sizes)
        for node in _all(graph, "Nodes"):
            inputs, outputs = _names(node, "Inputs"), _names(node, "Outputs")
            self.nodes.append(OrtNode(node.OpType().decode(), inputs, outputs))


IDENTIFIER: Final = b"ORTM"
"""Stands behind the first offset of each such file."""


def _graphs(within: Any) -> Iterator[Any]:
    """Yield a model's graph and those that are attributes of its nodes."""
    graph = within.Graph()
    waiting = [] if graph is None else [graph]
    while waiting:
        graph = waiting.pop()
        yield graph
        for node in _all(graph, "Nodes"):
            inner = (attribute.G() for attribute in _all(node, "Attributes"))
            waiting.extend(each for each in inner if each is not None)


def _all(of: Any, what: str) -> Iterator[Any]:
    """Yield what a table of the schema lists."""
    one, count = getattr(of, what), getattr(of, f"{what}Length")()
    return (one(number) for number in range(count))


def _names(of: Any, what: str) -> tuple[str, ...]:
    return tuple(each.decode() for each in _all(of, what))
