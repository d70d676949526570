"""Percentiles of a figure that can be added up: counts in buckets of equal ratio.

After DDSketch (Masson, Rim and Lee, 2019): a percentile is right within two in a hundred.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

RATIO = 1.04
"""Of a bucket's upper end to its lower: its middle is within 2 % of all that is in it."""

LEAST = 0.0005
"""Seconds: what is shorter counts as nothing, in a bucket of its own."""

NOTHING = -(10**6)

_LOG = math.log(RATIO)


def bucket(value: float) -> int:
    """Return the bucket of a figure."""
    return NOTHING if value < LEAST else math.ceil(math.log(value) / _LOG)


def middle(number: int) -> float:
    """Return the figure that a bucket stands for."""
    return 0.0 if number == NOTHING else 2.0 * RATIO**number / (1.0 + RATIO)


def percentile(counts: Mapping[int, int], share: float) -> float | None:
    """Return the figure below which a share of all lie; None where there is none."""
    total = sum(counts.values())
    if not total:
        return None
    left = share * (total - 1)
    for number in sorted(counts):
        left -= counts[number]
        if left < 0:
            return middle(number)
    return middle(max(counts))


def share_below(counts: Mapping[int, int], value: float) -> float | None:
    """Return the share of figures up to a value; None where there is none."""
    total = sum(counts.values())
    if not total:
        return None
    return sum(count for number, count in counts.items() if middle(number) <= value) / total
