"""SIPp plays one file for each thing that goes wrong, or right, on a trunk."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.lines.rtp.packet import Packet
from gateway.lines.sip.leg import SipLeg
from gateway.lines.sip.transactions.hop import Timers
from gateway.ports import Refusal
from tests.peers.sip.harness import Served, needs, party_of, served, sipp, write_pcap

pytestmark = needs("sipp")

REPEATS = ("-nr",)
"""Makes SIPp show repeated messages to the scenario instead of taking them out itself."""

PLAIN = (
    "basic", "cancel_after", "hold", "late_offer", "no_codec",
    "options", "unknown_method", "tag_mismatch", "bye_twice", "require_unknown", "update",
    "out_of_order", "timer_too_small", "late_offer_again",
)  # fmt: skip


@pytest.mark.parametrize("scenario", PLAIN)
async def test_plain(scenario: str, tmp_path: Path) -> None:
    async with served() as it:
        await sipp(scenario, it.port, tmp_path)
        await quiet(it)


NOBODY = ("224.2.1.1/127", "255.255.255.255", "phone.example.com")
"""What a description may name, and nobody is at."""


@pytest.mark.parametrize("address", NOBODY)
async def test_sound_for_nobody_is_refused(address: str, tmp_path: Path) -> None:
    async with served() as it:
        with capture_logs() as logs:
            await sipp("no_address", it.port, tmp_path, "-key", "address", address)
            await quiet(it)
        assert [line["event"] for line in logs] == ["sip_media_refused"]
        assert "address" in logs[0]["why"]
        assert it.parties.all == []


@pytest.mark.parametrize("address", NOBODY)
async def test_a_call_goes_on_when_sound_for_nobody_was_refused(
    address: str, tmp_path: Path
) -> None:
    async with served() as it, asyncio.TaskGroup() as group:
        group.create_task(sipp("hold_by_address", it.port, tmp_path, "-key", "address", address))
        party = await party_of(it)
        seen: set[tuple[str, str]] = set()
        assert isinstance(party.leg, SipLeg)
        while not party.gone.is_set():
            agreement = party.leg.stream.agreement
            seen.add((agreement.remote[0], agreement.direction))
            await asyncio.sleep(0.02)
        assert seen == {("127.0.0.1", "sendrecv"), ("0.0.0.0", "recvonly")}
        await quiet(it)


async def test_a_late_offer_that_is_never_answered_ends_the_call(tmp_path: Path) -> None:
    async with served() as it:
        await sipp("late_offer_unanswered", it.port, tmp_path)
        await quiet(it)
        assert it.parties.all == []


async def test_a_200_that_is_lost_comes_again(tmp_path: Path) -> None:
    async with served() as it:
        await sipp("lost_200", it.port, tmp_path, *REPEATS)
        await quiet(it)


async def test_the_same_invite_over_two_ways_is_a_loop(tmp_path: Path) -> None:
    async with served(timers=Timers()) as it:  # slow ones: nothing is repeated meanwhile
        await sipp("merged", it.port, tmp_path)
        await quiet(it)
        assert len(it.parties.all) == 1


async def quiet(it: Served) -> None:
    """Wait until nothing is left of any call."""
    async with asyncio.timeout(10):
        while len(it.line) or len(it.line.network.core):  # noqa: ASYNC110  (there is no event)
            await asyncio.sleep(0.02)


async def test_a_call_that_is_never_acknowledged_ends(tmp_path: Path) -> None:
    async with served(timers=Timers(t1=0.05, t2=0.4, t4=0.5)) as it:
        await sipp("lost_ack", it.port, tmp_path, *REPEATS)
        await quiet(it)
        assert it.parties.all == []


async def test_cancel_while_it_rings(tmp_path: Path) -> None:
    async with served(ring_before_answer=20.0) as it:
        await sipp("cancel_before", it.port, tmp_path)
        await quiet(it)


async def test_retransmitted_invite_is_one_call(tmp_path: Path) -> None:
    async with served(ring_before_answer=0.4) as it:
        await sipp("retransmitted_invite", it.port, tmp_path)
        assert len(it.parties.all) == 1


@pytest.mark.parametrize(
    "scenario", ["timer_refresher", "timer_refresher_invite", "timer_refreshed"]
)
async def test_session_timer(scenario: str, tmp_path: Path) -> None:
    async with served(min_se=2, session_expires=4) as it:
        await sipp(scenario, it.port, tmp_path)
        await quiet(it)


@pytest.mark.parametrize("scenario", ["glare", "glare_theirs"])
async def test_glare(scenario: str, tmp_path: Path) -> None:
    async with served() as it, asyncio.TaskGroup() as group:
        group.create_task(sipp(scenario, it.port, tmp_path))
        party = await party_of(it)
        it.line.hold_leg(party.leg, held=True)


@pytest.mark.parametrize(
    ("scenario", "accepted", "code"),
    [
        ("refer_accepted", True, "200"),
        ("refer_failed", False, "486"),
        ("refer_refused", False, "603"),
    ],
)
async def test_our_transfer(scenario: str, accepted: bool, code: str, tmp_path: Path) -> None:
    async with served() as it, asyncio.TaskGroup() as group:
        group.create_task(sipp(scenario, it.port, tmp_path))
        party = await party_of(it)
        party.leg.transfer("sip:someone@example.com", "")
        async with asyncio.timeout(10):
            while party.transfer is None:
                party.happened.clear()
                await party.happened.wait()
        assert party.transfer.accepted is accepted
        assert party.transfer.reason.startswith(code)


@pytest.mark.parametrize("whose", ["never", "trunks"])
async def test_their_transfer_is_refused(whose: str, tmp_path: Path) -> None:
    async with served(accept_refer=whose) as it:
        await sipp("refer_theirs_refused", it.port, tmp_path)
        await quiet(it)
        assert len(it.parties.all) == 1


async def test_keys_in_signalling(tmp_path: Path) -> None:
    async with served() as it:
        await sipp("info_keys", it.port, tmp_path)
        assert it.parties.all[0].keys == "7#"


def key_packets() -> list[tuple[float, bytes]]:
    """Press 1, 1, 2 and 3: without markers, some without their ends, one out of order."""
    packets: list[tuple[float, bytes]] = []
    sequence, timestamp, at = 100, 16_000, 0.0
    for event, ends in ((1, 0), (1, 3), (2, 1), (3, 0)):
        for step in range(1, 6):
            payload = bytes((event, 10)) + (160 * step).to_bytes(2, "big")
            packets.append((at, Packet(101, sequence, timestamp, 7, payload).encode()))
            sequence, at = sequence + 1, at + 0.02
        for _ in range(ends):
            payload = bytes((event, 0x8A)) + (800).to_bytes(2, "big")
            packets.append((at, Packet(101, sequence, timestamp, 7, payload).encode()))
            sequence, at = sequence + 1, at + 0.02
        timestamp, at = timestamp + 1600, at + 0.1
    packets[2], packets[3] = (packets[2][0], packets[3][1]), (packets[3][0], packets[2][1])
    return packets


async def test_keys_beside_sound(tmp_path: Path) -> None:
    write_pcap(tmp_path / "keys.pcap", key_packets())
    async with served() as it:
        await sipp("keys_rtp", it.port, tmp_path)
        assert it.parties.all[0].keys == "1123"


async def test_refused_with_a_time_to_try_again(tmp_path: Path) -> None:
    async with served() as it:
        it.parties.refusal = Refusal("busy", 7)
        await sipp("refused", it.port, tmp_path)


async def test_reliable_provisional_response(tmp_path: Path) -> None:
    async with served(ring_before_answer=0.6) as it:
        await sipp("reliable", it.port, tmp_path, *REPEATS)


@pytest.mark.parametrize("scenario", ["hung_up_by_us", "record_route"])
async def test_we_hang_up(scenario: str, tmp_path: Path) -> None:
    async with served() as it, asyncio.TaskGroup() as group:
        group.create_task(sipp(scenario, it.port, tmp_path, *REPEATS))
        party = await party_of(it)
        party.leg.hang_up("done")
        async with asyncio.timeout(5):
            await party.gone.wait()
    assert re.match("done", str(party.events[-1].reason))  # type: ignore[union-attr]
