"""A token opens one stream, of the call it was made for, for a short time."""

from __future__ import annotations

from gateway.lines.twilio.tokens import MOST, Ticket, Tickets

TICKET = Ticket("CA1", "desk", "+49", "+50")


def test_a_token_is_used_once() -> None:
    tickets = Tickets(30)
    tickets.issue("t", TICKET, 1000.0)
    assert tickets.take("t", "CA1", 1001.0) == TICKET
    assert isinstance(tickets.take("t", "CA1", 1001.0), str)


def test_a_token_is_bound_to_its_call_and_spent_by_a_wrong_one() -> None:
    tickets = Tickets(30)
    tickets.issue("t", TICKET, 1000.0)
    assert tickets.take("t", "CA2", 1001.0) == "token of another call"
    assert isinstance(tickets.take("t", "CA1", 1001.0), str)


def test_a_token_ages() -> None:
    tickets = Tickets(30)
    tickets.issue("t", TICKET, 1000.0)
    tickets.issue("u", TICKET, 1020.0)
    assert isinstance(tickets.take("t", "CA1", 1030.0), str)
    assert tickets.take("u", "CA1", 1049.9) == TICKET
    assert len(tickets) == 0


def test_tokens_are_bounded() -> None:
    tickets = Tickets(30)
    for n in range(MOST + 1):
        tickets.issue(f"t{n}", TICKET, 1000.0)
    assert len(tickets) == MOST
    assert isinstance(tickets.take("t0", "CA1", 1000.0), str)
    assert tickets.take(f"t{MOST}", "CA1", 1000.0) == TICKET


def test_the_token_itself_is_not_kept() -> None:
    tickets = Tickets(30)
    tickets.issue("very-secret", TICKET, 1000.0)
    assert "very-secret" not in repr(vars(tickets))
