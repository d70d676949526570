"""Draws the curve as an SVG: shares of turns against the calls that are offered at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from gateway.goodput.curve import TARGET, Point, capacity

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 736, 72, 360
COLOURS = ("#2468b4", "#d98a29", "#58a55c", "#7b5ea7", "#b8383d")
GREY = "#8a8f98"


def draw(title: str, curves: Mapping[str, Sequence[Point]], target: float = TARGET) -> str:
    """Draw each server's good turns; a hollow dot is a rate that was invalid."""
    points = [each for curve in curves.values() for each in curve]
    right = _round_up(max((each.offered for each in points), default=1.0))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 28, title, size=16, weight="bold"),
        *_axes(right, target),
    ]
    place = float(LEFT)
    for (name, curve), colour in zip(curves.items(), COLOURS * len(curves), strict=False):
        parts += _curve(sorted(curve, key=lambda each: each.offered), right, colour, target)
        parts += [
            f'<circle cx="{place + 5:.1f}" cy="48" r="5" fill="{colour}"/>',
            _text(place + 15, 52, name),
        ]
        place += 30 + 6.6 * len(name)
    return "\n".join([*parts, "</svg>\n"])


def _axes(right: float, target: float) -> list[str]:
    parts = []
    for step in range(6):
        share = step / 5
        y = _y(share)
        parts.append(_line(LEFT, y, RIGHT, y, "#e4e6ea"))
        parts.append(_text(LEFT - 8, y + 4, f"{share:.0%}", anchor="end", fill=GREY))
        x = _x(right * step / 5, right)
        parts.append(_text(x, BOTTOM + 18, f"{right * step / 5:g}", anchor="middle", fill=GREY))
    parts.append(_line(LEFT, BOTTOM, RIGHT, BOTTOM, GREY))
    parts.append(_line(LEFT, _y(target), RIGHT, _y(target), "#3c7d40", dash="5 4"))
    parts.append(_text(RIGHT, _y(target) - 6, f"{target:.0%} good", anchor="end", fill="#3c7d40"))
    middle = (LEFT + RIGHT) / 2
    parts.append(
        _text(middle, BOTTOM + 40, "calls offered at once (rate x mean length)", anchor="middle")
    )
    parts.append(_text(LEFT - 8, TOP - 6, "turns", anchor="end", fill=GREY))
    return parts


def _curve(curve: Sequence[Point], right: float, colour: str, target: float) -> list[str]:
    at = [(_x(each.offered, right), _y(each.good or 0.0)) for each in curve]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
    for (x, y), each in zip(at, curve, strict=True):
        fill = colour if each.valid else "#ffffff"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{colour}" '
            f'stroke-width="1.5"><title>{escape(_said(each))}</title></circle>'
        )
        if each.refused:
            share = each.refused / max(1, each.placed)
            parts.append(_text(x, y + 18, f"{share:.0%} refused", anchor="middle", fill=GREY))
    best = capacity(curve, target)
    if best is not None:
        x = _x(best.offered, right)
        parts.append(_line(x, BOTTOM, x, _y(best.good or 0.0), colour, dash="2 3"))
        parts.append(_text(x + 4, BOTTOM - 6, f"{best.offered:.3g}", fill=colour, weight="bold"))
    return parts


def _said(each: Point) -> str:
    share = "no turns" if each.good is None else f"{each.good:.1%} of {each.turns} turns good"
    invalid = "".join(f"; {problem}" for problem in each.problems)
    return f"{each.rate:g} calls/s, {each.held:.1f} at once: {share}{invalid}"


def _x(offered: float, right: float) -> float:
    return LEFT + (RIGHT - LEFT) * offered / right


def _y(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share


def _round_up(value: float) -> float:
    """Return the next number of 1, 2 or 5 and zeros, so that fifths of it are short."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(
        step * power for step in (1, 2, 2.5, 4, 5, 7.5, 10) if step * power >= value * 0.999
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}"{dashed}/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    fill: str = "#22262c",
    size: int = 12,
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" '
        f'font-size="{size}" font-weight="{weight}">{escape(text)}</text>'
    )
