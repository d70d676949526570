"""By what a request is known again, and where its answers go (RFC 3261, sections 17.2.3 and 18)."""

from __future__ import annotations

from gateway.lines.sip.message.address import Via, bare_host, ip_of, split_quoted
from gateway.lines.sip.message.message import (
    Request,
    call_id,
    cseq,
    from_of,
    to_of,
    via_texts,
    vias,
)
from gateway.lines.sip.transactions.hop import Hop

COOKIE = "z9hG4bK"
"""RFC 3261, section 8.1.1.7."""

Key = tuple[str, ...]
"""Names a transaction."""


def server_key(request: Request, top: Via) -> Key:
    """Name the transaction of a request (RFC 3261, section 17.2.3)."""
    method = "INVITE" if request.method == "ACK" else request.method
    branch = top.get("branch") or ""
    if branch.startswith(COOKIE) and len(branch) > len(COOKIE):
        return ("s", branch, f"{top.host.lower()}:{top.port}", method)
    # RFC 2543: by what stays the same when a request is repeated; the URI of an ACK does.
    return (
        "s2543",
        request.uri,
        from_of(request).tag,
        call_id(request),
        str(cseq(request).sequence),
        via_texts(request)[0],
        method,
    )


def invite_of(key: Key) -> Key:
    return (*key[:-1], "INVITE")


def merge_key(request: Request) -> Key:
    if to_of(request).tag or request.method == "CANCEL":
        return ()
    sequence = str(cseq(request).sequence)
    return (from_of(request).tag, call_id(request), sequence, request.method)


def mark_source(request: Request, top: Via, hop: Hop) -> None:
    """Write where a request came from onto its top Via (RFC 3261, 18.2.1; RFC 3581, section 4)."""
    asked = top.get("rport") is not None
    if not asked and ip_of(top.host) == ip_of(hop.host):
        return
    values = list(request.headers.getlist("Via"))
    first, *others = split_quoted(values[0], ",")
    kept = [
        part
        for part in split_quoted(first, ";")
        if part.partition("=")[0].strip().lower() not in ("rport", "received")
    ]
    kept.append(f"received={hop.host}")
    if asked:
        kept.append(f"rport={hop.port}")
    values[0] = ", ".join([";".join(kept), *others])
    request.headers.setlist("Via", values)


def answer_hop(top: Via, hop: Hop) -> Hop:
    """Return where responses go (RFC 3261, section 18.2.2; RFC 3581, section 4).

    A sender whose Via names another host than the packet came from is behind a NAT, and is
    answered where it came from, whether or not it asked with `rport`.
    """
    if hop.reliable or top.get("rport") is not None or ip_of(top.host) != ip_of(hop.host):
        return hop
    return Hop(hop.transport, bare_host(hop.host), top.port or 5060)


def cancel_of(request: Request) -> tuple[Request, str]:
    """Build the CANCEL of an INVITE that was sent, and give the branch they share (section 9.1)."""
    cancel = Request("CANCEL", request.uri)
    for name in ("Via", "Route", "From", "To", "Call-ID", "Max-Forwards"):
        if values := request.headers.getlist(name):
            cancel.headers.setlist(name, list(values))
    cancel.headers.set("CSeq", f"{cseq(request).sequence} CANCEL")
    return cancel, vias(request)[0].get("branch") or ""
