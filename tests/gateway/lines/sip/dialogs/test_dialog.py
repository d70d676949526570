"""Dialogs: the way requests go, and which ones are let in."""

from __future__ import annotations

import pytest

from gateway.lines.sip.dialogs.dialog import Dialog
from gateway.lines.sip.message.message import Request, Response, parse, reply
from tests.gateway.lines.sip.support import request

P1, P2 = "<sip:p1.example.com;lr>", "<sip:p2.example.com;lr>"
STRICT = "<sip:strict.example.com>"


def read(data: bytes) -> Request:
    message = parse(data)
    assert isinstance(message, Request)
    return message


def callee(*routes: str) -> Dialog:
    asked = read(request("INVITE", *(f"Record-Route: {one}" for one in routes)))
    return Dialog.of_callee(asked, "near", "<sip:near@192.0.2.1>", 10)


def caller(*routes: str) -> Dialog:
    asked = read(request())
    answer = reply(asked, 200, "far2")
    answer.headers.set("Contact", "<sip:far@192.0.2.77:5070>")
    answer.headers.setlist("Record-Route", list(routes))
    dialog = Dialog.of_caller(asked, answer, "<sip:near@192.0.2.1>")
    dialog.confirm(answer)
    return dialog


def test_who_answers_keeps_the_order_of_the_proxies() -> None:
    bye = callee(P2, P1).request("BYE")
    assert bye.headers.getlist("Route") == [P2, P1]
    assert bye.uri == "sip:far@192.0.2.9:5060"
    assert bye.headers["CSeq"] == "11 BYE"


def test_who_called_turns_it_round() -> None:
    dialog = caller(P2, P1)
    assert dialog.request("BYE").headers.getlist("Route") == [P1, P2]
    assert dialog.next_uri == "sip:p1.example.com;lr"


def test_both_sides_pass_the_same_proxies() -> None:
    assert caller(P2, P1).routes == tuple(reversed(callee(P2, P1).routes))


def test_a_strict_router_gets_the_request_uri() -> None:
    bye = callee(STRICT, P1).request("BYE")
    assert bye.uri == "sip:strict.example.com"
    assert bye.headers.getlist("Route") == [P1, "<sip:far@192.0.2.9:5060>"]


def test_tags_and_target() -> None:
    dialog = caller()
    bye = dialog.request("BYE")
    assert bye.uri == "sip:far@192.0.2.77:5070"
    assert bye.headers["To"].endswith("tag=far2")
    assert dialog.id == ("call@192.0.2.9", "far", "far2")
    assert "Contact" not in bye.headers.names()


def test_ack_has_the_number_of_its_invite() -> None:
    dialog = caller()
    dialog.request("INFO")
    assert dialog.request("ACK", sequence=1).headers["CSeq"] == "1 ACK"


@pytest.mark.parametrize(
    ("to_tag", "from_tag", "wanted"),
    [("near", "far", True), ("near", "other", False), ("other", "far", False), ("", "far", False)],
)
def test_only_exact_tags_belong(to_tag: str, from_tag: str, wanted: bool) -> None:
    asked = read(request("BYE", to_tag=to_tag, from_tag=from_tag, sequence=2))
    assert callee().owns(asked) is wanted


def test_numbers_go_up() -> None:
    dialog = callee()
    assert dialog.in_order(read(request("INFO", to_tag="near", sequence=2)))
    assert not dialog.in_order(read(request("INFO", to_tag="near", sequence=2)))
    assert dialog.in_order(read(request("INFO", to_tag="near", sequence=9)))  # gaps may be
    assert not dialog.in_order(read(request("INFO", to_tag="near", sequence=3)))


def test_a_new_target_is_taken_and_a_bad_one_is_not() -> None:
    dialog = callee()
    moved = read(request("UPDATE").replace(b"<sip:far@192.0.2.9:5060>", b"<sip:far@192.0.2.50>"))
    dialog.refresh(moved)
    assert dialog.target == "sip:far@192.0.2.50"
    dialog.refresh(Response(200, "OK"))
    assert dialog.target == "sip:far@192.0.2.50"


def test_two_contacts_begin_no_dialog() -> None:
    asked = read(request("INVITE", "Contact: <sip:second@192.0.2.9>"))
    with pytest.raises(ValueError, match="exactly one Contact"):
        Dialog.of_callee(asked, "near", "<sip:near@192.0.2.1>", 1)
