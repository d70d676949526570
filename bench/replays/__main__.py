"""Holds calls of many kinds, and replays each twice, in random order: `make replays`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from bench.calls.speech import SPEECH, recordings
from bench.replays.fleet import Delays, hold, settings_in
from gateway.caller.plan import CallPlan, CutIn, Keys, Say
from gateway.caller.sound import Recording
from gateway.replay.compare import check
from gateway.replay.file import find, read

KINDS = ("complete", "short_turn")


def main() -> int:
    """Return 1 where a call came out differently."""
    parser = argparse.ArgumentParser(prog="bench.replays")
    parser.add_argument("calls", nargs="?", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    sounds = recordings(SPEECH, KINDS)
    plans = [_plan(sounds, chance) for _ in range(args.calls)]
    with tempfile.TemporaryDirectory() as folder:
        hold(plans, settings_in(Path(folder)), Delays(seed=args.seed))
        paths = find(folder, Path(folder))
        seconds, differ, begun = 0.0, 0, time.process_time()
        for _ in range(2):
            for path in chance.sample(paths, len(paths)):
                verdict = check(read(path))
                seconds += verdict.seconds
                if verdict.difference is not None:
                    differ += 1
                    print(f"✗ {path.name}: {verdict.difference}")
        taken = time.process_time() - begun
    print(
        f"{len(paths)} of {args.calls} calls journaled (seed {args.seed}); each replayed twice,"
        f" {differ} differences, {seconds / taken:.0f} times as fast as they were on one core"
    )
    return int(differ > 0 or len(paths) != args.calls)


def _plan(sounds: list[Recording], chance: random.Random) -> CallPlan:
    """Draw a caller: who speaks, cuts in, presses keys, or leaves in the middle."""
    steps: list[Say | CutIn] = []
    for _ in range(chance.randint(1, 4)):
        steps.append(Say(chance.choice(sounds)))
        if chance.random() < 0.3:
            steps.append(CutIn(chance.choice(sounds), chance.uniform(0.2, 1.5)))
    keys = [Keys("12#", chance.uniform(2.0, 15.0))] if chance.random() < 0.2 else []
    leaves = chance.uniform(4.0, 20.0) if chance.random() < 0.25 else None
    return CallPlan(tuple(steps), tuple(keys), hang_up_after=leaves)


if __name__ == "__main__":
    sys.exit(main())
