"""Graphs that are written from nothing run, and have the edges that were asked for."""

from __future__ import annotations

import numpy as np

from inference.network import Network
from inference.runtime import Runtime

X = np.array([[1, -2]], np.float32)


def test_a_graph_computes_what_its_nodes_say() -> None:
    network = Network({"x": ("float32", 2)})
    turned = network.add("Transpose", "x", perm=(1, 0))
    network.add("LeakyRelu", turned, to=("y",), alpha=0.5)
    session = Runtime().load(network.encode({"y": ("float32", 2)}), name="tiny")
    assert (session.inputs, session.outputs) == (("x",), ("y",))
    assert session.run({"x": X})[0].tolist() == [[1], [-1]]


def test_numbers_become_constants_and_several_outputs_have_names() -> None:
    network = Network({"x": ("float32", 2)})
    sizes = np.array([1, 1], np.int64)
    network.add("Split", "x", sizes, to=("first", "second"), axis=-1)
    network.add("Add", "first", np.array(10, np.float32), to=("more",))
    model = network.encode({"more": ("float32", 2), "second": ("float32", 2)})
    more, second = Runtime().load(model, name="tiny").run({"x": X})
    assert (more.tolist(), second.tolist()) == ([[11]], [[-2]])


def test_operations_of_the_runtime_itself_are_in_their_own_domain() -> None:
    network = Network({"x": ("float32", 2)})
    network.add_fused("QuickGelu", "x", to=("y",), alpha=1.0)
    found = Runtime().load(network.encode({"y": ("float32", 2)}), name="tiny").run({"x": X})[0]
    assert np.allclose(found, X / (1 + np.exp(-X)), atol=1e-6)
