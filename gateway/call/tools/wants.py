"""What the tool desk wants done, and what it tells the model where no tool answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.call.tools.proposals import Verdict
from gateway.events import CancelTool, Entry, Json, Outcome, RunTool

BURST = 0.02
"""Seconds that a model's requests of one round lie apart at most: they come from one message, so
that they are in the inbox together. The model is not asked to go on before."""


@dataclass(frozen=True, slots=True)
class DeskRules:
    """Limits of one call's tools."""

    call_id: str
    language: str = "en"
    "whose words for yes hold"
    again: str = "Please say yes or no."
    "what is said before a read-back whose answer was in doubt"
    rounds: int = 5
    "how often in one reply the model may ask for tools; a model that asks for more is in a loop"
    asks: int = 8
    "how many tools in one round"
    fillers: tuple[float, ...] = (1.0, 1.4, 1.8)
    """seconds of silence before the first, second and every later filler: people notice silence
    from about a second, and two must not pass without a word"""


@dataclass(frozen=True, slots=True)
class Perform:
    """Do a built-in that acts on the call itself; answer with `ToolAnswered` as for any other."""

    run: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Remember:
    """Append this to the history, now."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Answer:
    """Give the model its answer."""

    reply: int
    ask: str
    "the model's own id of the request"
    run: str
    "ours, in this call"
    name: str
    result: Json
    outcome: Outcome | Literal["proposed"]
    proceed: bool
    "everything this reply asked for is answered: let the model go on"
    draft: bool = False
    "the reply is a draft: the history to go on with is the draft's, plus `entries(reply)`"
    seconds: float = 0.0
    ends: bool = False
    "everything is answered, and the model says nothing more in this reply"


@dataclass(frozen=True, slots=True)
class SayProposal:
    """Read a proposal back to the caller."""

    run: str
    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a proposal; `again`: it is read back once more."""

    run: str
    name: str
    verdict: Verdict
    arguments: Json


@dataclass(frozen=True, slots=True)
class TellModel:
    """What came of a write after its answer was due; the history says it too."""

    text: str


@dataclass(frozen=True, slots=True)
class GoOn:
    """Something came of a write of which the caller does not know: let the model tell them.

    `timeout`: it goes on, and another one of these follows.
    """

    run: str
    name: str
    outcome: Outcome
    result: Json
    seconds: float


@dataclass(frozen=True, slots=True)
class SayFiller:
    """Nothing was heard for a while because a tool runs: say a line."""

    text: str
    "empty: the agent's own filler"


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The model goes on asking for tools and says nothing: this reply needs an apology."""


DeskEffect = (
    RunTool
    | CancelTool
    | Perform
    | Remember
    | Answer
    | SayProposal
    | Judged
    | TellModel
    | GoOn
    | SayFiller
    | GiveUp
)
Effects = list[DeskEffect]


def proposed(text: str) -> Json:
    """Tell the model that the caller is being asked."""
    return {
        "status": "asked",
        "question": text,
        "message": "Nothing is done yet. The caller is now asked exactly this question; do not ask "
        "it yourself and do not say that it is done. After a clear yes it is done by itself and "
        "you are told what came of it. If you are not told, nothing was done: ask for this tool "
        "again if it is still wanted.",
    }


NO_SUCH_TOOL: Json = {"error": "no_such_tool", "message": "There is no tool of this name."}
TOO_MANY: Json = {
    "error": "too_many",
    "message": "Too many tools in one reply. Answer the caller now.",
}
CANCELLED: Json = {
    "error": "cancelled",
    "message": "This was stopped before it was known; nothing was done.",
}
DECLINED: Json = {"error": "declined", "message": "The caller said no. Nothing was done."}
NOT_YET: Json = {
    "error": "not_yet",
    "message": "Nothing was done: the caller is first asked about what you asked for before. Ask "
    "for this again once you know their answer.",
}
TIMED_OUT: Json = {"error": "timeout", "message": "This took too long and was stopped."}
UNCERTAIN: Json = {
    "error": "uncertain",
    "message": "It is not known whether this was done. Say so; do not try it again by yourself.",
}
STILL_RUNNING: Json = {
    "status": "running",
    "message": "This is not finished yet; do not ask for it again. A note says what came of it.",
}
