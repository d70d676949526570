"""Names that lead back to the process that drew them."""

from __future__ import annotations

from gateway.plumbing.seat import ALONE, Seat, leads_to


def test_a_name_leads_to_who_drew_it() -> None:
    for number in range(12):
        assert leads_to(Seat(number, 12).draw(), 12) == number


def test_names_drawn_for_anybody_spread() -> None:
    seat = Seat(0, 4)
    assert {leads_to(seat.draw_anywhere(), 4) for _ in range(200)} == {0, 1, 2, 3}


def test_a_single_process_draws_plain_names() -> None:
    assert len(ALONE.draw()) == len(ALONE.draw_anywhere()) == 32


def test_a_name_of_somebody_else_leads_always_to_the_same() -> None:
    for name in ("", "9-x", "99999-x", "-1-x", "\ud800", "site-token"):
        assert 0 <= leads_to(name, 3) == leads_to(name, 3) < 3


def test_shares_of_all_add_up() -> None:
    assert [Seat(number, 3).share(100) for number in range(3)] == [34, 33, 33]
