"""Whether a run says anything about the server: what else could have been at its limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.goodput.judging import JudgedCall
from gateway.goodput.refusals import LIMITERS, Limiter

BUSY = 0.7
"""Share of a core from which a process waits for itself (queues double at 0.5, triple at 0.67)."""


@dataclass(frozen=True, slots=True)
class Loads:
    """Shares of a core that processes beside the server used while a rate was measured."""

    callers: float
    stand_ins: Mapping[str, float]
    "by what they are called"
    together: float = 0.0
    "of those that are kept to the same cores as the callers, and the callers: of these cores"
    clock: float = 0.0
    "seconds within which 99 of 100 ticks of the callers' own clock were"


def problems(
    calls: Sequence[JudgedCall],
    loads: Loads,
    under_test: Sequence[Limiter] = ("capacity",),
    late_after: float = 0.02,
) -> list[str]:
    """Say why a run is invalid; nothing: it is not."""
    found = []
    if loads.callers > BUSY:
        found.append(f"the callers' process used {loads.callers:.0%} of a core")
    if loads.clock > late_after:
        found.append(f"the callers' own clock was up to {1000 * loads.clock:.0f} ms late")
    if loads.together > BUSY >= loads.callers:
        found.append(f"callers and stand-ins used {loads.together:.0%} of the core they share")
    found += [
        f"{name} used {share:.0%} of a core"
        for name, share in loads.stand_ins.items()
        if share > BUSY
    ]
    for limiter in LIMITERS:
        refused = [c.refused.said for c in calls if c.refused and c.refused.limiter == limiter]
        if refused and limiter not in under_test:
            found.append(f"{len(refused)} calls met another limit ({limiter}): {refused[0]}")
    if not any(call.turns or call.broken for call in calls):
        found.append("no turn could be judged")
    return found
