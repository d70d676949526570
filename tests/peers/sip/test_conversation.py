"""Two softphones by other authors each hold a whole conversation with the shipped agent.

Directly, and through Kamailio with Record-Route and rtpengine.
All calls of a run are held at once, by one gateway, since each takes the time that talking takes.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import uvloop

from tests.peers.sip.baresip import baresip
from tests.peers.sip.conversation import KEYS, RATE, Side, Talk, converse
from tests.peers.sip.harness import needs
from tests.peers.sip.linphone import linphone
from tests.peers.sip.phones import Phone
from tests.peers.sip.proxy import proxy
from tests.peers.sip.service import Gateway, service
from tests.support.certificates import certificate

pytestmark = [
    *needs("baresip", "linphonec", "kamailio", "rtpengine"),
    pytest.mark.timeout(500),  # the first test waits for all calls
]

Way = Literal["direct", "udp", "tcp", "tls"]


@dataclass(frozen=True)
class Case:
    """Who calls, over what, and who hangs up."""

    phone: Literal["baresip", "linphone"]
    way: Way
    "directly, or through the proxy over a transport; over TLS with SRTP"
    ends: Side

    def __str__(self) -> str:
        return f"{self.phone}-{self.way}-{self.ends}"


CASES = [
    Case(phone, way, ends)
    for phone in ("baresip", "linphone")
    for way in ("direct", "udp", "tcp", "tls")
    for ends in ("agent", "phone")
]
IN_CI = {
    Case("baresip", "direct", "agent"),
    Case("linphone", "direct", "phone"),
    Case("baresip", "tls", "phone"),
}
"""Both phones, directly and through the proxy, hung up on either side."""

WIDE = {Case("linphone", "tcp", "agent"), Case("linphone", "udp", "phone")}
"""Beside those, through the proxy by each transport; what is left are all combinations."""

AT_ONCE = 5
"""Calls that a small machine has the time for, beside their telephones and proxies."""
APART = 2.5
"""Seconds between calls, so that they do not all want the recogniser at the same moment."""

LOUD = 300
"""Samples beyond this are the agent's; its silence is digital."""


async def opened(case: Case, folder: Path, pem: Path, stack: AsyncExitStack) -> Phone:
    """Start the softphone of a case."""
    silence, secure = bytes(2 * RATE * 120), case.way == "tls"
    if case.phone == "linphone":
        transport = "udp" if case.way == "direct" else case.way
        return await stack.enter_async_context(
            linphone(folder, play=silence, transport=transport, pem=pem if secure else None)
        )
    account = ";regint=0;audio_codecs=PCMU/8000/1" + (";mediaenc=srtp-mand" if secure else "")
    return await stack.enter_async_context(baresip(folder, play=silence, account=account, pem=pem))


async def held(case: Case, at: Gateway, hosts: dict[Way, str], folder: Path, pem: Path) -> Talk:
    """Hold the conversation of a case."""
    number = str(case)
    host = hosts[case.way]
    if case.phone == "linphone":
        host = host.replace("127.0.0.1", "localhost")  # it sees only names in certificates
    uri = f"sip:{number}@{host}"
    async with AsyncExitStack() as stack:
        phone = await opened(case, folder, pem, stack)
        return await converse(phone, at, number, uri, folder, case.ends)


async def hosts_for(
    ways: set[Way], at: Gateway, folder: Path, pem: Path, stack: AsyncExitStack
) -> dict[Way, str]:
    """Start the proxies that are needed, and give the host that each way is called by."""
    hosts: dict[Way, str] = {"direct": f"127.0.0.1:{at.ports['udp']}"}
    for way in ("udp", "tcp", "tls"):
        if way not in ways:
            continue
        media = "RTP/SAVP ICE=remove DTLS=off" if way == "tls" else "RTP/AVP ICE=remove"
        target = f"sip:127.0.0.1:{at.ports[way]};transport={way}"
        via = await stack.enter_async_context(proxy(folder / f"proxy-{way}", pem, target, media))
        port = via.tls if way == "tls" else via.port
        hosts[way] = f"127.0.0.1:{port};transport={way}"
    return hosts


async def all_held(cases: list[Case], folder: Path) -> dict[Case, Talk | Exception]:
    """Hold the conversations of all cases at once; one that fails leaves the others alone."""
    pem = certificate(folder)
    results: dict[Case, Talk | Exception] = {}

    places = asyncio.Semaphore(AT_ONCE)

    async def one(case: Case, at: Gateway, hosts: dict[Way, str]) -> None:
        try:
            async with places:
                results[case] = await held(case, at, hosts, folder / str(case), pem)
        except Exception as error:  # fence: around one call, so that the others go on
            results[case] = error

    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(service(folder, pem))
        hosts = await hosts_for({case.way for case in cases}, at, folder, pem, stack)
        async with asyncio.TaskGroup() as group:
            for case in cases:
                group.create_task(one(case, at, hosts))
                await asyncio.sleep(APART)
    return results


@pytest.fixture(scope="module")
def talks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[Case, Talk | Exception]:
    """Hold the conversations of all tests that were chosen."""
    chosen = {
        case
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and isinstance(case := item.callspec.params.get("case"), Case)
    }
    folder = tmp_path_factory.mktemp("talks")
    cases = [case for case in CASES if case in chosen]
    for case in cases:
        (folder / str(case)).mkdir()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(all_held(cases, folder))


def check_turns(talk: Talk) -> None:
    """The caller was understood and answered, and was heard well."""
    assert talk.one("call_started")["line"] == "sip"
    assert "look you up" in talk.cut["text"]  # the car was understood: who calls?
    assert "My pleasure" in talk.log.texts("agent_spoke")  # what one says to thanks
    quality = talk.one("call_ended")["quality"]
    assert quality["received"] > 1000
    assert quality["lost"] < quality["received"] / 100


def check_words(talk: Talk) -> None:
    """Sound came through both ways, before the hold and after it: words are recognised in it.

    The recogniser may miss one of them, where a busy machine has cut into the sound.
    """
    for wanted in (
        "michelle|help you",
        "of course|what's your last",
        "last name",
        "pleasure",
    ):
        assert re.search(wanted, talk.words_heard)
    for wanted in ("weeks ago|dealership|earlier", "great|thank you"):
        assert re.search(wanted, talk.words_said)


def check_cut_in(talk: Talk) -> None:
    """The caller cut in, the agent fell silent, and the log says how much of it was heard."""
    cut, began = talk.cut, talk.log.lines("turn")[0]["at"]
    over = talk.log.lines("turn_ended")[1]["at"]
    assert cut["heard"] < cut["queued"] - 0.5
    assert "look you up" not in talk.words_heard
    # While the caller talked, the far end heard the agent for as long as the log says.
    loud = np.flatnonzero(abs(talk.between(began, over).astype(int)) > LOUD)
    assert loud[-1] / RATE == pytest.approx(cut["heard"], abs=0.4)
    assert over - began - cut["heard"] > 0.5


def check_keys_and_hold(talk: Talk) -> None:
    """Keys arrive, and what is said while on hold is for somebody else."""
    assert "".join(line["keys"] for line in talk.log.lines("key")) == KEYS
    for said in (talk.log.texts("caller_spoke"), talk.words_said):
        assert not re.search("tesla|2018", said.lower())


def marks(case: Case) -> tuple[pytest.MarkDecorator, ...]:
    if case in IN_CI:
        return ()
    return (pytest.mark.wide,) if case in WIDE else (pytest.mark.slow,)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=str(c), marks=marks(c)) for c in CASES],
)
def test_conversation(case: Case, talks: dict[Case, Talk | Exception]) -> None:
    talk = talks[case]
    if isinstance(talk, Exception):
        raise talk
    check_turns(talk)
    check_words(talk)
    check_cut_in(talk)
    check_keys_and_hold(talk)
    assert talk.one("call_ended")["ended_by"] == ("agent" if case.ends == "agent" else "caller")
    if case.ends == "agent":
        assert "goodbye" in re.sub("-", "", talk.words_heard)
