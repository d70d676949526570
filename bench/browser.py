"""How long the call browser takes with very many logged calls: what `make bench-browser` prints."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.made_up_calls import write_log
from gateway.archive.asking import Archive
from gateway.archive.desk import Places
from gateway.process.serve import SWITCH_INTERVAL

CALLS = 100_000

TICKED_SECONDS = 20.0

LIST_SECONDS, PAGE_SECONDS = 0.5, 0.3
"""What is promised."""


def timed(ask: Callable[[], bytes], times: int = 9) -> tuple[float, float]:
    """Return how long something takes, in the middle and at most."""
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        ask()
        took.append(time.perf_counter() - begun)
    return median(took), max(took)


def main(count: int) -> int:
    """Print the times; return 1 where a promise is broken."""
    sys.setswitchinterval(SWITCH_INTERVAL)  # as the gateway does
    folder = Path(tempfile.mkdtemp(prefix="parley-browser-"))
    log = folder / "calls.jsonl"
    now = time.time()
    write_log(log, count, now)
    size = sum(each.stat().st_size for each in folder.iterdir())
    print(f"{count:,} calls, {size / 1e6:.0f} MB of log")
    archive = Archive(Places(str(log), str(folder / "index.sqlite")))
    try:
        begun = time.perf_counter()
        while msgspec.json.decode(archive.ask("calls", {}))["behind"]:
            time.sleep(0.2)
        print(f"index made once in {time.perf_counter() - begun:.1f} s, "
              f"{(folder / 'index.sqlite').stat().st_size / 1e6:.0f} MB")  # fmt: skip
        return _measure(archive, now)
    finally:
        archive.close()
        shutil.rmtree(folder)


def _measure(archive: Archive, now: float) -> int:
    calls = msgspec.json.decode(archive.ask("calls", {"most": 100}))["calls"]
    hour = "%Y-%m-%dT%H"
    lists: dict[str, dict[str, Any]] = {
        "the newest calls": {},
        "a word that was said in many": {"words": "tuesday"},
        "words that were said in few": {"words": "invoice gearbox clutch"},
        "a number": {"number": "0099"},
        "slow ones of an agent, cut into": {"agent": "hotel", "slow": True, "cut_in": True},
    }
    day = {
        "since": time.strftime(hour, time.gmtime(now - 86400)),
        "until": time.strftime(hour, time.gmtime(now + 3600)),
    }
    broken = 0
    for said, given in lists.items():
        took = timed(partial(archive.ask, "calls", given))
        broken += _say(f"list: {said}", LIST_SECONDS, took)
    some = iter(calls)
    took = timed(lambda: archive.ask("call", {"call": next(some)["call"]}))
    broken += _say("a call's page", PAGE_SECONDS, took)
    broken += _say("the day", LIST_SECONDS, timed(lambda: archive.ask("day", day)))
    asyncio.run(_say_ticks(archive, str(calls[0]["call"])))
    return min(broken, 1)


async def _say_ticks(archive: Archive, call: str) -> None:
    """Print how late a loop's ticks of 20 ms are while nobody asks, and while somebody always does.

    Only what the second adds is the browser's; other programs make both late.
    """

    async def ask() -> None:
        while True:
            for name, given in (("calls", {"words": "tuesday"}), ("call", {"call": call})):
                await asyncio.to_thread(archive.ask, name, given)

    for said, asking in (("nobody asks", False), ("somebody always asks", True)):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(ask()) if asking else None
            late = sorted(await _ticks(TICKED_SECONDS))
            if task is not None:
                task.cancel()
        usual, most = late[round(0.99 * len(late))], late[-1]
        over = sum(one > 0.005 for one in late)
        print(
            f"ticks while {said:24} 99 of 100 within {1000 * usual:.1f} ms, "
            f"at most {1000 * most:.1f}; {over} of {len(late)} over 5"
        )


async def _ticks(seconds: float) -> list[float]:
    """Tick every 20 ms; return how late each was."""
    late: list[float] = []
    begun = time.perf_counter()
    for number in range(1, round(seconds / 0.02)):
        due = begun + 0.02 * number
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        late.append(max(0.0, time.perf_counter() - due))
    return late


def _say(what: str, promised: float, took: tuple[float, float]) -> bool:
    usual, most, bound = (round(1000 * each) for each in (*took, promised))
    print(f"{what:36} {usual:6} ms, at most {most} (promised {bound})")
    return took[1] > promised


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else CALLS))
