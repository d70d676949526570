"""Keeps the values of the metrics as plain numbers, and writes them as Prometheus reads them.

What does not change in a line is kept ready, so that a thousand lines are written in a millisecond.
One lock: lines are counted on the log's thread and written on another, never on the loop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock

from gateway.metrics.families import Family

MOST = 200
"""Label sets a family may have: what is more is one `other`, whatever callers and models invent."""

OTHER = "other"

Labels = tuple[str, ...]


class Series:
    """The values of one family."""

    def __init__(self, family: Family, most: int = MOST) -> None:
        self._family = family
        self._most = most
        self._lines: dict[Labels, str] = {}
        "what stands before the value"
        self._values: dict[Labels, float] = {}

    def add(self, labels: Labels, amount: float = 1.0) -> None:
        """Add to a counter."""
        labels = self._known(labels)
        self._values[labels] += amount

    def set(self, labels: Labels, value: float) -> None:
        """Say what a gauge, or a counter that somebody else keeps, stands at."""
        labels = self._known(labels)
        self._values[labels] = value

    def lines(self) -> Iterator[str]:
        """Write every value."""
        for labels, before in self._lines.items():
            yield f"{before}{number(self._values[labels])}\n"

    def _known(self, labels: Labels) -> Labels:
        if labels not in self._values:
            labels = bounded(self._family, labels, len(self._values) >= self._most)
            self._values.setdefault(labels, 0.0)
            pairs = zip(self._family.labels, labels, strict=True)
            self._lines[labels] = f"{self._family.name}{braces(pairs)} "
        return labels


class _Spread:
    """One histogram: how many values fell where."""

    __slots__ = ("counts", "lines", "total")

    def __init__(self, family: Family, labels: Labels) -> None:
        self.counts = [0] * (len(family.buckets) + 1)
        self.total = 0.0
        pairs = tuple(zip(family.labels, labels, strict=True))
        bounds = [*map(number, family.buckets), "+Inf"]
        self.lines = [
            *(f"{family.name}_bucket{braces((*pairs, ('le', each)))} " for each in bounds),
            f"{family.name}_sum{braces(pairs)} ",
            f"{family.name}_count{braces(pairs)} ",
        ]


class Histogram:
    """The values of one family of histograms, with classic buckets."""

    def __init__(self, family: Family, most: int = MOST) -> None:
        self._family = family
        self._most = most
        self._spreads: dict[Labels, _Spread] = {}

    def observe(self, labels: Labels, value: float) -> None:
        """Take one value."""
        spread = self._spreads.get(labels)
        if spread is None:
            labels = bounded(self._family, labels, len(self._spreads) >= self._most)
            spread = self._spreads.setdefault(labels, _Spread(self._family, labels))
        spread.counts[bisect_left(self._family.buckets, value)] += 1
        spread.total += value

    def lines(self) -> Iterator[str]:
        """Write every bucket, sum and count."""
        for spread in self._spreads.values():
            below = 0
            for before, count in zip(spread.lines, spread.counts, strict=False):
                below += count
                yield f"{before}{below}\n"
            yield f"{spread.lines[-2]}{number(spread.total)}\n"
            yield f"{spread.lines[-1]}{below}\n"


class Registry:
    """All series of a process; a family without values is written with its head alone."""

    def __init__(self, families: Iterable[Family]) -> None:
        self.lock = Lock()
        self._heads: dict[str, str] = {}
        self._series: dict[str, Series] = {}
        self._histograms: dict[str, Histogram] = {}
        for each in families:
            self._heads[each.name] = (
                f"# HELP {each.name} {_escaped(each.said)}\n# TYPE {each.name} {each.kind}\n"
            )
            if each.kind == "histogram":
                self._histograms[each.name] = Histogram(each)
            else:
                self._series[each.name] = Series(each)
                if not each.labels and each.kind == "counter":
                    self._series[each.name].set((), 0.0)  # so that a first increase is seen as one

    def series(self, family: Family) -> Series:
        """Return the values of a counter or gauge."""
        return self._series[family.name]

    def histogram(self, family: Family) -> Histogram:
        """Return the values of a histogram."""
        return self._histograms[family.name]

    def render(self, gauges: Mapping[Family, Mapping[Labels, float]]) -> str:
        """Write everything, with what was looked at just now in the place of what was before."""
        fresh: dict[str, Series] = {}
        for family, values in gauges.items():
            series = fresh[family.name] = Series(family)
            for labels, value in values.items():
                series.set(labels, value)
        parts: list[str] = []
        with self.lock:
            for name, head in self._heads.items():
                parts.append(head)
                own = self._histograms.get(name) or fresh.get(name) or self._series[name]
                parts += own.lines()
        return "".join(parts)


def bounded(family: Family, labels: Labels, full: bool) -> Labels:
    """Return the labels as they may be kept: past the bound, open ones are all the same."""
    if not full:
        return labels
    pairs = zip(family.labels, labels, strict=True)
    return tuple(OTHER if name in family.open else value for name, value in pairs)


def braces(pairs: Iterable[tuple[str, str]]) -> str:
    """Write labels (Prometheus text format 0.0.4)."""
    inner = ",".join(f'{name}="{_quoted(value)}"' for name, value in pairs)
    return f"{{{inner}}}" if inner else ""


def number(value: float) -> str:
    """Write a value: whole ones without a point."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")
