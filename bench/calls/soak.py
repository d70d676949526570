"""A thousand short calls, every tenth refused: nothing may be left of them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from picows import WSFrame, WSHandshakeError, WSListener, WSMsgType, WSTransport, ws_connect

from bench.calls.gateway_process import GatewayProcess, gateway
from bench.calls.load import memory
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan
from gateway.caller.twilio import TwilioCaller

TOKEN = "soak-" + "0" * 27
"""The secret that both ends sign with."""

HUNDRED = 100
"""Calls after which whatever is made once is made."""

GROWTH = 10.0
"""Megabytes that the calls after those may leave behind."""

TALK_SECONDS = 0.6
"""How long a call lasts: the greeting has begun by then."""

REFUSED_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a process holds."""

    memory: float
    "megabytes"
    files: int
    threads: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Soak:
    """What was measured."""

    calls: int
    seconds: float
    answered: int
    refused: int
    wrong: tuple[str, ...]
    "what did not go as it should have"
    early: Holdings
    late: Holdings

    def problems(self) -> list[str]:
        """Return what does not hold."""
        found = list(self.wrong)
        if self.late.memory - self.early.memory > GROWTH:
            found.append(f"memory grew by {self.late.memory - self.early.memory:.1f} MB")
        for name in ("files", "threads", "tasks"):
            before, after = getattr(self.early, name), getattr(self.late, name)
            if after > before:
                found.append(f"{after - before} {name} were left over")
        return found


async def measure_soak(calls: int, together: int = 10) -> Soak:
    """Place so many calls, `together` at a time."""
    begun = time.monotonic()
    counts = {"answered": 0, "refused": 0}
    wrong: dict[str, None] = {}
    with gateway(
        {"limits": {"calls": together + 5}}, environment={"TWILIO_AUTH_TOKEN": TOKEN}
    ) as running:

        async def batch(first: int, last: int) -> None:
            numbers = list(range(first, last))

            async def caller() -> None:
                while numbers:
                    kind, problem = await _one(running, numbers.pop(0))
                    counts[kind] += 1
                    if problem:
                        wrong[problem] = None

            async with asyncio.TaskGroup() as group:
                for _ in range(together):
                    group.create_task(caller())

        await batch(0, min(HUNDRED, calls))
        early = await _holdings(running)
        await batch(HUNDRED, calls)
        late = await _holdings(running)
    return Soak(
        calls,
        time.monotonic() - begun,
        counts["answered"],
        counts["refused"],
        tuple(wrong),
        early,
        late,
    )


async def _holdings(of: GatewayProcess) -> Holdings:
    """Look once all calls are over and what they left had time to go."""
    health: Mapping[str, Any] = {}
    for _ in range(100):
        health = await asyncio.to_thread(of.health)
        if not health["calls"]:
            break
        await asyncio.sleep(0.1)
    await asyncio.sleep(3.0)  # sockets that linger, lines that are still written
    health = await asyncio.to_thread(of.health)
    process = Path(f"/proc/{of.process.pid}")
    return Holdings(
        memory(of),
        len(os.listdir(process / "fd")),
        len(os.listdir(process / "task")),
        int(health["tasks"]),
    )


async def _one(to: GatewayProcess, number: int) -> tuple[str, str]:
    """Place one call; give what became of it, and what was wrong with that."""
    if number % 10 == 9:
        refuse = (_bad_signature, _bad_token, _malformed_start)[number // 10 % 3]
        return "refused", await refuse(to)
    line = TwilioCaller(parse_target(to.target).address, auth_token=TOKEN)
    phone = Phone(CallPlan(hang_up_after=TALK_SECONDS), line.form, NetworkSettings())
    await line.call(line.new_id(), phone)
    by, reason = phone.outcome or ("failure", "never ended")
    return "answered", "" if by == "caller" and phone.answered else f"a call failed: {reason}"


async def _bad_signature(to: GatewayProcess) -> str:
    headers = {"X-Twilio-Signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="}
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        form = {"CallSid": "CA" + "1" * 32}
        answer = await client.post(f"{to.address}/twilio/voice", data=form, headers=headers)
    return "" if answer.status_code == 403 else f"a bad signature got {answer.status_code}"


async def _bad_token(to: GatewayProcess) -> str:
    line = TwilioCaller(parse_target(to.target).address, auth_token=TOKEN, token="wrong")
    phone = Phone(CallPlan(hang_up_after=REFUSED_SECONDS), line.form, NetworkSettings())
    await line.call(line.new_id(), phone)
    return _closed("a bad token", 1008, phone.outcome)


def _closed(what: str, code: int, outcome: tuple[str, str] | None) -> str:
    reason = "" if outcome is None else outcome[1]
    return "" if reason.startswith(str(code)) else f"{what} ended with {reason!r}"


async def _malformed_start(to: GatewayProcess) -> str:
    """Begin a stream with something that is no start."""
    line = TwilioCaller(parse_target(to.target).address, auth_token=TOKEN)
    far = _Garbage()
    sign: Callable[..., dict[str, str]] = _signature
    try:
        transport, _ = await ws_connect(lambda: far, line.url, extra_headers=sign(line.url))
    except (WSHandshakeError, OSError) as error:
        return f"a malformed start was not let in: {error}"
    waiting: Awaitable[int] = far.closed
    try:
        async with asyncio.timeout(REFUSED_SECONDS):
            code = await waiting
    except TimeoutError:
        code = 0
    transport.disconnect(False)
    return "" if code == 1002 else f"a malformed start ended with {code}"


def _signature(url: str) -> dict[str, str]:
    from twilio.request_validator import RequestValidator

    return {"X-Twilio-Signature": RequestValidator(TOKEN).compute_signature(url, {})}


class _Garbage(WSListener):
    """A peer that says nothing a stream begins with."""

    def __init__(self) -> None:
        self.closed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def on_ws_connected(self, transport: WSTransport) -> None:
        transport.send(WSMsgType.TEXT, b'{"event":"start","start":{"streamSid":7}}')

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE and not self.closed.done():
            self.closed.set_result(int(frame.get_close_code()))  # type: ignore[arg-type]
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        if not self.closed.done():
            self.closed.set_result(0)
