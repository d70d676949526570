"""Graphs are edited where asked and kept byte for byte elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference import find, protobuf
from inference.dequantise import dequantise
from inference.graph import Graph, Node
from inference.network import with_output
from inference.protobuf import Field
from inference.runtime import Runtime
from tests.inference.tiny import doubling
from tests.inference.tiny import value as vector

X = {"x": np.array([1, 2], np.float32)}

fields = st.lists(
    st.one_of(
        st.builds(
            Field, st.integers(1, 2**20), st.just(protobuf.VARINT), st.integers(0, 2**64 - 1)
        ),
        st.builds(Field, st.integers(1, 2**20), st.just(protobuf.BYTES), st.binary(max_size=300)),
        st.builds(
            Field, st.integers(1, 99), st.just(protobuf.FIXED32), st.binary(min_size=4, max_size=4)
        ),
        st.builds(
            Field, st.integers(1, 99), st.just(protobuf.FIXED64), st.binary(min_size=8, max_size=8)
        ),
    )
)


@given(fields)
def test_a_message_comes_back_as_it_was(written: list[Field]) -> None:
    assert protobuf.decode(protobuf.encode(written)) == written


@pytest.mark.parametrize("content", [b"\x0a\x05abc", b"\x08", b"\x0b\x01", b"\x08" + b"\xff" * 11])
def test_what_is_no_message_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a protobuf message"):
        protobuf.decode(content)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_numbers_are_read_packed_or_one_by_one(numbers: list[int]) -> None:
    written = [protobuf.varint(number % 2**64) for number in numbers]
    packed = Field(1, protobuf.BYTES, b"".join(written))
    single = [protobuf.number(1, number % 2**64) for number in numbers]
    assert protobuf.read_numbers(packed) == numbers
    assert [protobuf.read_numbers(each)[0] for each in single] == numbers


def test_a_tensor_inside_becomes_an_output_after_the_others() -> None:
    session = Runtime().load(with_output(doubling(), "negated", "float32", 1), name="tiny")
    assert session.outputs == ("doubled", "negated")
    doubled, negated = session.run(X)
    assert doubled.tolist() == [-2, -4]
    assert negated.tolist() == [-1, -2]


@pytest.mark.parametrize(("name", "dtype"), [("nowhere", "float32"), ("negated", "int64")])
def test_the_runtime_refuses_a_tensor_that_is_not_there(name: str, dtype: str) -> None:
    with pytest.raises(Exception, match=name):
        Runtime().load(with_output(doubling(), name, dtype, 1), name="tiny")  # type: ignore[arg-type]


def test_the_synthesiser_tells_its_durations() -> None:
    model = with_output(find("hibari").read_bytes(), "/Clip_output_0", "float32", 1)
    session = Runtime().load(model, name="hibari")
    durations, pitch = session.run(
        {"ids": np.array([[3, 50, 20, 4]], np.int64), "speed": np.ones(1, np.float32)},
        ["/Clip_output_0", "f0"],
    )
    assert durations.shape == (4,)
    # Two acoustic frames to a unit of duration.
    assert pitch.shape == (1, 2 * int(durations.sum()))


def test_a_graph_taken_apart_and_put_together_computes_the_same() -> None:
    again = Graph(find("silero-vad", "silero_vad_op18_ifless.onnx").read_bytes()).encode()
    runtime = Runtime()
    sound = np.sin(np.arange(576, dtype=np.float32))[None] * 0.3
    state = np.zeros((2, 1, 128), np.float32)
    inputs = {"input": sound, "state": state, "sr": np.array(16000, np.int64)}
    before = runtime.load("silero-vad/silero_vad_op18_ifless.onnx").run(inputs)
    after = runtime.load(again, name="again").run(inputs)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_constants_of_each_kind_are_read_and_replaced() -> None:
    graph = Graph(doubling())
    for value in (
        np.array([[1.5, -2]], np.float32),
        np.array([-1, 400], np.int64),
        np.array([-7], np.int32),
        np.array(200, np.uint8),
        np.array([-128], np.int8),
    ):
        graph.set_constant("c", value)
        found = graph.constant("c")
        assert found.dtype == value.dtype
        assert np.array_equal(found, value)
        assert found.shape == value.shape


def test_constants_that_are_not_raw_are_read() -> None:
    graph = Graph(doubling())
    name = protobuf.text(8, "c")
    floats = Field(4, protobuf.BYTES, np.array([1.5, 2], "<f4").tobytes())
    graph.constants["c"] = protobuf.encode(
        [protobuf.number(1, 2), protobuf.number(2, 1), floats, name]
    )
    assert graph.constant("c").tolist() == [1.5, 2]
    bytes_as_numbers = Field(5, protobuf.BYTES, protobuf.varint(200) + protobuf.varint(3))
    graph.constants["c"] = protobuf.encode(
        [protobuf.number(1, 2), protobuf.number(2, 2), bytes_as_numbers, name]
    )
    assert graph.constant("c").tolist() == [200, 3]
    graph.constants["c"] = protobuf.encode([protobuf.number(2, 8), name])
    with pytest.raises(ValueError, match="not known: 8"):
        graph.constant("c")


def test_an_input_gets_another_size() -> None:
    graph = Graph(doubling())
    graph.resize_input("x", 0, 2)
    session = Runtime().load(graph.encode(), name="tiny")
    assert session.run(X)[0].tolist() == [-2, -4]
    with pytest.raises(Exception, match="invalid dimensions"):
        session.run({"x": np.zeros(3, np.float32)})
    with pytest.raises(KeyError):
        graph.resize_input("y", 0, 2)


def test_a_node_is_made_with_numbers_and_words_as_attributes() -> None:
    """The vector, and behind it the same with one more at each side, mirrored."""
    graph = Graph(doubling())
    graph.set_constant("sides", np.array([1, 1], np.int64))
    graph.nodes = [
        Node.make("Pad", ["x", "sides"], ["padded"], mode="reflect"),
        Node.make("Concat", ["x", "padded"], ["doubled"], axis=0),
    ]
    sound = {"x": np.array([1, 2, 3], np.float32)}
    found = Runtime().load(graph.encode(), name="tiny").run(sound)[0]
    assert found.tolist() == [1, 2, 3, 2, 1, 2, 3, 2]


@pytest.mark.parametrize("number", [0, 1, 300, -1, -(2**63), 2**63 - 1])
def test_a_number_given_to_a_node_is_read_from_it(number: int) -> None:
    node = Node.parse(Node.make("Concat", ["a", "b"], ["c"], axis=number, mode="m").encode())
    assert (node.op, node.inputs, node.outputs) == ("Concat", ["a", "b"], ["c"])
    assert node.attribute("axis", 7) == number
    assert node.attribute("other", 7) == 7
    assert node.attribute("mode", 7) == 7  # it is a word


def test_a_node_counts_from_the_end_as_the_runtime_does() -> None:
    graph = Graph(doubling())
    graph.nodes = [Node.make("Concat", ["x", "x"], ["doubled"], axis=-1)]
    assert Runtime().load(graph.encode(), name="tiny").run(X)[0].tolist() == [1, 2, 1, 2]


def test_an_input_without_a_name_is_left_out() -> None:
    graph = Graph(doubling())
    graph.set_constant("most", np.array(1.5, np.float32))
    graph.nodes = [Node.make("Clip", ["x", "", "most"], ["doubled"])]
    assert Runtime().load(graph.encode(), name="tiny").run(X)[0].tolist() == [1, 1.5]


def test_a_branch_is_a_graph_of_its_own() -> None:
    (inner,) = (each for each in protobuf.decode(doubling()) if each.number == 7)
    branches = [
        protobuf.message(5, [protobuf.text(1, name), Field(6, protobuf.BYTES, content)])
        for name, content in (("then_branch", inner.content), ("else_branch", b""))
    ]
    node = Node.parse(Node("If", ["c"], ["r"], branches).encode())
    then = node.branch("then_branch")
    assert [each.op for each in then.nodes] == ["Neg", "Add"]
    assert then.outputs == ["doubled"]
    assert node.branch("else_branch").nodes == []
    with pytest.raises(KeyError, match="other_branch"):
        node.branch("other_branch")


def holding(value: np.ndarray, name: str) -> Node:
    """Make a node that does nothing but hold a constant, which may have a name of its own."""
    graph = Graph(doubling())
    graph.set_constant("inside", value)
    tensor = Field(5, protobuf.BYTES, graph.constants["inside"])
    held = protobuf.message(5, [protobuf.text(1, "value"), tensor, protobuf.number(20, 4)])
    return Node("Constant", [], [name], [held])


def test_what_nodes_hold_becomes_constants_under_the_names_it_was_read_by() -> None:
    graph = Graph(doubling())
    graph.nodes = [
        holding(np.array([10, 20], np.float32), "tens"),
        holding(np.array([1, 1], np.float32), "ones"),
        Node.make("Add", ["x", "tens"], ["more"]),
        Node.make("Sub", ["more", "ones"], ["doubled"]),
    ]
    before = Runtime().load(graph.encode(), name="held").run(X)[0]
    graph.lift_constants()
    assert [node.op for node in graph.nodes] == ["Add", "Sub"]
    assert sorted(graph.constants) == ["ones", "tens"]
    assert graph.constant("tens").tolist() == [10, 20]
    after = Runtime().load(graph.encode(), name="lifted").run(X)[0]
    assert after.tolist() == before.tolist() == [10, 21]


def test_an_input_is_taken_away() -> None:
    graph = Graph(with_input(doubling(), "y"))
    assert Runtime().load(graph.encode(), name="both").inputs == ("x", "y")
    graph.drop_input("y")
    session = Runtime().load(graph.encode(), name="one")
    assert session.inputs == ("x",)
    assert session.run(X)[0].tolist() == [-2, -4]


def with_input(model: bytes, name: str) -> bytes:
    """Add an input; what a message holds twice is joined."""
    return model + protobuf.encode([protobuf.message(7, [Field(11, protobuf.BYTES, vector(name))])])


def test_what_leads_to_no_output_is_dropped() -> None:
    graph = Graph(doubling())
    graph.set_constant("unread", np.zeros(3, np.float32))
    graph.nodes[1].inputs = ["x", "x"]
    graph.drop_unused()
    assert [node.op for node in graph.nodes] == ["Add"]
    assert graph.constants == {}
    assert Runtime().load(graph.encode(), name="tiny").run(X)[0].tolist() == [2, 4]


def test_a_dequantised_graph_has_no_rounding_and_says_nearly_the_same() -> None:
    quantised = find("smart-turn").read_bytes()
    plain = dequantise(quantised)
    assert not {node.op for node in Graph(plain).nodes} & {"QuantizeLinear", "DequantizeLinear"}
    runtime = Runtime()
    tone = np.sin(np.arange(80 * 800, dtype=np.float32) / 7).reshape(1, 80, 800) * 0.5
    before = runtime.load(quantised, name="quantised").run({"input_features": tone})[0]
    after = runtime.load(plain, name="plain").run({"input_features": tone})[0]
    assert after.shape == before.shape
    assert after == pytest.approx(before, abs=0.15)
