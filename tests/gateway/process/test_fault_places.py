"""Faults where peers, files and disks meet a running gateway, beside a neighbour's call.

Each cell is one place and one kind of fault, with a real process, sockets, models and files. What
is not in the tables cannot happen or is another cell: a stream's peer can only send, be silent and
leave; what a file's import does is what its code does, so that `close` is `sys.exit` there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.caller.measure import measure
from gateway.caller.plan import CallPlan
from tests.support.fault_place import WITHIN, Place, standing

pytestmark = [pytest.mark.live, pytest.mark.wide, pytest.mark.real_time]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with standing(tmp_path, {}) as found:
        yield found


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
