"""A call whose turn-taking takes something from where no machine may look: `python -m` this, with
`hold FOLDER` or `check JOURNAL`, does either in a process with a hash seed of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gateway.caller.plan import CallPlan, Say
from gateway.plumbing import virtual_time
from gateway.replay.compare import Difference, check
from gateway.replay.file import read
from gateway.replay.rerun import MakeTaking
from tests.gateway.replay.calls import hold, said
from turn.events import TurnEnded, TurnInput, TurnOutput
from turn.taking import TurnSettings, TurnTaking

PLAN = CallPlan((Say(said("demo/tel_ar40_caller_noises.flac")),))

Plant = Callable[["Planted"], float]


class Planted:
    """Turn-taking that believes what a plant says, once a turn has ended anyway."""

    kept: list[Planted] = []  # noqa: RUF012 - for good, so that no address is used twice

    def __init__(self, rate: int, settings: TurnSettings, plant: Plant) -> None:
        self._taking = TurnTaking(rate, settings)
        self._plant = plant
        self.kept.append(self)

    def handle(self, event: TurnInput) -> list[TurnOutput]:
        return [
            replace(output, probability=self._plant(self))
            if isinstance(output, TurnEnded)
            else output
            for output in self._taking.handle(event)
        ]


def planted(plant: Plant) -> MakeTaking:
    """Return what makes turn-taking with a plant."""
    return lambda rate, settings: Planted(rate, settings, plant)


def held(folder: Path, plant: Plant) -> Path:
    """Hold a call."""

    async def story() -> list[Path]:
        return await hold([PLAN], folder, make_taking=planted(plant))

    return virtual_time.run(story())[0]


def difference(journal: Path, plant: Plant) -> Difference | None:
    """Run a call again."""
    return check(read(journal), planted(plant)).difference


def by_hash(_: Planted) -> float:
    """Take the first of a set of words: which that is depends on the seed of their hashes."""
    words = {f"word {number}" for number in range(100)}
    return float(next(iter(words)).split()[1]) / 100


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hold", folder]:
            print(held(Path(folder), by_hash))
        case ["check", journal]:
            print(difference(Path(journal), by_hash))
        case _:
            sys.exit("hold FOLDER, or check JOURNAL")
