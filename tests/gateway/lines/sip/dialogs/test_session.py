"""What happens inside a dialog, between two user agents and a network with a scripted fate."""

from __future__ import annotations

import pytest

from gateway.lines.sip.dialogs.vocabulary import Accept, Established, HangUp, Over, Ring
from tests.gateway.lines.sip.ladder import DELAY, Fate, Ladder

UP_TO_THE_ACK: list[Fate] = ["arrive"] * 3
"""INVITE, 180, 200."""


def times(emitted: list[tuple[float, str]], name: str) -> list[float]:
    return [when for when, what in emitted if what == name]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_callee_that_hangs_up_at_once_says_bye_only_after_the_ack(lost: int) -> None:
    """RFC 3261, section 15: also where ACKs are lost, and the answer is sent again for them."""
    fates: list[Fate] = ["lose", "arrive"]  # an ACK, and the answer that is sent again
    it = Ladder(UP_TO_THE_ACK + fates * lost)
    it.far.answers = (Ring(), Accept(), HangUp("nobody is here"))
    it.dial()
    it.run(30.0)
    acks = times(it.near.emitted, "ACK")
    (bye,) = times(it.far.emitted, "BYE")
    assert len(acks) == 1 + lost
    assert bye == pytest.approx(acks[-1] + DELAY)
    (over,) = it.far.kinds(Over)
    assert isinstance(over, Over)
    assert (over.by, over.reason) == ("local", "nobody is here")
    assert not it.far.kinds(Established)
    assert it.near.kinds(Over)


def test_a_callee_whose_answer_is_never_acknowledged_says_bye_in_the_end() -> None:
    """When it has sent its answer for 64 times T1."""
    fates: list[Fate] = ["lose", "arrive"]
    it = Ladder(UP_TO_THE_ACK + fates * 20)
    it.far.answers = (Ring(), Accept(), HangUp())
    it.dial()
    it.run(31.0)
    assert times(it.far.emitted, "BYE") == []
    it.run(2.0)
    assert len(times(it.far.emitted, "BYE")) >= 1
