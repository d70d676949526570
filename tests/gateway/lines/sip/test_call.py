"""Whole calls between two user agents: every message may be lost, late or doubled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.lines.sip.dialogs.vocabulary import (
    Accept,
    CallSettings,
    ChangeMedia,
    Established,
    HangUp,
    KeyCame,
    MediaAgreed,
    MediaRefused,
    Over,
    PressKey,
    Rang,
    Refer,
    ReferDecision,
    ReferProgress,
    Referred,
    Reject,
    Ring,
    TransferWent,
)
from tests.gateway.lines.sip.ladder import Ladder, Side, directions

GONE = 120.0
"""Seconds after which every timer of RFC 3261 has run out."""

fates = st.lists(st.sampled_from(["arrive", "lose", "twice", "late"]), max_size=40)


def over(side: Side) -> Over:
    (one,) = side.kinds(Over)
    assert isinstance(one, Over)
    return one


def refused(side: Side) -> str:
    """Say why the only description that was refused was."""
    (one,) = side.kinds(MediaRefused)
    assert isinstance(one, MediaRefused)
    return one.reason


def empty(it: Ladder) -> bool:
    it.run(GONE)
    return not len(it.near.core) and not len(it.far.core) and it.near.core.deadline is None


def test_a_call_from_ringing_to_bye() -> None:
    it = Ladder()
    it.dial()
    it.run(1.0)
    assert it.near.kinds(Rang) == [Rang(180, "Ringing")]
    assert it.near.up
    assert it.far.up
    assert directions(it.near)[-1] == directions(it.far)[-1] == "sendrecv"
    it.order(it.near, HangUp("enough"))
    it.run(1.0)
    assert over(it.near) == Over("local", "hung_up", 0, "enough")
    assert over(it.far).by == "remote"
    assert "enough" in over(it.far).reason
    assert [name for _, name in it.near.emitted] == ["INVITE", "ACK", "BYE"]
    assert [name for _, name in it.far.emitted] == ["180", "200", "200"]
    assert empty(it)


@pytest.mark.parametrize("side", ["near", "far"])
def test_either_side_hangs_up(side: str) -> None:
    it = Ladder()
    it.dial()
    it.run(1.0)
    it.order(getattr(it, side), HangUp())
    it.run(1.0)
    assert over(it.near).outcome == over(it.far).outcome == "hung_up"
    assert empty(it)


@settings(max_examples=200)
@given(fates, st.floats(0.0, 40.0), st.booleans())
def test_whatever_is_lost_both_sides_end_and_say_so_once(
    script: list[str], wait: float, near_hangs_up: bool
) -> None:
    it = Ladder(script)  # type: ignore[arg-type]
    it.dial()
    it.run(wait)
    hanging = it.near if near_hangs_up else it.far
    if hanging.calls:
        it.order(hanging, HangUp())
    it.run(GONE)
    if not it.near.kinds(Over):
        assert it.near.up
        it.order(it.near, HangUp())
    assert empty(it)
    for side in (it.near, it.far):
        if side.calls:
            over(side)


@settings(max_examples=100)
@given(fates)
def test_what_is_up_on_one_side_comes_up_on_the_other(script: list[str]) -> None:
    it = Ladder(script[:12])  # type: ignore[arg-type]
    it.dial()
    it.run(40.0)
    if it.far.up:
        assert it.near.up
    if it.near.kinds(Over) and it.far.reports:
        assert it.far.kinds(Over)


def test_cancel_before_the_answer() -> None:
    it = Ladder()
    it.far.answers = (Ring(),)
    it.dial()
    it.run(1.0)
    it.order(it.near, HangUp())
    it.run(1.0)
    assert over(it.near).outcome == "cancelled"
    assert over(it.far).outcome == "cancelled"
    assert [name for _, name in it.far.emitted] == ["180", "200", "487"]
    assert empty(it)


def test_cancel_that_crosses_the_answer_ends_the_call() -> None:
    it = Ladder()
    it.far.answers = (Ring(),)
    it.dial()
    it.run(1.0)
    it.order(it.far, Accept())
    it.order(it.near, HangUp())  # the 200 is on its way
    it.run(1.0)
    assert over(it.near).outcome == "cancelled"
    assert over(it.far).outcome == "hung_up"
    assert [name for _, name in it.near.emitted] == ["INVITE", "CANCEL", "ACK", "BYE"]
    assert empty(it)


def test_cancel_waits_for_a_provisional_response() -> None:
    it = Ladder(["arrive", "lose"])  # the 180 is lost
    it.far.answers = (Ring(),)
    it.dial()
    it.run(0.1)
    it.order(it.near, HangUp())
    it.run(0.1)
    assert "CANCEL" not in [name for _, name in it.near.emitted]
    it.run(1.0)  # the INVITE is repeated, and so is its answer
    assert "CANCEL" in [name for _, name in it.near.emitted]
    assert empty(it)


def test_ringing_is_given_up() -> None:
    it = Ladder(near=CallSettings(ring_seconds=20.0))
    it.far.answers = (Ring(),)
    it.dial()
    it.run(30.0)
    assert over(it.near).outcome == "no_answer"
    assert empty(it)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(486, "busy"), (480, "no_answer"), (404, "not_found"), (603, "refused"), (500, "failed")],
)
def test_refusals_are_told_apart(code: int, outcome: str) -> None:
    it = Ladder()
    it.far.answers = (Reject(code),)
    it.dial()
    it.run(1.0)
    assert (over(it.near).outcome, over(it.near).code) == (outcome, code)
    assert empty(it)


@pytest.mark.parametrize("reliable", ["supported", "required"])
def test_early_media_with_reliable_responses(reliable: str) -> None:
    wanted = CallSettings(reliable=reliable)  # type: ignore[arg-type]
    it = Ladder(far=wanted)
    it.far.answers = (Ring(early=True), Accept())
    it.dial()
    it.run(1.0)
    assert it.near.up
    assert it.far.up
    assert ("PRACK" in [name for _, name in it.near.emitted]) is (reliable == "required")
    it.order(it.near, HangUp())
    assert empty(it)


def test_a_lost_prack_delays_the_answer_and_no_more() -> None:
    it = Ladder(["arrive", "arrive", "lose"], far=CallSettings(reliable="required"))
    it.far.answers = (Ring(early=True), Accept())
    it.dial()
    it.run(0.3)
    assert not it.near.up
    it.run(2.0)
    assert it.near.up
    it.order(it.near, HangUp())
    assert empty(it)


def test_hold_and_back() -> None:
    it = Ladder()
    it.dial()
    it.run(1.0)
    for direction in ("sendonly", "inactive", "sendrecv"):
        it.order(it.near, ChangeMedia(direction))  # type: ignore[arg-type]
        it.run(1.0)
    assert directions(it.far)[-3:] == ["recvonly", "inactive", "sendrecv"]
    assert directions(it.near)[-3:] == ["sendonly", "inactive", "sendrecv"]
    it.order(it.near, HangUp())
    assert empty(it)


GROUP = "224.2.1.1"


def test_an_offer_of_a_multicast_group_is_refused() -> None:
    it = Ladder()
    it.near.media_host = GROUP
    it.dial()
    it.run(1.0)
    assert over(it.near).code == 488
    assert "488" in [name for _, name in it.far.emitted]
    assert it.far.kinds(MediaAgreed) == []
    assert GROUP in refused(it.far)
    assert empty(it)


def test_an_answer_of_a_multicast_group_ends_the_call() -> None:
    it = Ladder()
    it.far.media_host = GROUP
    it.dial()
    it.run(1.0)
    assert over(it.near).code == 488
    assert it.near.kinds(MediaAgreed) == []
    assert GROUP in refused(it.near)
    assert empty(it)


def test_a_later_offer_of_a_multicast_group_changes_nothing() -> None:
    it = Ladder()
    it.dial()
    it.run(1.0)
    call = it.near.core.call(it.near.key)
    assert call is not None
    assert call._session is not None
    media = call._session.shared.media
    media._local = replace(media._local, host=GROUP)
    before = len(it.far.kinds(MediaAgreed))
    it.order(it.near, ChangeMedia("sendrecv"))
    it.run(1.0)
    assert it.far.emitted[-1][1] == "488"
    assert len(it.far.kinds(MediaAgreed)) == before
    assert GROUP in refused(it.far)
    assert it.near.up
    assert it.far.up
    it.order(it.near, HangUp())
    assert empty(it)


def test_glare_is_resolved() -> None:
    it = Ladder()
    it.dial()
    it.run(1.0)
    it.order(it.near, ChangeMedia("sendonly"))
    it.order(it.far, ChangeMedia("sendonly"))
    it.run(10.0)
    assert "491" in [name for _, name in it.near.emitted]
    assert "491" in [name for _, name in it.far.emitted]
    assert it.near.up
    assert it.far.up
    assert {directions(it.near)[-1], directions(it.far)[-1]} in (
        {"sendonly", "recvonly"},
        {"inactive"},
    )
    it.order(it.far, HangUp())
    assert empty(it)


@settings(max_examples=100)
@given(
    fates,
    st.lists(
        st.tuples(
            st.sampled_from(["near", "far"]),
            st.sampled_from(["sendonly", "inactive", "sendrecv"]),
            st.floats(0.0, 3.0),
        ),
        max_size=5,
    ),
)
def test_any_changes_leave_a_call_that_can_be_ended(
    script: list[str], changes: list[tuple[str, str, float]]
) -> None:
    it = Ladder(["arrive"] * 4 + script)  # type: ignore[arg-type]
    it.dial()
    it.run(1.0)
    for name, direction, wait in changes:
        it.order(getattr(it, name), ChangeMedia(direction))  # type: ignore[arg-type]
        it.run(wait)
    it.run(60.0)
    if it.near.up:
        it.order(it.near, HangUp())
    assert empty(it)


def test_keys_in_signalling() -> None:
    it = Ladder()
    it.dial()
    it.run(1.0)
    it.order(it.near, PressKey("#"))
    it.run(1.0)
    assert it.far.kinds(KeyCame) == [KeyCame("#")]


@pytest.mark.parametrize(
    ("progress", "accepted", "code"), [((180, 200), True, 200), ((180, 486), False, 486)]
)
def test_transfer(progress: tuple[int, ...], accepted: bool, code: int) -> None:
    it = Ladder()
    it.dial()
    it.run(1.0)
    it.order(it.near, Refer("sip:third@192.0.2.3", "x@y;to-tag=a;from-tag=b"))
    it.run(1.0)
    (asked,) = it.far.kinds(Referred)
    assert isinstance(asked, Referred)
    assert asked.target == "sip:third@192.0.2.3"
    assert asked.replaces == "x@y;to-tag=a;from-tag=b"
    it.order(it.far, ReferDecision(True))
    for one in progress:
        it.order(it.far, ReferProgress(one, "word"))
    it.run(1.0)
    (went,) = it.near.kinds(TransferWent)
    assert isinstance(went, TransferWent)
    assert (went.accepted, went.code) == (accepted, code)
    it.order(it.near, HangUp())
    assert empty(it)


def test_transfer_that_is_refused_or_never_answered() -> None:
    it = Ladder(near=CallSettings(transfer_seconds=30.0))
    it.dial()
    it.run(1.0)
    it.order(it.near, Refer("sip:third@192.0.2.3"))
    it.run(1.0)
    it.order(it.far, ReferDecision(False))
    it.run(1.0)
    it.order(it.near, Refer("sip:third@192.0.2.3"))
    it.run(1.0)
    it.order(it.far, ReferDecision(True))
    it.run(40.0)
    outcomes = [(one.accepted, one.code) for one in it.near.kinds(TransferWent)]  # type: ignore[union-attr]
    assert outcomes == [(False, 603), (False, 408)]
    assert it.near.up


@pytest.mark.parametrize("refresher", ["near", "far"])
def test_twelve_hours(refresher: str) -> None:
    wanted = CallSettings(session_expires=1800)
    none = replace(wanted, session_expires=0, supported=("replaces",))
    it = Ladder(near=wanted if refresher == "near" else none, far=wanted)
    it.dial()
    it.run(12 * 3600.0)
    assert it.near.up
    assert it.far.up
    refreshing = it.near if refresher == "near" else it.far
    refreshes = [now for now, name in refreshing.emitted if name == "UPDATE"]
    assert len(refreshes) == 47  # every 15 minutes
    it.order(it.near, HangUp())
    assert empty(it)


def test_a_far_side_that_is_gone_is_noticed_by_the_refresh() -> None:
    it = Ladder(near=CallSettings(session_expires=1800))
    it.dial()
    it.run(1.0)
    it.fates = ["lose"] * 1000
    it.run(1800.0)
    assert over(it.near).code == 408
    assert over(it.far).outcome == "timeout"
    assert it.near.kinds(Established)
    assert empty(it)
