"""Faults where peers, files and disks meet a running gateway, beside a neighbour's call.

Each cell is one place and one kind of fault, with a real process, sockets, models and files. What
is not in the tables cannot happen or is another cell: a stream's peer can only send, be silent and
leave; what a file's import does is what its code does, so that `close` is `sys.exit` there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.calls.gateway_process import GatewayProcess, gateway
from gateway.caller.measure import measure
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import CallerEvent, Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan, HangUp
from gateway.caller.twilio import TwilioCaller
from gateway.observe.lines import LogLine

pytestmark = [pytest.mark.live, pytest.mark.wide, pytest.mark.real_time]

WITHIN = 2.0
"""Seconds within which a faulty call's caller hears a word."""

APART = 1.5
"""Seconds between two cells."""

LONGEST = 10.0
"""Seconds after which a caller is gone."""

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
        self, agent: str, plan: CallPlan, wrong: Callable[[Any], None] | None = None
    ) -> tuple[str, Phone]:
        """Place a call and wait for its end; a machine that is busy takes it a little later.

        What is wrong is done once the agent is heard.
        """
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
            assert "busy" in phone.outcome[1]
            await asyncio.sleep(0.5)

    def held(self) -> tuple[int, int]:
        """Count the process's descriptors and threads."""
        place = Path(f"/proc/{self.running.process.pid}")
        return len(os.listdir(place / "fd")), len(os.listdir(place / "task"))

    async def lines(self, call_id: str) -> list[LogLine]:
        return await asyncio.to_thread(self.running.ended, call_id)

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
        assert wrong == []
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
        for _ in range(60):
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


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "agents"
    folder.mkdir()
    agents(folder)
    sections = {
        "agents": {"default": "well"},
        "recording": {"enabled": True},
        "log": {"path": "log/calls.jsonl"},
    }
    with gateway(sections, agents=folder, folder=tmp_path) as running:
        running.log.symlink_to("log/calls.jsonl")
        yield Place(running, folder)


# --- who sends ---------------------------------------------------------------------------------


def garbage(far: Any) -> None:
    for _ in range(50):
        far._write(os.urandom(300).hex().encode())


def huge(far: Any) -> None:
    far._write(b'{"event": "media", "media": "' + b"x" * 30_000_000 + b'"}')


def flood(far: Any) -> None:
    for number in range(30_000):
        far._write(far._writer.mark(f"m{number}"))


def close(far: Any) -> None:
    far._transport.disconnect(False)


def disorder(far: Any) -> None:
    far._write(far._writer.stop())
    far._write(far._writer.connected())
    far._write(far._writer.start({}))
    far._write(far._writer.media(bytes(160), 0))


def hang(far: Any) -> None:
    far._phone.schedule.stop()


SENT = (garbage, huge, flood, close, disorder, hang)


async def sends(place: Place, wrong: Callable[[Any], None]) -> None:
    """Begin a call as one should, and then send what one should not."""
    call_id, _ = await place.call("faulty", CallPlan(hang_up_after=6.0), wrong)
    lines = await place.lines(call_id)
    assert [line.event for line in lines].count("call_ended") == 1, wrong.__name__
    assert [line for line in lines if line.event == "fault"] == [], wrong.__name__


async def test_streams(place: Place) -> None:
    await place.beside([lambda wrong=wrong: sends(place, wrong) for wrong in SENT])


# --- files -------------------------------------------------------------------------------------

WRONG = {
    "raise": b"raise RuntimeError('no')\n",
    "base": b"raise KeyboardInterrupt\n",
    "close": b"import sys\nsys.exit(3)\n",
    "block": b"import time\ntime.sleep(6)\n",
    "flood": b"for n in range(20000): print('and so on')\nraise ValueError\n",
    "huge": b"x = [" + b"1, " * 2_000_000 + b"]\nraise ValueError\n",
    "garbage": b"\xff\xfe\x00def",
    "disorder": b"def answers(x: Nowhere): ...\n",
}


async def reads(place: Place, name: str, text: bytes) -> None:
    """Change a file for the worse: the last good agent answers."""
    path = place.agents / name
    good = path.read_bytes()
    path.write_bytes(text)
    await asyncio.sleep(2.0)
    call_id, phone = await place.call("faulty", CallPlan(hang_up_after=3.0))
    path.write_bytes(good)
    first = measure(phone.tape).greeting.first_audio
    assert first is not None, name
    assert first < WITHIN, name
    lines = await place.lines(call_id)
    assert [line.event for line in lines].count("call_ended") == 1, name


async def one_by_one(place: Place, name: str, texts: list[bytes]) -> None:
    for text in texts:
        await reads(place, name, text)


async def test_files(place: Place) -> None:
    wrong = [b"\xff\xfe[", b"x" * 5_000_000, b"[lines]\ngreeting = 3\n"]
    await place.beside([
        lambda: one_by_one(place, "faulty.py", list(WRONG.values())),
        lambda: one_by_one(place, "faulty.toml", wrong),
    ])  # fmt: skip


async def test_disks(place: Place) -> None:
    await place.beside([lambda: no_room(place, "log")])
    await place.beside([lambda: no_room(place, "recordings")])
    whole = [line for line in place.running.lines() if not line.call]
    told = [(line.event, line.fields["part"]) for line in whole if "part" in line.fields]
    assert told[:2] == [("fault", "log"), ("recovered", "log")]


async def no_room(place: Place, name: str) -> None:
    """Take a folder away for two seconds, a file in its place, in which nothing can be written."""
    folder = place.running.folder / name
    away = folder.with_name(f"{name}.away")
    folder.rename(away)
    folder.write_bytes(b"")
    try:
        call_id, phone = await place.call("faulty", CallPlan(hang_up_after=3.0))
    finally:
        folder.unlink()
        away.rename(folder)
    first = measure(phone.tape).greeting.first_audio
    assert first is not None, name
    assert first < WITHIN, name
    lines = await place.lines(call_id)
    faults = [line.fields["part"] for line in lines if line.event == "fault"]
    assert faults == (["recording"] if name == "recordings" else []), name
    assert [line.event for line in lines].count("call_ended") == 1, name
