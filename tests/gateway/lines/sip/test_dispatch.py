"""Whose a SIP message is, by what a front has seen go by."""

from __future__ import annotations

from itertools import cycle

from gateway.lines.sip import dispatch
from gateway.lines.sip.dispatch import Dispatch


def message(
    call: str, first: str = "INVITE sip:a@b SIP/2.0", name: str = "Call-ID", more: str = ""
) -> bytes:
    return f"{first}\r\nVia: SIP/2.0/UDP c\r\n{name}: {call}\r\n{more}\r\nbody".encode()


def taking_turns() -> Dispatch:
    turns = cycle(range(3))
    return Dispatch(lambda: next(turns))


def test_a_call_stays_where_its_invite_went_however_its_name_is_written() -> None:
    it = taking_turns()
    assert [it.to(message(call)) for call in "xyz"] == [0, 1, 2]
    assert it.to(message("y", "BYE sip:a@b SIP/2.0", "i")) == 1
    assert it.to(message("z", "ACK sip:a@b SIP/2.0", "CALL-id ")) == 2
    assert it.to(message("x")) == 0  # sent again


def test_answers_come_back_to_who_sent_the_request() -> None:
    it = taking_turns()
    it.sent(2, message("placed"))
    assert it.to(message("placed", "SIP/2.0 200 OK")) == 2
    assert it.to(message("placed", "BYE sip:a@b SIP/2.0")) == 2


def test_a_call_that_replaces_another_goes_where_that_one_is() -> None:
    it = taking_turns()
    assert [it.to(message(call)) for call in "xy"] == [0, 1]
    assert it.to(message("new", more="Replaces: y;to-tag=1;from-tag=2\r\n")) == 1
    assert it.to(message("new", "BYE sip:a@b SIP/2.0")) == 1


def test_what_begins_no_call_is_anybodys_and_is_not_remembered() -> None:
    it = taking_turns()
    assert [it.to(message("ping", "OPTIONS sip:a@b SIP/2.0")) for _ in range(3)] == [0, 1, 2]
    assert it.to(b"garbage") == 0
    assert it.to(message("gone", "BYE sip:a@b SIP/2.0")) == 1
    assert len(it) == 0


def test_calls_of_a_lost_process_are_forgotten_and_others_are_not() -> None:
    it = taking_turns()
    assert [it.to(message(call)) for call in "xy"] == [0, 1]
    it.lost(0)
    assert it.to(message("x", "BYE sip:a@b SIP/2.0")) == 2
    assert it.to(message("y", "BYE sip:a@b SIP/2.0")) == 1


def test_a_header_in_the_body_is_none() -> None:
    it = taking_turns()
    assert [it.to(message(call)) for call in "xy"] == [0, 1]
    assert it.to(message("x") + b"\r\nCall-ID: y\r\n") == 0


def test_without_anybody_there_is_nobody() -> None:
    assert Dispatch(lambda: None).to(message("x")) is None


def test_what_is_remembered_is_bounded_and_lively_calls_stay() -> None:
    it = taking_turns()
    first = it.to(message("old"))
    for number in range(dispatch.REMEMBERED + 10):
        it.sent(1, message(f"n{number}"))
        if number % 1000 == 0:
            assert it.to(message("old", "INFO sip:a@b SIP/2.0")) == first
    assert len(it) == dispatch.REMEMBERED
