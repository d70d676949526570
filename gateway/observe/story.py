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

import msgspec
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from gateway.log_events import (
    AgentSpokeLogged,
    BackchannelLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallFailedLogged,
    CallRefusedLogged,
    CallStartedLogged,
    CallSummaryLogged,
    DeedLogged,
    DraftLogged,
    FaultLogged,
    HeldLogged,
    InputDroppedLogged,
    InterruptedLogged,
    LogEvent,
    ReleasedLogged,
    ResumedLogged,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
    TurnRejoinedLogged,
    UsageLogged,
)
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
        """Return what is to be printed for a line; often nothing."""
        call = self._calls.setdefault(line.call, _Call())
        match line.told:
            case TurnEndedLogged() as ended:
                call.why = _why(ended)
                return []
            case TurnRejoinedLogged(before=before):
                call.held.append(self._row(line, "", Text(f"went on from turn {before}", QUIET)))
                return []
            case BackchannelLogged() | ResumedLogged() as over:
                call.held.append(self._row(line, "", Text(_went_on(over), QUIET)))
                return []
            case AgentSpokeLogged() as spoke:
                begun = max(0.0, line.at - spoke.seconds)  # its line is written at its end
                rows = [self._row(line, "agent", _spoken(spoke), at=begun)]
            case InterruptedLogged() as cut_into:
                rows = [self._interrupted(line, cut_into)]
            case TurnLogged() as turn:
                return [self._row(line, "", _turn(turn, call))]
            case other:
                return self._held(call) + self._short(line, other)
        return rows + self._held(call)

    def bad(self, where: str, why: str) -> RenderableType:
        """Say that a line could not be read."""
        return Text(f"{where}: {why}; the line is skipped", "red")

    def _held(self, call: _Call) -> list[RenderableType]:
        held, call.held = call.held, []
        return held

    def _short(self, line: LogLine, told: LogEvent | None) -> list[RenderableType]:
        match told:
            case CallStartedLogged():
                return [self._begin(line, told)]
            case CallRefusedLogged() | CallFailedLogged():
                return [self._row(line, "", _missed(told), style="red")]
            case CallEndedLogged():
                self._calls.pop(line.call, None)
                return [self._end(line, told)]
            case CallerSpokeLogged(text=text):
                said = Text(printable(text)) if text else Text("(a sound without words)", QUIET)
                return [self._row(line, "caller", said)]
            case DraftLogged(outcome="dropped", why=why):
                said = Text(f"a drafted reply was thrown away: {_dropped(why)}", QUIET)
                return [self._row(line, "", said)]
            case DeedLogged(outcome="unknown", name=name):
                lost = Text(f"{printable(name)}: nobody knows what came of it", "red")
                return [self._row(line, "tool", lost)]
            case (
                CallSummaryLogged()
                | DraftLogged()
                | UsageLogged()
                | DeedLogged()
                | ToolLogged(outcome="asked")
            ):
                # A used draft is told with its turn, and a tool when it answers; the rest is for
                # bills and databases, not for the story of a call.
                return []
            case ToolLogged():
                return [self._row(line, "tool", _tool(told))]
            case FaultLogged():
                return [self._row(line, "fault", _fault(told), style="bold red")]
            case InputDroppedLogged(count=count, kind=kind):
                lost = Text(f"{count} {printable(kind)} came too fast and were not taken", QUIET)
                return [self._row(line, "caller", lost)]
            case HeldLogged(why=why):
                left = "put the call on hold" if why == "hold" else "is away: the connection broke"
                return [self._row(line, "caller", Text(left, QUIET))]
            case ReleasedLogged(seconds=seconds):
                return [self._row(line, "caller", Text(f"is back after {seconds:.1f} s", QUIET))]
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

    def _begin(self, line: LogLine, started: CallStartedLogged) -> RenderableType:
        title = Text()
        title.append(f" {_clock(line)}  ", QUIET)
        title.append(printable(started.caller) or "unknown caller", "bold")
        arrow = " ← " if started.direction == "outbound" else " → "
        title.append(arrow, QUIET).append(printable(started.agent), "bold green")
        title.append(f"  {printable(started.line)} {printable(started.codec)}", QUIET)
        title.append(f"  {printable(line.call)} ", QUIET)
        if self._tagged:
            title = Text.assemble(" ", _tag(line.call), title)
        return Group("", Rule(title, align="left", style=QUIET))

    def _end(self, line: LogLine, ended: CallEndedLogged) -> RenderableType:
        failed = ended.ended_by == "failure"
        said = Text("failed" if failed else f"ended by {ended.ended_by}")
        said.stylize("bold red" if failed else "bold")
        turns = f"{ended.turns} turn{'' if ended.turns == 1 else 's'}"
        facts = [printable(ended.reason), f"{ended.seconds:.1f} s", turns, *_pairs(ended.quality)]
        facts += [
            f"{printable(name)}: nobody knows what came of it" for name in ended.open_deeds or ()
        ]
        said.append("".join(f" · {fact}" for fact in facts if fact), QUIET)
        return Group(self._row(line, "", said), "")

    def _interrupted(self, line: LogLine, what: InterruptedLogged) -> RenderableType:
        said = cut(printable(what.text), printable(what.heard_text))
        if not what.heard and what.stop_delay is None:
            said.append("  (not heard)", QUIET)
            return self._row(line, "agent", said)
        heard = f"heard {what.heard:.2f} s of {what.queued:.2f} s (±{what.error:.2f})"
        facts = [f"cut in on · {heard}"]
        if what.stop_delay is not None:
            facts.append(f"silent {what.stop_delay:.2f} s after the caller began")
        if what.evidence:
            facts.append(f"by {printable(what.evidence)}")
        note = Text(" · ".join(facts), "yellow")
        begun = max(0.0, line.at - what.heard)
        return self._row(line, "agent", Group(said, note), at=begun)


def _turn(turn: TurnLogged, call: _Call) -> Group:
    """Draw what a turn waited for."""
    lengths: dict[str, float] = msgspec.structs.asdict(turn.stages)
    bar_line = bar(lengths)
    bar_line.append(f" {turn.response:.2f} s", "bold")
    facts = Text()
    for name, seconds in lengths.items():
        if seconds >= HALF_CELL / 2:
            said, colour = STAGES[name]
            facts.append(f"{said} {seconds * 1000:.0f}  ", Style(color=colour))
    beside, call.why = [call.why], ""
    if turn.drafted:
        beside.append(f"draft saved {turn.draft_saved or 0.0:.2f} s")
    if turn.acknowledged is not None:
        beside.append(f"filler after {turn.acknowledged:.2f} s")
    facts.append(" · ".join(each for each in beside if each), QUIET)
    return Group(bar_line, facts)


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
    """Return the character and style of two frames side by side."""
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


def _spoken(spoke: AgentSpokeLogged) -> Text:
    said = Text(printable(spoke.text) or "(sound)")
    if spoke.kind in ("filler", "line"):
        said.stylize("italic")
    return said


def _went_on(over: BackchannelLogged | ResumedLogged) -> str:
    if isinstance(over, ResumedLogged):
        said = f"{printable(over.kind)}, no claim"
    else:
        said = f"“{printable(over.text)}”" if over.text else "a murmur"
    return f"{said} · the agent went on"


def _why(ended: TurnEndedLogged) -> str:
    said = ended.why if ended.probability is None else f"{ended.why} {ended.probability:.2f}"
    if ended.keys:
        said += f" {printable(ended.keys)}"
    return f"{said}, detector late" if ended.late else said


def _dropped(why: str | None) -> str:
    return "the caller went on" if why == "resumed" else printable(why or "unknown")


def _tool(tool: ToolLogged) -> Text:
    said = Text(printable(tool.name))
    said.append(f" {tool.outcome}", "" if tool.outcome == "done" else "red")
    facts = [printable(tool.effect or "")]
    if tool.seconds is not None:
        facts.append(f"{tool.seconds:.2f} s")
    return said.append("".join(f" · {fact}" for fact in facts if fact), QUIET)


def _missed(call: CallRefusedLogged | CallFailedLogged) -> Text:
    return _refused(call) if isinstance(call, CallRefusedLogged) else _failed(call)


def _refused(call: CallRefusedLogged) -> Text:
    said = Text(f"{printable(call.line)} call refused: {printable(call.cause)}", "red")
    if call.count is not None:
        return said.append(f" · {call.count} more within a second", QUIET)
    facts = [call.caller or call.host or "", f"for {call.agent}" if call.agent else "", call.said]
    return said.append("".join(f" · {printable(fact)}" for fact in facts if fact), QUIET)


def _failed(call: CallFailedLogged) -> Text:
    said = Text(f"call to {printable(call.callee)} failed: {printable(call.outcome)}", "red")
    facts = [str(call.code or ""), call.said or "", f"of {call.agent}"]
    return said.append("".join(f" · {printable(fact)}" for fact in facts if fact), QUIET)


def _fault(fault: FaultLogged) -> Text:
    said = Text(": ".join(filter(None, (printable(fault.part), printable(fault.reason)))), "red")
    stood = "" if fault.seconds is None else f" · for {fault.seconds:.3g} s"
    return said.append(stood, QUIET)


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
    """Return the local time of day."""
    try:
        return datetime.fromisoformat(line.ts).astimezone().strftime("%H:%M:%S")
    except ValueError:
        return printable(line.ts)
