"""Which transaction a message belongs to, where answers go, and the next address."""

from __future__ import annotations

from gateway.lines.sip.message.message import Request, Response, parse, reply, via_texts
from gateway.lines.sip.transactions.hop import Hop, Timers
from gateway.lines.sip.transactions.layer import (
    AckArrived,
    Emit,
    Layer,
    Out,
    RequestArrived,
    RequestFailed,
    ResponseArrived,
)
from tests.gateway.lines.sip.support import FAR, SDP, counting, request

OTHER = Hop("udp", "192.0.2.8", 5060)


def layer() -> Layer:
    return Layer(Timers(), counting(), lambda hop: "192.0.2.1:5060")


def read(data: bytes) -> Request:
    message = parse(data)
    assert isinstance(message, Request)
    return message


def arrived(outs: list[Out]) -> RequestArrived:
    (one,) = (out for out in outs if isinstance(out, RequestArrived))
    return one


def sent(outs: list[Out]) -> list[Emit]:
    return [out for out in outs if isinstance(out, Emit)]


def pass_time(it: Layer, until: float) -> list[Out]:
    outs: list[Out] = []
    while it.deadline is not None and it.deadline <= until:
        outs += it.tick(it.deadline)
    return outs


def test_a_repeated_request_reaches_its_user_once() -> None:
    it = layer()
    first = arrived(it.receive(read(request("OPTIONS")), FAR, 0.0))
    assert it.receive(read(request("OPTIONS")), FAR, 0.1) == []
    it.respond(first.tx, reply(first.request, 200, "t"), 0.2)
    (again,) = sent(it.receive(read(request("OPTIONS")), FAR, 0.3))
    assert isinstance(again.message, Response)
    assert again.message.code == 200


def test_answers_go_where_rport_and_source_say() -> None:
    it = layer()
    asked = request("OPTIONS").replace(b";branch", b";rport;branch")
    one = arrived(it.receive(read(asked), Hop("udp", "198.51.100.7", 40000), 0.0))
    (emit,) = sent(it.respond(one.tx, reply(one.request, 200, "t"), 0.0))
    assert (emit.hop.host, emit.hop.port) == ("198.51.100.7", 40000)
    (via,) = via_texts(emit.message)
    assert "received=198.51.100.7" in via
    assert "rport=40000" in via


def test_without_rport_answers_go_to_the_port_of_the_via() -> None:
    it = layer()
    one = arrived(it.receive(read(request("OPTIONS")), Hop("udp", "192.0.2.9", 40000), 0.0))
    (emit,) = sent(it.respond(one.tx, reply(one.request, 200, "t"), 0.0))
    assert emit.hop.port == 5060


def test_a_via_of_a_private_host_is_answered_at_the_source() -> None:
    it = layer()
    asked = request("OPTIONS").replace(b"UDP 192.0.2.9:5060", b"UDP 10.0.0.5:5060")
    one = arrived(it.receive(read(asked), Hop("udp", "198.51.100.7", 40000), 0.0))
    (emit,) = sent(it.respond(one.tx, reply(one.request, 200, "t"), 0.0))
    assert (emit.hop.host, emit.hop.port) == ("198.51.100.7", 40000)


def test_the_same_request_over_two_ways_is_merged() -> None:
    it = layer()
    arrived(it.receive(read(request(branch="z9hG4bKa")), FAR, 0.0))
    (emit,) = sent(it.receive(read(request(branch="z9hG4bKb")), OTHER, 0.1))
    assert isinstance(emit.message, Response)
    assert emit.message.code == 482


def test_a_retry_after_a_refusal_is_no_merged_request() -> None:
    it = layer()
    first = arrived(it.receive(read(request(branch="z9hG4bKa")), FAR, 0.0))
    it.respond(first.tx, reply(first.request, 486, "t"), 0.0)
    assert arrived(it.receive(read(request(branch="z9hG4bKb")), FAR, 1.0))


def test_cancel_finds_its_invite_and_nothing_else() -> None:
    it = layer()
    invite = arrived(it.receive(read(request(branch="z9hG4bKa")), FAR, 0.0))
    cancel = arrived(it.receive(read(request("CANCEL", branch="z9hG4bKa")), FAR, 0.1))
    assert cancel.cancels == invite.tx
    (emit,) = sent(it.receive(read(request("CANCEL", branch="z9hG4bKx")), FAR, 0.1))
    assert isinstance(emit.message, Response)
    assert emit.message.code == 481


def test_old_branches_are_matched_by_their_content() -> None:
    it = layer()
    old = read(request("OPTIONS", branch="1"))
    arrived(it.receive(old, FAR, 0.0))
    assert it.receive(read(request("OPTIONS", branch="1")), FAR, 0.1) == []
    assert arrived(it.receive(read(request("OPTIONS", branch="1", sequence=2)), FAR, 0.2))


def test_an_ack_of_its_own_is_delivered() -> None:
    (ack,) = layer().receive(read(request("ACK", to_tag="t", branch="z9hG4bKn")), FAR, 0.0)
    assert isinstance(ack, AckArrived)


def invite() -> Request:
    made = read(request(body=SDP))
    made.headers.remove("Via")
    return made


def respond_to(emit: Emit, code: int) -> Response:
    assert isinstance(emit.message, Request)
    return reply(emit.message, code, "far")


def test_the_next_address_is_tried_when_one_is_silent() -> None:
    it = layer()
    (first,) = sent(it.request("a", invite(), (FAR, OTHER), 0.0))
    outs = pass_time(it, 40.0)
    second = sent(outs)[-1]
    assert {emit.hop for emit in sent(outs)} == {FAR, OTHER}
    assert via_texts(second.message) != via_texts(first.message)
    outs = it.receive(respond_to(second, 486), OTHER, 41.0)
    (answer,) = (out for out in outs if isinstance(out, ResponseArrived))
    assert (answer.label, answer.response.code) == ("a", 486)


def test_a_server_that_is_unavailable_is_passed_over() -> None:
    it = layer()
    (first,) = sent(it.request("a", invite(), (FAR, OTHER), 0.0))
    outs = it.receive(respond_to(first, 503), FAR, 0.1)
    assert [emit.hop for emit in sent(outs)] == [FAR, OTHER]  # its ACK, and the next
    assert not any(isinstance(out, ResponseArrived) for out in outs)


def test_failure_is_told_when_no_address_is_left() -> None:
    it = layer()
    (emit,) = sent(it.request("a", invite(), (FAR,), 0.0))
    assert it.broke(emit.owner, 0.1) == [RequestFailed("a", "transport")]
    assert it.request("b", invite(), (), 0.0) == [RequestFailed("b", "transport")]
    assert len(it) == 0


def test_a_request_too_large_for_a_datagram_tries_a_stream_first() -> None:
    it = layer()
    large = invite()
    large.headers.set("X-Large", "x" * 1500)
    (first,) = sent(it.request("a", large, (FAR,), 0.0))
    assert first.hop.transport == "tcp"
    (second,) = sent(it.broke(first.owner, 0.1))
    assert second.hop == FAR


def test_a_response_that_was_misrouted_is_dropped() -> None:
    it = layer()
    (emit,) = sent(it.request("a", invite(), (FAR,), 0.0))
    stray = respond_to(emit, 200)
    stray.headers.setlist("Via", [*stray.headers.getlist("Via"), "SIP/2.0/UDP 192.0.2.99"])
    assert it.receive(stray, FAR, 0.1) == []
    other = respond_to(emit, 200)
    other.headers.set("Via", "SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKinvented")
    assert it.receive(other, FAR, 0.1) == []


def test_cancel_has_the_branch_of_its_invite() -> None:
    it = layer()
    (emit,) = sent(it.request("a", invite(), (FAR,), 0.0))
    assert it.cancel("a", 0.05) == []  # not before a provisional response
    outs = it.receive(respond_to(emit, 180), FAR, 0.1)
    (cancel,) = sent(outs)
    assert isinstance(cancel.message, Request)
    assert cancel.message.method == "CANCEL"
    assert via_texts(cancel.message) == via_texts(emit.message)


def test_a_flood_is_refused_when_the_table_is_full() -> None:
    it = Layer(Timers(), counting(), lambda hop: "192.0.2.1:5060", limit=2)
    for number in range(3):
        outs = it.receive(
            read(request("OPTIONS", branch=f"z9hG4bK{number}", sequence=number)), FAR, 0.0
        )
    (emit,) = sent(outs)
    assert isinstance(emit.message, Response)
    assert emit.message.code == 503
    assert emit.message.headers.get("Retry-After")
