"""Ten ways to be not the same twice, each planted in turn-taking, each found by its replay."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.gateway.replay.planted import Planted, difference, held

VARIABLE = "PARLEY_PLANTED"
SUM = [0.0]


def _clock(_: Planted) -> float:
    return time.time() % 1


def _chance(_: Planted) -> float:
    return random.random()


def _address(taking: Planted) -> float:
    return id(taking) / 2**64


def _tasks(_: Planted) -> float:
    order = [task.get_name() for task in asyncio.all_tasks()]
    return float(order[0].rpartition("-")[2]) / 1e9


def _environment(_: Planted) -> float:
    return len(os.environ.get(VARIABLE, "")) / 100


def _sum(_: Planted) -> float:
    SUM[0] += 0.1  # of the process, not of the call
    return SUM[0] % 1


def _sleep(_: Planted) -> float:
    begun = time.perf_counter()
    time.sleep(0.001)
    return time.perf_counter() - begun


@pytest.mark.parametrize("plant", [_clock, _chance, _address, _tasks, _environment, _sum, _sleep])
def test_what_no_machine_may_look_at_is_found(
    plant: Callable[[Planted], float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "of the machine that answered")
    journal = held(tmp_path, plant)
    monkeypatch.setenv(VARIABLE, "of another")
    found = difference(journal, plant)
    assert found is not None
    assert found.what == "turn: TurnEnded"
    assert "probability=" in found.then
    assert found.then != found.now


def test_the_order_of_files_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    names = [f"{number}.txt" for number in range(3)]

    def made(order: list[str]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in order:
            (folder / name).touch()

    def first(_: Planted) -> float:
        with os.scandir(folder) as entries:
            return next(entries).inode() / 2**64

    made(names)
    journal = held(tmp_path, first)
    kept = tmp_path / "kept"
    folder.rename(kept)  # its numbers are not given to others
    made(names[::-1])
    found = difference(journal, first)
    assert found is not None
    assert found.what == "turn: TurnEnded"


@pytest.fixture
def racing() -> Iterator[Callable[[Planted], float]]:
    """Count in a thread, for as long as the test runs."""
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    yield lambda _: counted[0] / 1e12
    stop.set()
    thread.join()


def test_the_pace_of_a_thread_is_found(racing: Callable[[Planted], float], tmp_path: Path) -> None:
    found = difference(held(tmp_path, racing), racing)
    assert found is not None
    assert found.what == "turn: TurnEnded"


def test_the_order_of_a_set_is_found_in_another_process(tmp_path: Path) -> None:
    def process(seed: str, *what: str) -> str:
        run = [sys.executable, "-m", "tests.gateway.replay.planted", *what]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip().splitlines()[-1]

    journal = process("1", "hold", str(tmp_path))
    assert process("1", "check", journal) == "None"
    assert "turn: TurnEnded" in process("2", "check", journal)


def test_without_a_plant_there_is_nothing_to_find(tmp_path: Path) -> None:
    assert difference(held(tmp_path, lambda _: 0.5), lambda _: 0.5) is None
