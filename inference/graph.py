"""Edits model graphs as bytes, without a library for them.

An ONNX file is a protobuf message, and protobuf joins what appears twice: the fields of a repeated
message are merged, its lists concatenated (Protocol Buffers, encoding, "Last One Wins").
So a graph gains an output by appending a second, nearly empty graph that holds nothing else.
"""

from __future__ import annotations

from typing import Final, Literal

ElementType = Literal["float32", "int64", "int32"]

# Field numbers and element types: onnx/onnx.proto, ONNX IR version 10.
_MODEL_GRAPH: Final = 7
_GRAPH_OUTPUT: Final = 12
_VALUE_NAME: Final = 1
_VALUE_TYPE: Final = 2
_TYPE_TENSOR: Final = 1
_TENSOR_ELEMENT: Final = 1
_TENSOR_SHAPE: Final = 2
_SHAPE_DIMENSION: Final = 1
_DIMENSION_NAME: Final = 2
_ELEMENTS: Final[dict[ElementType, int]] = {"float32": 1, "int32": 6, "int64": 7}

_LENGTH_DELIMITED: Final = 2
_VARINT: Final = 0


def with_output(model: bytes, name: str, dtype: ElementType, rank: int) -> bytes:
    """Add a tensor inside the graph to the graph's outputs, after those it has.

    All dimensions are left free.
    A runtime refuses the model if no such tensor is in it, or if it is of another type.
    """
    dimensions = b"".join(
        _message(_SHAPE_DIMENSION, _message(_DIMENSION_NAME, f"{name}_{axis}".encode()))
        for axis in range(rank)
    )
    tensor = (
        _varint(_TENSOR_ELEMENT << 3 | _VARINT)
        + _varint(_ELEMENTS[dtype])
        + _message(_TENSOR_SHAPE, dimensions)
    )
    value = _message(_VALUE_NAME, name.encode()) + _message(
        _VALUE_TYPE, _message(_TYPE_TENSOR, tensor)
    )
    return model + _message(_MODEL_GRAPH, _message(_GRAPH_OUTPUT, value))


def _message(field: int, content: bytes) -> bytes:
    """Encode a length-delimited field (Protocol Buffers, encoding)."""
    return _varint(field << 3 | _LENGTH_DELIMITED) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Encode an unsigned integer, seven bits a byte, lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
