"""A model of some hundred bytes, `doubled = -x - x`, written out as protobuf fields."""

from __future__ import annotations


def field(number: int, content: bytes | str | int) -> bytes:
    """Encode one short protobuf field."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    raw = content.encode() if isinstance(content, str) else content
    assert len(raw) < 128
    return bytes([number << 3 | 2, len(raw)]) + raw


def value(name: str) -> bytes:
    """Describe a float32 vector of any length."""
    shape = field(1, field(2, "n"))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def doubling() -> bytes:
    """Build `x -> negated -> doubled = -x - x`; `negated` is inside."""
    negate = field(1, "x") + field(2, "negated") + field(4, "Neg")
    add = field(1, "negated") + field(1, "negated") + field(2, "doubled") + field(4, "Add")
    graph = field(1, negate) + field(1, add) + field(2, "g")
    graph += field(11, value("x")) + field(12, value("doubled"))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))
