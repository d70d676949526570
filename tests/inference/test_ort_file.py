"""Models in onnxruntime's own format can be read, as its tools have them."""

from __future__ import annotations

import numpy as np
import pytest

from inference import find
from inference.ort_file import OrtFile, OrtNode


@pytest.fixture(scope="module")
def decoder() -> OrtFile:
    return OrtFile.parse(find("moonshine", "decoder_model_merged.ort").read_bytes())


def test_the_recognisers_decoder_is_read_with_the_graphs_inside_it(decoder: OrtFile) -> None:
    made = decoder.made("logits")
    assert made.op == "DynamicQuantizeMatMul"
    numbers = decoder.constants[made.inputs[1]]
    assert numbers.shape == (288, 32768)
    assert numbers.dtype == np.uint8
    assert decoder.constants[made.inputs[2]].shape == ()


def test_what_no_node_makes_is_told(decoder: OrtFile) -> None:
    with pytest.raises(ValueError, match="0 nodes make 'nothing'"):
        decoder.made("nothing")


def test_nodes_of_two_branches_are_the_same_by_their_constants() -> None:
    one, other = (OrtNode("Add", (f"x of {each}", "c"), ("y",)) for each in "ab")
    file = OrtFile([one, other], {"c": np.zeros(1), "d": np.ones(1)})
    assert file.made("y") == one
    file.nodes.append(OrtNode("Add", ("x of a", "d"), ("y",)))
    with pytest.raises(ValueError, match="3 nodes make 'y'"):
        file.made("y")


@pytest.mark.parametrize("content", [b"", b"\x18\x00\x00\x00ONNX and more"])
def test_what_is_no_such_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a model in onnxruntime's format"):
        OrtFile.parse(content)
