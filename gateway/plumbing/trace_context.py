"""What joins what happens elsewhere to a call: W3C trace context, made of the call's id alone.

Nothing is kept and nobody is asked: whoever reads the call log afterwards comes to the same ids.
"""

from __future__ import annotations

import hashlib


def trace_id(call: str) -> str:
    """Return the trace of a call: 16 bytes in hexadecimal."""
    return hashlib.sha256(f"parley:{call}".encode()).hexdigest()[:32]


def span_id(call: str, *place: object) -> str:
    """Return the id of a span of a call by its place in it: 8 bytes in hexadecimal."""
    said = ":".join(map(str, ("parley", call, *place)))
    return hashlib.sha256(said.encode()).hexdigest()[32:48]


def traceparent(call: str) -> dict[str, str]:
    """Return the header that goes with what is asked of others in a call (Trace Context 1)."""
    return {"traceparent": f"00-{trace_id(call)}-{span_id(call)}-01"}
