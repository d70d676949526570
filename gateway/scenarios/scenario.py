"""What a scenario is: a call, what the caller does in it, and what is expected of the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

KINDS = (
    "text_mismatch",
    "missing_function_call",
    "function_args_mismatch",
    "unexpected_event",
    "bot_ended",
    "not_ended",
    "said_twice",
    "done_twice",
    "state_mismatch",
    "timeout",
    "unanswered",
    "not_stopped",
    "stopped_for_sound",
    "cut_off",
    "judge_no",
    "invalid",
    "error",
)
"""Why a scenario fails; reports and scripts may rely on these words. `invalid`: the caller did not
do what the scenario says, so that nothing can be said of the agent."""


COUNTED = ("turns", "words", "function_calls")
"""Metrics that need no judge: of the caller, of the agent, of the agent's tools."""

PAUSE = "..."
"""In what a caller says: half a second of silence."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A tool that is to be used."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    "those that matter, each with its exact value"
    outcome: Literal["done", "failed", "timeout", "refused", "uncertain"] = "done"


@dataclass(frozen=True, slots=True)
class Expect:
    """What must follow a turn, or with `absent` must not."""

    event: Literal["response", "function_call"]
    text_contains: tuple[str, ...] = ()
    "in this order, in whatever case"
    text_excludes: tuple[str, ...] = ()
    calls: tuple[FunctionCall, ...] = ()
    "in this order; others may stand between"
    absent: bool = False
    "no such event: no answer, none of these calls, or no call at all"
    within_ms: Annotated[int, Meta(ge=1)] | None = None
    "with sound: how long after the caller's last word the response is heard at the latest"

    def __post_init__(self) -> None:
        if self.event == "response" and self.calls:
            raise ValueError("calls are expected of a function_call")
        if self.event == "function_call" and (self.text_contains or self.text_excludes):
            raise ValueError("text is expected of a response")
        if self.within_ms is not None and (self.event != "response" or self.absent):
            raise ValueError("within_ms is expected of a response that comes")
        if self.event == "function_call" and not self.calls and not self.absent:
            raise ValueError("calls is missing")


@dataclass(frozen=True, slots=True)
class Sound:
    """What the caller does over the agent's answer, without wanting the floor; only with sound."""

    kind: Literal["backchannel", "cough", "aside", "talker"]
    """`aside`: the caller says something to somebody else, away from the telephone; `talker`:
    somebody else in the room speaks"""
    at_ms: Annotated[int, Meta(ge=0)]
    "after the answer was first heard"
    text: str = ""
    "of all but a cough; empty: `mhm`, or a sentence that is for somebody else"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the caller says or presses, and what is expected then."""

    user: str = ""
    """`...` is a pause of half a second, as in spelling, in hesitation, and before a change of
    mind"""
    dtmf: Annotated[str, Meta(pattern="^[0-9*#A-D]+$")] = ""
    "keys that are pressed instead"
    late_ms: Annotated[int, Meta(ge=0)] = 0
    "with sound: so much later than a caller usually answers"
    hangs_up_ms: Annotated[int, Meta(ge=0)] | None = None
    "with sound, on the last turn: the caller hangs up so long after the answer was first heard"
    heard: Annotated[int, Meta(ge=0)] | None = None
    "how many words of the agent's last answer were heard before the caller cut in; all, left out"
    again: bool = False
    "the caller asks to hear it again: it may be said twice"
    expect: tuple[Expect, ...] = ()
    broken: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    "from here on: what tools answer in place of their own"
    sounds: tuple[Sound, ...] = ()
    "over the answer to this turn"
    line: int = 0
    "in the file"

    def __post_init__(self) -> None:
        if bool(self.user) == bool(self.dtmf):
            raise ValueError("one of user and dtmf is needed")

    @property
    def words(self) -> str:
        """What is said, without its pauses; keys as the model is told of them."""
        said = " ".join(each for each in self.user.split() if each != PAUSE)
        return said or f"(pressed {self.dtmf})"


@dataclass(frozen=True, slots=True)
class Loss:
    """Frames of the caller's that are lost in bursts, by Gilbert's and Elliott's model."""

    share: Annotated[float, Meta(gt=0, lt=0.5)] = 0.02
    "of all frames"
    burst_ms: Annotated[int, Meta(ge=20, le=2000)] = 100
    "the mean of a burst"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a table of the agent's store must hold at the end."""

    table: Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
    rows: tuple[Mapping[str, Any], ...] = ()
    "exactly so many, each with these columns"


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured of a call with a persona: judged of each answer, or counted."""

    name: str
    "`turns`, `words` and `function_calls` are counted"
    criterion: str = ""
    "a question about an answer of the agent's, for the judge"
    min_score: Annotated[float, Meta(ge=0, le=1)] | None = None
    "the least share of answers that get a yes"
    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        if (self.name in COUNTED) == bool(self.criterion):
            raise ValueError(f"a criterion is for what is not {', '.join(COUNTED)}")
        if bool(self.criterion) != (self.min_score is not None):
            raise ValueError("a criterion has a min_score, and what is counted min and max")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One call."""

    name: Annotated[str, Meta(min_length=1)]
    turns: tuple[Turn, ...] = ()
    persona: str = ""
    "who a model plays as caller, in place of turns"
    goal: str = ""
    "what the persona wants"
    success: str = ""
    "what the judge is asked of the whole call"
    metrics: tuple[Metric, ...] = ()
    max_turns: Annotated[int, Meta(ge=1, le=100)] = 20
    "of the persona"
    caller: str = ""
    "the caller's number"
    variables: Mapping[str, str] = field(default_factory=dict)
    began: datetime | None = None
    "when the call is answered, in the agent's time zone"
    store: tuple[Rows, ...] = ()
    ended: bool | None = None
    "whether the agent hung up; left out: it does not matter"
    runs: Annotated[int, Meta(ge=1, le=100)] = 1
    "every one of which must pass"
    sound: bool = True
    "false: it is about words alone, and not held with sound"
    loss: Loss | None = None
    "with sound"
    seed: int = 1
    "of what is drawn for it"
    line: int = 0

    def __post_init__(self) -> None:
        if any(turn.hangs_up_ms is not None for turn in self.turns[:-1]):
            raise ValueError("turns: hangs_up_ms is for the last one")
        if bool(self.turns) == bool(self.persona):
            raise ValueError("one of turns and persona is needed")
        if bool(self.persona) != bool(self.goal) or bool(self.persona) != bool(self.success):
            raise ValueError("persona, goal and success belong together")
        if self.metrics and not self.persona:
            raise ValueError("metrics are of a call with a persona")


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """The scenarios of one agent."""

    path: Path
    agent: str
    scenarios: tuple[Scenario, ...]
    caller_model: Mapping[str, Any] = field(default_factory=dict)
    "who plays personas: as `backend.model` in an agent's file"
    judge_model: Mapping[str, Any] = field(default_factory=dict)
    "who judges; left out: the caller's"
    judge_prompt: str = ""
    "what the judge is told, with `{question}` and `{call}` in it; left out: our own"
