"""Timings other than a scenario's own: drawn from a seed, written and read back as text."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal, get_args

from gateway.scenarios.scenario import Scenario

Kind = Literal["cut", "late", "backchannel", "cough"]


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that the caller does at another moment, or besides."""

    kind: Kind
    """`cut`: begin this turn so long after the agent's answer to the one before began; `late`: wait
    so much longer with it; `backchannel`, `cough`: over the answer to this turn, so long after it
    began"""
    turn: int
    "from 0"
    ms: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.turn + 1}:{self.ms}"


def parse(text: str) -> tuple[Move, ...]:
    """Read moves such as `cut:2:800,cough:1:400`; raise ValueError."""
    found = []
    for each in text.split(","):
        kind, _, rest = each.strip().partition(":")
        turn, _, ms = rest.partition(":")
        whole = turn.isdecimal() and ms.isdecimal() and int(turn) >= 1
        allowed = get_args(Kind)
        known = next((one for one in allowed if one == kind), None)
        if known is None or not whole:
            said = f"KIND:TURN:MILLISECONDS, of the kinds {', '.join(allowed)}, turns from 1 on"
            raise ValueError(f"found {each.strip()!r}, it must be {said}")
        found.append(Move(known, int(turn) - 1, int(ms)))
    return tuple(found)


def drawn(scenario: Scenario, random: random.Random) -> tuple[Move, ...]:
    """Draw one to three moves around a scenario."""
    moves: dict[tuple[str, int], Move] = {}
    for _ in range(random.randint(1, 3)):
        kind: Kind = random.choice(get_args(Kind))
        turn = random.randrange(len(scenario.turns))
        moves[kind, turn] = Move(kind, turn, random.randrange(100, 4001, 20))
    return tuple(moves.values())


def smaller(moves: tuple[Move, ...]) -> list[tuple[Move, ...]]:
    """Return what is simpler than some moves: one less, then one of them earlier."""
    fewer = [moves[:at] + moves[at + 1 :] for at in range(len(moves))] if len(moves) > 1 else []
    earlier = [
        (*moves[:at], replace(move, ms=ms), *moves[at + 1 :])
        for at, move in enumerate(moves)
        for ms in (move.ms // 2 // 20 * 20, move.ms - 100, move.ms - 20)
        if ms >= 20
    ]
    return fewer + earlier
