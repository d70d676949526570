"""SIP lines that call each other over the loopback: admission, hold, transfers, the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from gateway.doors.judgement import Doors, Keys
from gateway.events import CallerGone
from gateway.lines.sip.dialing import DialOrder, DialOutcome
from gateway.lines.sip.leg import SipLeg
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings, TrunkSettings
from gateway.lines.sip.transfers import Speak
from gateway.log_events import CallRefusedLogged
from gateway.ports import Refusal
from tests.support.owner import OWNER
from tests.support.sip_answers import Parties, Party, tone

pytestmark = pytest.mark.real_time

ALLOWED = 9
"""Calls that a line places for others in an hour, here."""


@dataclass
class End:
    """One line and its parties."""

    line: SipLine
    parties: Parties

    @property
    def port(self) -> int:
        return self.line.network.port("udp")

    @property
    def uri(self) -> str:
        return f"sip:somebody@127.0.0.1:{self.port}"

    async def call(self, other: End, **order: Any) -> DialOutcome:
        return await self.line.dialler.dial(DialOrder(other.uri, **order))


def settings(**more: Any) -> SipSettings:
    return SipSettings(**{"host": "127.0.0.1", "udp": 0, "tcp": None, "key_ms": 60, **more})


@asynccontextmanager
async def end(
    parties: Parties | None = None, speak: Speak | None = None, **more: Any
) -> AsyncIterator[End]:
    parties = parties or Parties(echo=False)
    doors = Doors(Keys(OWNER), ALLOWED)
    line = SipLine(settings(**more), parties, doors, default_agent="desk", speak=speak)
    ready = asyncio.Event()
    parties.pacer.start()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(line.run(ready.set))
        await ready.wait()
        try:
            yield End(line, parties)
        finally:
            parties.pacer.stop()
            task.cancel()


def hears(party: Party, hertz: float, seconds: float = 0.4) -> bool:
    """Whether a party's last sound is a tone."""
    sound = np.frombuffer(bytes(party.heard), dtype="<i2")[-round(8000 * seconds) :].astype(float)
    if len(sound) < 8000 * seconds or not sound.any():
        return False
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(len(sound)))) ** 2
    at = np.fft.rfftfreq(len(sound), 1 / 8000)
    return bool(spectrum[np.abs(at - hertz) < 15].sum() > 0.9 * spectrum.sum())


async def until(holds: Callable[[], bool], seconds: float = 8.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  (sound has no event)
            await asyncio.sleep(0.02)


def ended(party: Party) -> CallerGone:
    (one,) = (event for event in party.events if isinstance(event, CallerGone))
    return one


def gone(party: Party) -> str:
    return ended(party).reason


async def test_sound_both_ways_keys_and_the_end() -> None:
    async with (
        end(Parties(sound=tone(440, 1.0))) as near,
        end(Parties(sound=tone(660, 1.0))) as far,
    ):
        outcome = await near.call(far, variables={"order": "7"}, headers={"X-Order": "7"})
        assert outcome.outcome == "answered"
        ours, theirs = await near.parties.next(), await far.parties.next()
        assert ours.leg.info.variables["order"] == "7"
        assert theirs.leg.info.variables["x-order"] == "7"
        assert (ours.leg.info.direction, theirs.leg.info.direction) == ("outbound", "inbound")
        known = [one.leg.info.variables["sip_call_id"] for one in (ours, theirs)]
        assert known[0] == known[1]
        await until(lambda: hears(ours, 660) and hears(theirs, 440))
        ours.leg.send_keys("42#")
        await until(lambda: theirs.keys == "42#")
        theirs.leg.hang_up("goodbye")
        await ours.gone.wait()
        assert gone(ours) == "goodbye"
        assert ended(ours).quality["received"] > 10
        await until(lambda: not len(near.line) and not len(far.line))


async def test_sound_for_a_multicast_group_is_refused_and_told() -> None:
    async with end(advertised="224.2.1.1") as caller, end() as callee:
        with capture_logs() as logs:
            outcome = await caller.call(callee)
        assert outcome.code == 488
        (told,) = (line for line in logs if line["event"] == "sip_media_refused")
        assert "224.2.1.1" in told["why"]
        assert callee.parties.all == []
        (missed,) = callee.parties.turned_away
        assert isinstance(missed, CallRefusedLogged)
        assert (missed.cause, missed.code) == ("media", 488)


async def test_nothing_is_dialled_when_nothing_is_admitted() -> None:
    async with end() as near, end() as far:
        near.parties.refusal = Refusal("busy", 9)
        assert (await near.call(far)).outcome == "unavailable"
        near.parties.refusal = None
        with pytest.raises(ValueError, match="trunk"):
            await near.line.dialler.dial(DialOrder("12345"))


async def test_who_calls_must_prove_it() -> None:
    async with end(users={"alice": "secret"}, domain="desk.example") as far:
        uri = f"sip:127.0.0.1:{far.port}"
        for password, wanted in (("secret", "answered"), ("wrong", "refused")):
            trunk = TrunkSettings(proxy=uri, username="alice", password=password)
            async with end(trunks={"desk": trunk}) as near:
                outcome = await near.line.dialler.dial(DialOrder("100"))
                assert outcome.outcome == wanted
        assert (await far.parties.next()).leg.info.variables["user"] == "alice"


async def test_unknown_networks_are_not_even_answered() -> None:
    async with end(ring_seconds=0.3) as near, end(allow=("203.0.113.0/24",)) as far:
        outcome = await near.call(far)
        assert outcome.outcome in ("no_answer", "timeout")
        assert far.line.network.dropped > 0
        assert not len(far.line.network.core)


async def test_routes_choose_the_agent() -> None:
    routes = {"somebody": "front", "+49*": "german"}
    async with end() as near, end(routes=routes, strict_routes=True) as far:
        assert (await near.call(far)).outcome == "answered"
        assert (await far.parties.next()).leg.info.agent == "front"
        uri = f"sip:+4930@127.0.0.1:{far.port}"
        assert (await near.line.dialler.dial(DialOrder(uri))).outcome == "answered"
        assert (await far.parties.next()).leg.info.agent == "german"
        uri = f"sip:nobody@127.0.0.1:{far.port}"
        assert (await near.line.dialler.dial(DialOrder(uri))).outcome == "not_found"


async def test_a_dead_far_end_is_noticed() -> None:
    async with end(media_timeout=0.5) as near, end(progress="none") as far:
        await near.call(far)
        ours, theirs = await near.parties.next(), await far.parties.next()
        far.parties.pacer.remove(theirs)  # it sends nothing any more
        await ours.gone.wait()
        assert gone(ours) == "no media"
        assert ended(ours).failure  # nobody hung up


async def test_a_refer_moves_the_agent_to_someone_else() -> None:
    async with (
        end(Parties(sound=tone(440, 1.0))) as one,
        end(Parties(sound=tone(550, 1.0)), accept_refer="always", dial=("*",)) as two,
        end(Parties(sound=tone(660, 1.0))) as three,
    ):
        await one.call(two)
        caller, agent = await one.parties.next(), await two.parties.next()
        caller.leg.transfer(three.uri, "")
        other = await three.parties.next()
        await until(lambda: caller.transfer is not None)
        assert caller.transfer is not None
        assert caller.transfer.accepted
        await caller.gone.wait()
        await until(lambda: hears(agent, 660) and hears(other, 550))
        assert len(two.parties.all) == 1
        assert not agent.gone.is_set()


async def test_a_refer_that_fails_leaves_the_call_as_it_was() -> None:
    async with (
        end(Parties(sound=tone(440, 1.0))) as one,
        end(Parties(sound=tone(550, 1.0)), accept_refer="always", dial=("*",)) as two,
        end() as three,
    ):
        three.parties.refusal = Refusal("busy")
        await one.call(two)
        caller, agent = await one.parties.next(), await two.parties.next()
        caller.leg.transfer(three.uri, "")
        await until(lambda: caller.transfer is not None)
        assert caller.transfer is not None
        assert not caller.transfer.accepted
        assert "486" in caller.transfer.reason
        await until(lambda: hears(agent, 440) and hears(caller, 550))


async def test_an_announced_transfer_tells_the_summary_first() -> None:
    async def speak(agent: str, text: str, rate: int) -> bytes:
        assert (agent, text) == ("desk", "Mr. Smith wants a quote")
        return tone(880, 1.0)

    async with AsyncExitStack() as stack:
        agents = await stack.enter_async_context(end(speak=speak))
        phone = await stack.enter_async_context(
            end(Parties(sound=tone(440, 1.0)), accept_refer="always", dial=("*",))
        )
        person = await stack.enter_async_context(end(Parties(sound=tone(660, 1.0))))
        await phone.call(agents)
        caller, agent = await phone.parties.next(), await agents.parties.next()
        agent.leg.transfer(person.uri, "Mr. Smith wants a quote")
        colleague = await person.parties.next()
        await until(lambda: hears(colleague, 880))
        assert agent.transfer is None
        assert any(caller.heard[-8000:])  # music meanwhile
        await until(lambda: agent.transfer is not None)
        assert agent.transfer is not None
        assert agent.transfer.accepted
        await agent.gone.wait()
        await until(lambda: hears(colleague, 440) and hears(caller, 660))
        await until(lambda: not len(agents.line))
        assert len(person.parties.all) == 1


async def test_an_announced_transfer_to_nobody_comes_back() -> None:
    async def speak(agent: str, text: str, rate: int) -> bytes:
        raise AssertionError("nobody is there to hear it")

    async with end(speak=speak) as agents, end() as phone, end() as person:
        person.parties.refusal = Refusal("busy")
        await phone.call(agents)
        agent = await agents.parties.next()
        agent.leg.transfer(person.uri, "a summary")
        await until(lambda: agent.transfer is not None)
        assert agent.transfer is not None
        assert not agent.transfer.accepted
        assert agent.transfer.reason.startswith("486")
        assert not agent.gone.is_set()


@pytest.mark.parametrize("target", ["", "sip:", "a b"])
async def test_targets_that_are_none_are_refused(target: str) -> None:
    async with end() as near, end() as far:
        await near.call(far)
        ours = await near.parties.next()
        ours.leg.transfer(target, "")
        await until(lambda: ours.transfer is not None)
        assert ours.transfer is not None
        assert not ours.transfer.accepted


async def test_early_sound_before_the_answer() -> None:
    heard: list[str] = []
    async with (
        end() as near,
        end(progress="early", ring_before_answer=0.5) as far,
    ):
        order = DialOrder(far.uri)
        outcome = await near.line.dialler.dial(order, lambda name, code: heard.append(name))
        assert outcome.outcome == "answered"
        assert outcome.early_media
        assert heard == ["early_media"]
        ours = await near.parties.next()
        assert isinstance(ours.leg, SipLeg)
        assert ours.leg.quality.received >= 20  # silence that was sent before the answer


async def test_many_calls_leave_nothing_behind() -> None:
    async with end() as near, end() as far:
        for _ in range(30):
            async with asyncio.TaskGroup() as group:
                for _ in range(5):
                    group.create_task(near.call(far))
            for party in (*near.parties.all, *far.parties.all):
                party.leg.hang_up("next")
            await until(lambda: not len(near.line) and not len(far.line))
        far.parties.refusal = Refusal("busy")
        for _ in range(50):
            await near.call(far)
        await until(lambda: not len(near.line.network.core))
        assert not near.line._desk._legs
        assert not far.line._desk._legs
        assert not near.line.network.core._labels
