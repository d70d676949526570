"""Does a replay with other settings predict what calls with those settings are like?
`make predictions`.

Calls are held and journaled, each is run again with a setting changed, and the same callers then
call a gateway that has that setting: both are put beside each other on the part that was judged.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from bench.calls.speech import SPEECH, recordings
from bench.replays.fleet import Delays, hold, settings_in
from gateway.caller.plan import CallPlan, CutIn, Say
from gateway.caller.sound import Recording
from gateway.replay.file import CallJournal, read
from gateway.replay.whatif.asked import Resources, outcomes
from gateway.replay.whatif.changes import parse
from gateway.replay.whatif.run import Outcome
from gateway.replay.whatif.story import Past, Turn
from gateway.replay.whatif.verdict import judged_now, total
from inference.runtime import Runtime
from turn.semantic import TurnAssessor

KINDS = ("complete", "short_turn", "midpause", "incomplete")

SETTINGS = ("turn.profile=patient", "turn.profile=quick", "turn.silence=0.6")

WITHIN = 0.10
"""Share of the fresh figure by which a prediction may miss it."""


@dataclass(frozen=True, slots=True)
class Side:
    """The judged turns of all calls, as predicted or as they came."""

    turns: tuple[Turn, ...]

    @property
    def cut_short(self) -> int:
        """Count those that were."""
        return sum(each.cut_short for each in self.turns)

    @property
    def median(self) -> float:
        """Return the median response of the others."""
        found = sorted(t.response for t in self.turns if t.response is not None and not t.cut_short)
        return found[len(found) // 2] if found else 0.0


def main() -> int:
    """Return 1 where a prediction misses."""
    parser = argparse.ArgumentParser(prog="bench.replays.predict")
    parser.add_argument("calls", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--again", action="store_true", help="hold the new calls twice: how much do they differ?"
    )
    parser.add_argument("--set", action="append", dest="settings", metavar="NAME=VALUE")
    args = parser.parse_args()
    quiet = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=quiet)  # what calls say of themselves is not asked for here
    chance = random.Random(args.seed)
    sounds = recordings(SPEECH, KINDS)
    plans = [plan(sounds, chance) for _ in range(args.calls)]
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        held = _held(plans, Path(folder) / "recorded", args.seed, "")
        for setting in args.settings or SETTINGS:
            predicted = _predicted(held, setting)
            fresh = [
                _held(plans, Path(folder) / f"{setting}-{seed}", seed, setting)
                for seed in range(args.seed + 1, args.seed + (3 if args.again else 2))
            ]
            missed |= not _compare(setting, predicted, fresh)
    return int(missed)


def plan(sounds: Sequence[Recording], chance: random.Random) -> CallPlan:
    """Draw a caller: what they say has pauses, and now and then they cut in."""
    steps: list[Say | CutIn] = []
    for _ in range(chance.randint(2, 4)):
        steps.append(Say(chance.choice(sounds)))
        if chance.random() < 0.2:
            steps.append(CutIn(chance.choice(sounds), chance.uniform(0.7, 1.5)))
    return CallPlan(tuple(steps))


def _held(plans: Sequence[CallPlan], folder: Path, seed: int, setting: str) -> list[CallJournal]:
    begun = time.process_time()
    changes = [parse(setting)] if setting else []
    folder.mkdir()
    reports = hold(plans, settings_in(folder), Delays(seed=seed), changes)
    print(
        f"{len(reports)} calls held with {setting or 'the shipped settings'}"
        f" ({time.process_time() - begun:.0f} s of a core)",
        file=sys.stderr,
        flush=True,
    )
    return [read(folder / f"{report.call_id}.journal") for report in reports]


def _predicted(held: Sequence[CallJournal], setting: str) -> list[Outcome]:
    runtime = Runtime()
    assessor = TurnAssessor(runtime)
    resources = Resources(lambda rate: partial(assessor.open, rate), lambda: runtime.workers.busy)
    try:
        return list(outcomes(held, [parse(setting)], resources, _refused))
    finally:
        runtime.close()


def _refused(journal: CallJournal, why: str) -> None:
    raise AssertionError(f"{journal.path}: {why}")


def _compare(
    setting: str, predicted: Sequence[Outcome], fresh: Sequence[Sequence[CallJournal]]
) -> bool:
    """Print all on the judged part; say whether the first of the new ones is as predicted."""
    one = Side(tuple(turn for each in predicted for turn in judged_now(each)))
    came = [_came(predicted, each) for each in fresh]
    found = total(predicted)
    told = [
        f"cut short {found.then.cut_short} then, predicted {one.cut_short}, came"
        f" {' and '.join(str(each.cut_short) for each in came)}",
        f"median response {found.then.median or 0:.3f} s then, predicted {one.median:.3f} s, came"
        f" {' and '.join(f'{each.median:.3f} s' for each in came)}",
    ]
    agree = (
        abs(one.cut_short - came[0].cut_short) <= WITHIN * came[0].cut_short,
        abs(one.median - came[0].median) <= WITHIN * came[0].median,
    )
    print(
        f"{setting}: {len(one.turns)} turns judged ({found.then.turns} of {found.held} recorded,"
        f" {found.diverged} of {found.calls} calls diverged)"
    )
    for fits, figure in zip(agree, told, strict=True):
        print(f"  {'✓' if fits else '✗'} {figure}", flush=True)
    return all(agree)


def _came(predicted: Sequence[Outcome], fresh: Sequence[CallJournal]) -> Side:
    """Return what came in place of the turns that were judged."""
    turns: list[Turn] = []
    for outcome, journal in zip(predicted, fresh, strict=True):
        answered = [t for t in Past.of(journal).story.turns if t.heard is not None]
        turns += answered[: len(list(judged_now(outcome)))]
    return Side(tuple(turns))


if __name__ == "__main__":
    sys.exit(main())
