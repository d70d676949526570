"""A running gateway in which one call fails beside another, and what is judged of both."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.calls.gateway_process import GatewayProcess, gateway
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import CallerEvent, CallerLine, Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan, HangUp
from gateway.caller.twilio import TwilioCaller
from gateway.observe.lines import LogLine

WITHIN = 2.0
"""Seconds within which a faulty call's caller hears a word."""

APART = 1.5
"""Seconds between two cells."""

LONGEST = 10.0
"""Seconds after which a caller is gone."""

GONE = 20.0
"""Seconds within which a call ends whose page is gone for good (`webrtc.away_seconds` is 12)."""

KEPT = 6
"""Descriptors and threads that are kept for the next call."""

LATE = 1.0
"""Seconds for which nothing may keep the loop; what is less may be the machine's."""


CODE = """
def answers():
    'Look something up.'
    return 'It is there.'
"""


BACKEND = """
[backend]
kind = "cascade"
model = { kind = "openai", urls = ["http://127.0.0.1:9/v1"], model = "nobody asks it" }
recogniser = { kind = "moonshine" }
voice = { kind = "hibari" }
"""


def agents(folder: Path) -> None:
    """Write an agent for the neighbour, who hears a long sentence, and one for the others."""
    (folder / "faulty.py").write_text(CODE)
    numbers = "one two three four five six seven eight nine ten " * 12
    (folder / "well.toml").write_text(f'[lines]\ngreeting = "{numbers}"\n{BACKEND}')
    tool = '[[tools]]\npython = "faulty.py:answers"\n'
    (folder / "faulty.toml").write_text(f'[lines]\ngreeting = "Hello."\n{BACKEND}{tool}')


@dataclass
class Place:
    """A gateway, and what its callers need."""

    running: GatewayProcess
    agents: Path

    async def call(
        self,
        agent: str,
        plan: CallPlan,
        wrong: Callable[[Any], None] | None = None,
        line: CallerLine | None = None,
    ) -> tuple[str, Phone]:
        """Place a call and wait for its end; a machine that is busy takes it a little later.

        It comes over Twilio's socket, unless another `line` is given. What is wrong is done once
        the agent is heard.
        """
        if line is None:
            line = TwilioCaller(parse_target(self.running.target).address, agent=agent)
        left = [] if wrong is None else [wrong]

        def watch(event: CallerEvent) -> None:
            if event.kind == "began" and left:
                asyncio.get_running_loop().call_soon(left.pop(), phone._far)

        while True:
            phone = Phone(plan, line.form, NetworkSettings(), watch)
            call_id = line.new_id()
            try:
                async with asyncio.timeout(LONGEST):
                    await line.call(call_id, phone)
            except TimeoutError:
                return call_id, phone  # its clock was stopped
            if phone.answered:
                return call_id, phone
            assert phone.outcome is not None
            said = phone.outcome[1]
            assert "busy" in said or said.startswith("503 "), f"{agent}: {said}"
            await asyncio.sleep(0.5)

    def held(self) -> tuple[int, int]:
        """Count the process's descriptors and threads."""
        place = Path(f"/proc/{self.running.process.pid}")
        return len(os.listdir(place / "fd")), len(os.listdir(place / "task"))

    async def lines(self, call_id: str) -> list[LogLine]:
        """Return what the log has of a call, once it has ended; SIP's are named by Call-ID."""
        begun = (line for line in self.running.lines() if line.fields.get("sip_call_id") == call_id)
        known = next((line.call for line in begun), call_id)
        return await asyncio.to_thread(self.running.ended, known, GONE)

    async def beside(self, cells: list[Callable[[], Awaitable[None]]]) -> None:
        """Do what fails, one after the other, while a neighbour's call is held.

        At the neighbour's far end no frame is missing, and the loop that sends it never stood.
        """
        seen, files = len(self.running.lines()), self.held()
        wrong: list[str] = []
        line = TwilioCaller(parse_target(self.running.target).address, agent="well")
        phone = Phone(CallPlan(hang_up_after=120.0), line.form, NetworkSettings())
        async with asyncio.TaskGroup() as group:
            group.create_task(line.call(line.new_id(), phone))
            async with asyncio.TaskGroup() as faulty:
                await asyncio.sleep(3.0)
                for cell in cells:
                    faulty.create_task(_judged(cell, wrong))
                    await asyncio.sleep(APART)
            phone._do(HangUp("done"))
        assert wrong == [], "\n".join(wrong)
        assert phone.outcome is not None
        assert phone.outcome[0] != "failure"  # of a silent caller the agent takes leave
        assert sum(samples for _, samples in phone.tape.arrivals) > 4 * 8000
        stood = [line for line in self.running.lines()[seen:] if line.event == "loop_stood"]
        blamed = [line.fields for line in stood if line.fields["kind"] != "stopped"]
        assert [each for each in blamed if each["seconds"] > LATE] == []
        assert self.running.process.poll() is None
        await self._let_go(files)

    async def _let_go(self, before: tuple[int, int]) -> None:
        """Wait until no more is held than before, but for what is kept for the next call."""
        for _ in range(180):  # whoever says nothing to a 200 is waited for, 32 s
            files, threads = self.held()
            if files <= before[0] + KEPT and threads <= before[1] + KEPT:
                return
            await asyncio.sleep(0.25)
        raise AssertionError(f"descriptors and threads were {before} and are {self.held()}")


async def _judged(cell: Callable[[], Awaitable[None]], wrong: list[str]) -> None:
    """Note what of a cell does not hold; the others are judged all the same."""
    try:
        await cell()
    except AssertionError as error:
        wrong.append(str(error))


@contextmanager
def standing(folder: Path, sections: Mapping[str, Mapping[str, object]]) -> Iterator[Place]:
    """Run a gateway in a folder, with further settings."""
    within = folder / "agents"
    within.mkdir()
    agents(within)
    chosen = {
        "agents": {"default": "well"},
        "recording": {"enabled": True},
        "log": {"path": "log/calls.jsonl"},
        **sections,
    }
    with gateway(chosen, agents=within, folder=folder) as running:
        running.log.symlink_to("log/calls.jsonl")
        yield Place(running, within)
