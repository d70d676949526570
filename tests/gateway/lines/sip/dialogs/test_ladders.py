"""Whole calls rung by rung: each step has everything that both sides do, and nothing else."""

from __future__ import annotations

import pytest

from gateway.lines.sip.dialogs.vocabulary import (
    CallSettings,
    ChangeMedia,
    HangUp,
    Order,
    PressKey,
    Refer,
    ReferDecision,
    Reject,
    Ring,
)
from tests.gateway.lines.sip.ladder import Fate, Ladder, Side

Rungs = tuple[list[str], list[str]]
"""What the near side did, and what the far side did."""

CALLS = ["sends INVITE", "Rang", "sends ACK", "MediaAgreed", "Established"]
ANSWERS = ["is invited", "sends 180", "sends 200", "MediaAgreed", "Established"]
LEAVES = ["sends BYE", "Over", "CallClosed"]
IS_LEFT = ["sends 200", "Over", "CallClosed"]
NOTHING: Rungs = ([], [])


def passed(it: Ladder, seconds: float = 1.0) -> Rungs:
    """Let time pass; return all that was done meanwhile."""
    it.run(seconds)
    return it.near.did(), it.far.did()


def ordered(it: Ladder, side: Side, order: Order) -> Rungs:
    it.order(side, order)
    return passed(it)


def up(fates: list[Fate] | None = None, **far: object) -> Ladder:
    """Hold a call, of which nothing was out of the ordinary."""
    it = Ladder(fates or [], far=CallSettings(**far))  # type: ignore[arg-type]
    it.dial()
    assert passed(it) == (CALLS, ANSWERS)
    return it


def ends(it: Ladder) -> None:
    """Hang up, after which nothing is left: no timer sends anything more."""
    assert ordered(it, it.near, HangUp()) == (LEAVES, IS_LEFT)
    assert passed(it, 120.0) == NOTHING


def test_a_call_that_is_answered_and_hung_up() -> None:
    ends(up())


def test_a_call_that_the_far_side_hangs_up() -> None:
    it = up()
    assert ordered(it, it.far, HangUp()) == (IS_LEFT, LEAVES)
    assert passed(it, 120.0) == NOTHING


def test_a_call_that_lasts_does_nothing_by_itself() -> None:
    it = up()
    assert passed(it, 600.0) == NOTHING
    ends(it)


def test_a_call_that_is_given_up_while_it_rings() -> None:
    it = Ladder()
    it.far.answers = (Ring(),)
    it.dial()
    assert passed(it) == (["sends INVITE", "Rang"], ["is invited", "sends 180"])
    near, far = ordered(it, it.near, HangUp())
    assert near == ["sends CANCEL", "Over", "Answered", "sends ACK", "CallClosed"]
    assert far == ["sends 200", "sends 487", "Over", "CallClosed"]
    assert passed(it, 120.0) == NOTHING


def test_a_call_to_who_is_busy() -> None:
    it = Ladder()
    it.far.answers = (Ring(), Reject(486))
    it.dial()
    near, far = passed(it)
    assert near == ["sends INVITE", "Rang", "sends ACK", "Over", "CallClosed"]
    assert far == ["is invited", "sends 180", "sends 486", "Over", "CallClosed"]
    assert passed(it, 120.0) == NOTHING


def test_a_hold_and_its_end() -> None:
    it = up()
    asks = ["sends INVITE", "sends ACK", "MediaAgreed"]
    for direction in ("sendonly", "sendrecv"):
        found = ordered(it, it.near, ChangeMedia(direction))  # type: ignore[arg-type]
        assert found == (asks, ["sends 200", "MediaAgreed"])
    ends(it)


def test_an_invitation_that_was_lost_is_sent_again_and_changes_nothing_else() -> None:
    it = Ladder(["lose"])
    it.dial()
    assert passed(it) == (["sends INVITE", *CALLS], ANSWERS)
    ends(it)


def test_messages_that_come_twice_are_one_call() -> None:
    it = Ladder(["twice"] * 3)
    it.dial()
    assert passed(it) == ([*CALLS, "sends ACK"], ANSWERS)
    ends(it)


def test_a_key() -> None:
    it = up()
    assert ordered(it, it.near, PressKey("5")) == (["sends INFO"], ["sends 200", "KeyCame"])
    ends(it)


def test_a_transfer_that_is_accepted() -> None:
    it = up()
    # It is repeated until the far side's agent has decided.
    assert ordered(it, it.near, Refer("sip:x@y")) == (["sends REFER"] * 2, ["Referred"])
    decided = ordered(it, it.far, ReferDecision(True))
    assert decided == (["sends 200"], ["sends 202", "sends NOTIFY"])
    ends(it)


@pytest.mark.parametrize("lost", [[], ["arrive", "arrive", "arrive", "lose"]])
def test_an_acknowledgement_that_crosses_the_answer_ends_no_call(lost: list[Fate]) -> None:
    """RFC 3262, section 3: after the final response PRACK is still taken."""
    it = Ladder(lost, far=CallSettings(reliable="required"))
    it.dial()
    near, far = passed(it, 3.0)
    again = ["sends PRACK"] if lost else []
    assert sorted(near) == sorted([*CALLS, "sends PRACK", *again])
    assert sorted(far) == sorted([*ANSWERS, "sends 200"])
    ends(it)
