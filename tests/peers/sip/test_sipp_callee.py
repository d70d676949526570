"""SIPp is called: what comes of a placed call, and calls that take another's place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.lines.sip.dialing import DialOrder, DialOutcome
from gateway.lines.sip.settings import TrunkSettings
from tests.peers.sip.harness import Served, free_port, needs, party_of, served, sipp

pytestmark = needs("sipp")


async def dialled(
    it: Served,
    scenario: str,
    folder: Path,
    progress: Callable[[str, int], None] | None = None,
) -> DialOutcome:
    """Call SIPp and hang up when it answers."""
    port = free_port()
    async with asyncio.TaskGroup() as group:
        group.create_task(sipp(scenario, None, folder, "-p", str(port)))
        order = DialOrder(f"sip:bot@127.0.0.1:{port}", headers={"X-Case": "7"})
        outcome = await it.line.dialler.dial(order, progress)
        if outcome.outcome == "answered":
            party = await party_of(it)
            assert party.leg.info.direction == "outbound"
            party.leg.hang_up("done")
    return outcome


async def test_answered_after_ringing(tmp_path: Path) -> None:
    heard: list[tuple[str, int]] = []

    async with served() as it:
        assert (
            await dialled(it, "uas_answer", tmp_path, lambda *what: heard.append(what))
        ).outcome == "answered"
    assert heard == [("ringing", 180)]


async def test_our_ack_comes_again_with_their_200(tmp_path: Path) -> None:
    port = free_port()
    async with served() as it, asyncio.TaskGroup() as group:
        more = ("-p", str(port), "-nr", "-key", "target", str(it.port))
        group.create_task(sipp("uas_lost_ack", None, tmp_path, *more))
        await it.line.dialler.dial(DialOrder(f"sip:bot@127.0.0.1:{port}"))
        party = await party_of(it)
        # SIPp hangs up itself, once it has both.
        async with asyncio.timeout(10):
            await party.gone.wait()


async def test_a_session_interval_that_is_too_small_grows(tmp_path: Path) -> None:
    async with served() as it:
        assert (await dialled(it, "uas_422", tmp_path)).outcome == "answered"


async def test_early_media(tmp_path: Path) -> None:
    async with served() as it:
        outcome = await dialled(it, "uas_early", tmp_path)
    assert outcome.outcome == "answered"
    assert outcome.early_media


@pytest.mark.parametrize(
    ("code", "wanted"), [(486, "busy"), (404, "not_found"), (603, "refused"), (503, "failed")]
)
async def test_refusals(code: int, wanted: str, tmp_path: Path) -> None:
    async with served() as it:
        outcome = await dialled(it, f"uas_{code}", tmp_path)
    assert (outcome.outcome, outcome.code) == (wanted, code)


@pytest.mark.parametrize("scenario", ["uas_never", "uas_refused_late"])
async def test_nobody_answers(scenario: str, tmp_path: Path) -> None:
    async with served(ring_seconds=0.5) as it:
        assert (await dialled(it, scenario, tmp_path)).outcome == "no_answer"


async def test_nobody_is_there() -> None:
    async with served() as it:
        assert (
            await it.line.dialler.dial(DialOrder(f"sip:bot@127.0.0.1:{free_port()}"))
        ).outcome == "timeout"


async def test_digest(tmp_path: Path) -> None:
    port = free_port()
    trunk = TrunkSettings(proxy=f"sip:127.0.0.1:{port}", username="alice", password="secret")
    async with served(trunks={"t": trunk}) as it, asyncio.TaskGroup() as group:
        group.create_task(sipp("uas_challenge", None, tmp_path, "-p", str(port)))
        outcome = await it.line.dialler.dial(DialOrder("+4930123456"))
        (await party_of(it)).leg.hang_up("done")
    assert outcome.outcome == "answered"


async def test_their_refer_is_followed(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "callee").mkdir()
    async with served(accept_refer="always", dial=("*",)) as it, asyncio.TaskGroup() as group:
        called = group.create_task(sipp("uas_answer", None, tmp_path / "callee", "-p", str(port)))
        await sipp("refer_theirs", it.port, tmp_path, "-key", "target", str(port))
        party = it.parties.all[0]
        assert not party.gone.is_set()
        party.leg.hang_up("done")
        await called
        assert len(it.parties.all) == 1
