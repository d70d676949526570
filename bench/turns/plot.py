"""The picture: delay against cut-ins, one curve a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # writes files; there is no screen

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

COLOURS = {
    "silence": "#8a8f98",
    "semantic": "#d98a29",
    "semantic + words": "#2468b4",
    "drafts": "#7b5ea7",
}
LABELS = {
    "silence": "plain silence timer",
    "semantic": "voice activity + semantic model",
    "semantic + words": "voice activity + semantic model + words",
    "drafts": "the same, to the start of the draft that is used",
}
MARKS = {
    "semantic": ("semantic", "default"),
    "semantic + words": ("semantic + words", "default"),
    "silence 1 s": ("silence", "1.0 s"),
    "silence 1.6 s": ("silence", "1.6 s"),
    "... + drafts, work begun": ("drafts", ""),
}
"""Settings that are pointed out: by method, on which curve, and in which words."""


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of a method."""

    delay: float
    "seconds"
    cut: float
    "share"


Sides = tuple[Point, Point, Point]
"""One setting by its median, its mean and its 95th percentile."""


def draw(
    path: Path,
    curves: Mapping[str, Sequence[Sides]],
    chosen: Mapping[str, Sides],
    goals: tuple[Point | None, Point | None, Point | None],
) -> None:
    """Draw each method's settings and its best ones."""
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(1, 3, figsize=(14, 4.8), sharey=True, layout="constrained")
    titles = ("median", "mean", "95th percentile")
    for side, (axes, title) in enumerate(zip(panels, titles, strict=True)):
        _goal(axes, goals[side])
        for method, points in curves.items():
            _curve(axes, method, [each[side] for each in points])
        for method, (curve, words) in MARKS.items():
            if method in chosen:
                _mark(axes, COLOURS[curve], chosen[method][side], words)
        axes.set_xlabel(f"delay after the true end, {title} (s)")
        axes.set_xlim(0, 2.6)
        axes.set_ylim(0, 0.6)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.grid(alpha=0.25, linewidth=0.6)
    panels[0].set_ylabel("turns cut short")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    figure.suptitle("How soon a turn is ended, and how often too soon", fontweight="bold")
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def frontier(points: Sequence[Point]) -> list[Point]:
    """Choose the settings that no other setting beats in both."""
    best: list[Point] = []
    for each in sorted(points, key=lambda point: (point.delay, point.cut)):
        if not best or each.cut < best[-1].cut:
            best.append(each)
    return best


def _goal(axes: Axes, goal: Point | None) -> None:
    if goal is None:
        return
    axes.fill_between([0, goal.delay], 0, goal.cut, color="#58a55c", alpha=0.18, linewidth=0)
    axes.annotate("goal", (0.04, goal.cut), color="#3c7d40", fontsize=9, va="bottom", ha="left")


def _curve(axes: Axes, method: str, points: Sequence[Point]) -> None:
    colour = COLOURS[method]
    if method in ("semantic", "semantic + words"):
        axes.scatter(
            [each.delay for each in points],
            [each.cut for each in points],
            s=7,
            color=colour,
            alpha=0.25,
            linewidths=0,
        )
    best = frontier(points)
    plain = method == "silence"
    axes.plot(
        [each.delay for each in best],
        [each.cut for each in best],
        color=colour,
        linewidth=1.4 if method == "drafts" else 2,
        linestyle="--" if method == "drafts" else "-",
        drawstyle="default" if plain else "steps-post",
        label=LABELS[method],
    )


def _mark(axes: Axes, colour: str, point: Point, words: str) -> None:
    axes.plot(point.delay, point.cut, "o", color=colour, markersize=8, markeredgecolor="white")
    axes.annotate(
        words,
        (point.delay, point.cut),
        xytext=(8, 6),
        textcoords="offset points",
        color=colour,
        fontsize=9,
    )
