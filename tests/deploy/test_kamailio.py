"""The example of deploy/kamailio, run for real: one gateway drains, one is killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bench.calls.gateway_process import ROOT
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.plan import CallPlan
from gateway.caller.sip import SipCaller
from gateway.ports import Refusal
from tests.peers.sip.harness import Served, needs, served
from tests.peers.sip.phones import free_tcp_port
from tests.support.peers import is_up

pytestmark = [*needs("kamailio"), pytest.mark.wide]

EXAMPLES = ROOT / "deploy/kamailio"


@asynccontextmanager
async def kamailio(folder: Path, gateways: list[Served]) -> AsyncIterator[int]:
    """Run it as the example says, in front of these; give its port."""
    port = free_tcp_port()
    text = (EXAMPLES / "kamailio.cfg").read_text()
    for before, after in (
        ("0.0.0.0:5060", f"127.0.0.1:{port}"),
        ("/etc/kamailio/", f"{folder}/"),
        ("unix:/run/kamailio/kamailio_ctl", f"unix:{folder}/ctl"),
        ('"ds_ping_interval", 2', '"ds_ping_interval", 1'),
        ("203.0.113.0/24", "127.0.0.0/8"),
        ("children=4", "children=2"),
    ):
        assert before in text, before
        text = text.replace(before, after)
    (folder / "kamailio.cfg").write_text(text)
    (folder / "dispatcher.list").write_text(
        "".join(f"1 sip:127.0.0.1:{one.port}\n" for one in gateways)
    )
    with (folder / "said").open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *("kamailio", "-DD", "-E", "-f", str(folder / "kamailio.cfg")),
            *("-P", str(folder / "pid"), "-w", str(folder), "-Y", str(folder)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
    try:
        for _ in range(200):
            if await is_up(port):
                break
            assert process.returncode is None, (folder / "said").read_text()
            await asyncio.sleep(0.05)
        yield port
    finally:
        process.terminate()
        await process.wait()


async def place(port: int, seconds: float) -> Phone:
    """Hold one call through the proxy."""
    line = SipCaller(f"sip:anybody@127.0.0.1:{port}")
    phone = Phone(CallPlan(hang_up_after=seconds), line.form, NetworkSettings())
    await line.call(line.new_id(), phone)
    return phone


async def has(gateways: list[Served], calls: list[int]) -> None:
    """Wait until the gateways have so many calls."""
    for _ in range(200):
        if [len(one.line) for one in gateways] == calls:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{[len(one.line) for one in gateways]} calls, not {calls}")


async def test_one_drains_one_is_killed_and_no_other_call_is_touched(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        gateways = [await stack.enter_async_context(served()) for _ in range(2)]
        killed = AsyncExitStack()
        gateways.append(await killed.enter_async_context(served()))
        port = await stack.enter_async_context(kamailio(tmp_path, gateways))
        await asyncio.sleep(1.5)  # it has heard from all of them
        long = [group.create_task(place(port, 12.0)) for _ in range(6)]
        await has(gateways, [2, 2, 2])

        # The first drains. At once, and before the proxy has asked: the next one takes it.
        first, _, last = gateways
        first.parties.refusal = Refusal("draining", 5, "The gateway is being restarted.")
        first.line.drain()
        short = [await place(port, 0.3) for _ in range(4)]
        assert [one.outcome for one in short] == [("caller", "done")] * 4
        await asyncio.sleep(2.0)
        refused = len(first.parties.turned_away)
        short = [await place(port, 0.3) for _ in range(4)]
        assert [one.outcome for one in short] == [("caller", "done")] * 4
        assert len(first.parties.turned_away) == refused  # nobody is sent there any more
        await has(gateways, [2, 2, 2])

        # The last one is gone without a word, as if killed: whoever is sent there is sent on.
        last.line.network._transports._transports._udp.abort()  # type: ignore[attr-defined]
        short = [await place(port, 0.3) for _ in range(4)]
        assert [one.outcome for one in short] == [("caller", "done")] * 4
        assert len(gateways[1].line) == 2
        ended = [await one for one in long]
        assert [one.outcome for one in ended].count(("caller", "done")) >= 4
        await has(gateways[:2], [0, 0])
        await killed.aclose()
