"""The picture of a swept setting: delay against turns cut short, the setting of then marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.replay.whatif.verdict import Figures, Sum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, TODAY = "#2468b4", "#d98a29"


class PlotError(ValueError):
    """A picture cannot be drawn; its text is for the operator."""


def draw(
    path: Path, name: str, rows: Sequence[tuple[str, Sum]], today: str, recorded: Figures
) -> None:
    """Draw a sweep; where no value is the one of then, what was `recorded` has a mark of its own.

    Raises PlotError.
    """
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise PlotError("--plot needs matplotlib: pip install 'parley[plot]'") from None
    mpl.use("Agg")  # writes files; there is no screen
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    known = [(value, found) for value, found in rows if found.now.median is not None]
    if not known:
        raise PlotError("there is nothing to draw: no turn could be judged")
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    delays = [found.now.median or 0.0 for _, found in known]
    shares = [found.now.share for _, found in known]
    axes.plot(delays, shares, "-o", color=LINE, markersize=6, linewidth=1.4, zorder=2)
    for (value, found), delay, share in zip(known, delays, shares, strict=True):
        was = value == today
        if was:
            axes.plot([delay], [share], "o", color=TODAY, markersize=12, zorder=3)
        text = f"{value}, as recorded" if was else value
        axes.annotate(
            f"{text}\n{found.now.cut_short} of {found.now.turns}",
            (delay, share),
            xytext=(8, 8),
            textcoords="offset points",
            fontsize=8.5,
            fontweight="bold" if was else "normal",
            color=TODAY if was else "#333333",
        )
    if today not in [value for value, _ in known] and _mark(axes, recorded):
        delays.append(recorded.median or 0.0)
        shares.append(recorded.share)
    axes.set_xlabel("median response, seconds")
    axes.set_ylabel("turns cut short")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylim(-0.1 * max(0.04, max(shares)), max(0.05, 1.25 * max(shares)))
    span = max(0.1, max(delays) - min(delays))
    axes.set_xlim(max(0.0, min(delays) - 0.12 * span), max(delays) + 0.28 * span)
    axes.grid(visible=True, alpha=0.25)
    total = known[0][1]
    axes.set_title(
        f"{name}, {total.calls} recorded calls, judged as far as they can answer", fontsize=10
    )
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise PlotError(f"{path}: {error}") from None
    finally:
        plt.close(figure)


def _mark(axes: Axes, recorded: Figures) -> bool:
    """Mark what the recordings were like; say whether there is anything to mark."""
    if recorded.median is None:
        return False
    point = recorded.median, recorded.share
    axes.plot(*point, "D", color=TODAY, markersize=9, zorder=3)
    axes.annotate(
        f"as recorded\n{recorded.cut_short} of {recorded.turns}",
        point,
        xytext=(9, -20),
        textcoords="offset points",
        fontsize=8.5,
        fontweight="bold",
        color=TODAY,
    )
    return True
