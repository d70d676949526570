"""Tells log lines as a story: who spoke, what each turn waited for, what was heard.

A turn's bar has one cell for 40 ms, half a cell for one 20 ms frame, so that bars of different
turns and calls compare at a glance.
Nothing here reads or prints; lines go in, what is to be printed comes out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from gateway.observe.lines import LogLine, printable

STAGES = {
    "end_of_turn": ("end of turn", "#6c8ebf"),
    "transcript": ("words", "#3aa6a6"),
    "first_token": ("model", "#b07cc6"),
    "first_audio": ("voice", "#5fa55a"),
    "line": ("line", "#c79a3a"),
}
"""What a person reads for a stage, and its colour: told apart on dark and on light ground."""

HALF_CELL = 0.02
"""Seconds of half a bar cell: one frame."""

BAR_CELLS = 60
"""The longest bar stands for 2.4 s; what is slower is cut and marked."""

TAGS = ("cyan", "magenta", "yellow", "blue", "green", "red")

SPEAKERS = {"caller": "bold cyan", "agent": "bold green", "tool": "bold magenta"}

QUIET = "bright_black"


@dataclass(slots=True)
class _Call:
    """What an earlier line said and a later one shows."""

    why: str = ""
    "why the turn ended, until its bar is drawn"
    held: list[RenderableType] = field(default_factory=list)
    "what happened while the agent spoke, until that speech is told with the time it began"


class Story:
    """Makes of each line what a person reads; remembers only what a later line needs."""

    def __init__(self, tagged: bool = True) -> None:
        self._tagged = tagged
        "several calls may be told at once, so that each line says whose it is"
        self._calls: dict[str, _Call] = {}

    def tell(self, line: LogLine) -> list[RenderableType]:
        """Give what is to be printed for a line; often nothing."""
        call = self._calls.setdefault(line.call, _Call())
        match line.event:
            case "turn_ended":
                call.why = _why(line)
                return []
            case "backchannel" | "resumed":
                call.held.append(self._row(line, "", Text(_went_on(line), QUIET)))
                return []
            case "agent_spoke":
                rows = [self._row(line, "agent", _spoken(line), at=_began(line))]
            case "interrupted":
                rows = [self._interrupted(line)]
            case "turn":
                return [self._row(line, "", self._turn(line, call))]
            case _:
                return self._held(call) + self._short(line)
        return rows + self._held(call)

    def bad(self, where: str, why: str) -> RenderableType:
        """Say that a line could not be read."""
        return Text(f"{where}: {why}; the line is skipped", "red")

    def _held(self, call: _Call) -> list[RenderableType]:
        held, call.held = call.held, []
        return held

    def _short(self, line: LogLine) -> list[RenderableType]:
        match line.event:
            case "call_started":
                return [self._begin(line)]
            case "call_ended":
                self._calls.pop(line.call, None)
                return [self._end(line)]
            case "caller_spoke":
                said = Text(line.text("text"))
                if not said:
                    said = Text("(a sound without words)", QUIET)
                return [self._row(line, "caller", said)]
            case "draft":
                return self._draft(line)
            case "tool" if line.text("outcome") == "asked":
                return []  # its answer tells the same, and how long it took
            case "tool":
                return [self._row(line, "tool", _tool(line))]
            case "usage":
                return []  # for bills, not for the story of a call
            case "fault":
                return [self._row(line, "fault", _fault(line), style="bold red")]
            case "input_dropped":
                count, kind = line.fields.get("count"), line.text("kind")
                lost = Text(f"{count} {kind} came too fast and were not taken", QUIET)
                return [self._row(line, "caller", lost)]
            case _:
                return [self._row(line, "", Text(_plainly(line), QUIET))]

    # --- lines ---------------------------------------------------------------------------------

    def _row(
        self,
        line: LogLine,
        who: str,
        what: Text | Group,
        at: float | None = None,
        style: str = "",
    ) -> RenderableType:
        """Lay one line out: whose, when, who, what; what is long stays in its column."""
        grid = Table.grid(padding=(0, 1))
        if self._tagged:
            grid.add_column(width=4, no_wrap=True)
        grid.add_column(width=7, justify="right", no_wrap=True)
        grid.add_column(width=6, no_wrap=True)
        grid.add_column(ratio=1)
        when = Text(f"{line.at if at is None else at:.2f}" if line.call else _clock(line), QUIET)
        cells: list[RenderableType] = [when, Text(who, style or SPEAKERS.get(who, "")), what]
        grid.add_row(*([_tag(line.call)] if self._tagged else []), *cells)
        return grid

    def _begin(self, line: LogLine) -> RenderableType:
        title = Text()
        title.append(f" {_clock(line)}  ", QUIET)
        title.append(line.text("from") or "unknown caller", "bold")
        arrow = " ← " if line.text("direction") == "outbound" else " → "
        title.append(arrow, QUIET).append(line.text("agent"), "bold green")
        title.append(f"  {line.text('line')} {line.text('codec')}", QUIET)
        title.append(f"  {printable(line.call)} ", QUIET)
        if self._tagged:
            title = Text.assemble(" ", _tag(line.call), title)
        return Group("", Rule(title, align="left", style=QUIET))

    def _end(self, line: LogLine) -> RenderableType:
        by = line.text("ended_by")
        failed = by == "failure"
        said = Text()
        said.append(f"ended by {by}" if by and not failed else "failed" if failed else "ended")
        said.stylize("bold red" if failed else "bold")
        facts = [line.text("reason")]
        if (seconds := line.number("seconds")) is not None:
            facts.append(f"{seconds:.1f} s")
        if (turns := line.number("turns")) is not None:
            facts.append(f"{turns:.0f} turn{'' if turns == 1 else 's'}")
        facts += _pairs(line.fields.get("quality"))
        said.append("".join(f" · {fact}" for fact in facts if fact), QUIET)
        return Group(self._row(line, "", said), "")

    def _interrupted(self, line: LogLine) -> RenderableType:
        heard = line.number("heard") or 0.0
        said = cut(line.text("text"), line.text("heard_text"))
        if not heard and line.number("stop_delay") is None:
            said.append("  (not heard)", QUIET)
            return self._row(line, "agent", said)
        facts = [f"cut in on · heard {heard:.2f} s"]
        if (queued := line.number("queued")) is not None:
            facts[0] += f" of {queued:.2f} s"
        if (error := line.number("error")) is not None:
            facts[0] += f" (±{error:.2f})"
        if (delay := line.number("stop_delay")) is not None:
            facts.append(f"silent {delay:.2f} s after the caller began")
        if line.text("evidence"):
            facts.append(f"by {line.text('evidence')}")
        note = Text(" · ".join(facts), "yellow")
        begun = max(0.0, line.at - heard)
        return self._row(line, "agent", Group(said, note), at=begun)

    def _turn(self, line: LogLine, call: _Call) -> Group:
        stages = line.fields.get("stages")
        stages = stages if isinstance(stages, Mapping) else {}
        lengths = {name: float(stages.get(name) or 0.0) for name in STAGES}
        response = line.number("response")
        response = sum(lengths.values()) if response is None else response
        bar_line = bar(lengths)
        bar_line.append(f" {response:.2f} s", "bold")
        facts = Text()
        for name, seconds in lengths.items():
            if seconds >= HALF_CELL / 2:
                said, colour = STAGES[name]
                facts.append(f"{said} {seconds * 1000:.0f}  ", Style(color=colour))
        beside, call.why = [call.why], ""
        if line.fields.get("drafted"):
            saved = line.number("draft_saved") or 0.0
            beside.append(f"draft saved {saved:.2f} s")
        if (acknowledged := line.number("acknowledged")) is not None:
            beside.append(f"filler after {acknowledged:.2f} s")
        facts.append(" · ".join(each for each in beside if each), QUIET)
        return Group(bar_line, facts)

    def _draft(self, line: LogLine) -> list[RenderableType]:
        if line.text("outcome") != "dropped":
            return []  # a used draft is told with its turn
        why = {"resumed": "the caller went on"}.get(line.text("why"), line.text("why"))
        return [self._row(line, "", Text(f"a drafted reply was thrown away: {why}", QUIET))]


# --- pieces ---------------------------------------------------------------------------------------


def bar(lengths: Mapping[str, float]) -> Text:
    """Draw stages end to end."""
    return strip([(seconds, STAGES[name][1]) for name, seconds in lengths.items()])


def strip(pieces: Iterable[tuple[float, str]]) -> Text:
    """Draw lengths in seconds and their colours end to end; without a colour: a gap."""
    halves: list[str] = []
    reached = 0.0
    for seconds, colour in pieces:
        reached += seconds
        # Rounded by where a piece ends, so that the whole is as long as the sum.
        halves += [colour] * (round(reached / HALF_CELL) - len(halves))
    whole = halves[: 2 * BAR_CELLS]
    drawn = Text()
    for left, right in zip(whole[::2], [*whole[1::2], ""], strict=False):
        drawn.append(*_cell(left, right))
    if len(halves) > len(whole):
        drawn.append("…", QUIET)
    return drawn


def _cell(left: str, right: str) -> tuple[str, Style]:
    """Give the character and style of two frames side by side."""
    if left == right:
        return ("█", Style(color=left)) if left else (" ", Style())
    if not left:
        return "▐", Style(color=right)
    return "▌", Style(color=left, bgcolor=right or None)


def cut(text: str, heard_text: str) -> Text:
    """Write an interrupted reply: what was heard plainly, the rest struck through."""
    count = len(heard_text.split())
    words = text.split()
    if not words:
        return Text(heard_text)
    said = Text(" ".join(words[:count]))
    rest = " ".join(words[count:])
    if rest:
        said.append(" " if count else "").append(rest, Style(color="bright_black", strike=True))
    return said


def _spoken(line: LogLine) -> Text:
    kind = line.text("kind")
    said = Text(line.text("text") or "(sound)")
    if kind in ("filler", "line"):
        said.stylize("italic")
    return said


def _began(line: LogLine) -> float:
    """When an utterance that was heard to its end began; its line is written at its end."""
    return max(0.0, line.at - (line.number("seconds") or 0.0))


def _went_on(line: LogLine) -> str:
    if line.event == "backchannel":
        said = f"“{line.text('text')}”" if line.text("text") else "a murmur"
    else:
        said = f"{line.text('kind') or 'nothing'}, no claim"
    return f"{said} · the agent went on"


def _why(line: LogLine) -> str:
    why, probability = line.text("why"), line.number("probability")
    said = f"{why} {probability:.2f}" if probability is not None else why
    if line.text("keys"):
        said += f" {line.text('keys')}"
    return f"{said}, detector late" if line.fields.get("late") else said


def _tool(line: LogLine) -> Text:
    said = Text(line.text("name"))
    outcome = line.text("outcome")
    said.append(f" {outcome}", "" if outcome in ("done", "") else "red")
    facts = [line.text("effect")]
    if (seconds := line.number("seconds")) is not None:
        facts.append(f"{seconds:.2f} s")
    facts += _pairs(line.fields.get("arguments"))
    return said.append("".join(f" · {fact}" for fact in facts if fact), QUIET)


def _fault(line: LogLine) -> Text:
    said = Text(": ".join(each for each in (line.text("part"), line.text("reason")) if each), "red")
    rest = {k: v for k, v in line.fields.items() if k not in ("part", "reason", "fatal")}
    return said.append("".join(f" · {fact}" for fact in _pairs(rest)), QUIET)


def _plainly(line: LogLine) -> str:
    return " · ".join([printable(line.event).replace("_", " "), *_pairs(line.fields)])


def _pairs(fields: object) -> list[str]:
    if not isinstance(fields, Mapping):
        return []
    return [
        f"{printable(str(name)).replace('_', ' ')} {_short(value)}"
        for name, value in fields.items()
    ]


def _short(value: object) -> str:
    match value:
        case float():
            return f"{value:.3g}"
        case Mapping():
            return "{" + ", ".join(_pairs(value)) + "}"
        case list():
            return ", ".join(map(_short, value))
        case _:
            return printable(str(value))


def _tag(call: str) -> Text:
    """Name a call by its last four characters, always in the same colour."""
    return Text(printable(call[-4:]), TAGS[zlib.crc32(call.encode()) % len(TAGS)])


def _clock(line: LogLine) -> str:
    """Give the local time of day."""
    try:
        return datetime.fromisoformat(line.ts).astimezone().strftime("%H:%M:%S")
    except ValueError:
        return printable(line.ts)
