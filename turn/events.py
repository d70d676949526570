"""What turn-taking is told and what it says: the vocabulary of the floor.

Positions (`start`, `end`, `at`) are samples of the caller's stream at the line's own rate.
Turn-taking knows no clock but that one: silence that did not arrive is fed as silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

# --- told to turn-taking -------------------------------------------------------------------


class VoiceScored(msgspec.Struct, frozen=True, gc=False):
    """The voice activity model judged one window of the caller's sound."""

    start: int
    end: int
    probability: float
    "that the window holds speech, 0 to 1"
    level: float
    "RMS of the window in dBFS (0 = full scale square wave; silence is -96)"
    echo: float = 0.0
    "how much of the window is explained by our own outbound sound, 0 to 1"
    fault: str = ""
    "why the model did not judge it but a cheaper detector; empty: it did"


@dataclass(frozen=True, slots=True)
class TurnAssessed:
    """The semantic detector answered an `AssessTurn`."""

    at: int
    "the `at` of the question"
    probability: float | None
    "that the caller is done, 0 to 1; None: late or failed, the silence timer decides"
    queue_seconds: float = 0.0
    "from the question to the start of its batch"
    model_seconds: float = 0.0
    "that the batch took"
    fault: str = ""
    "why the model could not answer; empty: it did, or it was late"


@dataclass(frozen=True, slots=True)
class WordsArrived:
    """The recogniser's words for the caller's current speech, so far."""

    text: str | None
    "empty: it heard no words; None: there is no recogniser, or it did not answer"
    end: int
    "how much sound the words cover"


@dataclass(frozen=True, slots=True)
class AgentBegan:
    """The caller begins to hear an utterance of the agent."""

    at: int
    policy: Literal["interruptible", "uninterruptible"] = "interruptible"


@dataclass(frozen=True, slots=True)
class AgentAsks:
    """The caller has heard a question of this utterance, or it has gone on to something else."""

    at: int
    asks: bool
    "a yes that begins from `at` on is an answer and no back-channel"
    text: str = ""
    "the words of the question, which may name what is asked for"


@dataclass(frozen=True, slots=True)
class AgentSilent:
    """The caller has heard the last of the agent's sound; the floor is open."""

    at: int


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """The caller pressed a key: `0` to `9`, `*`, `#`, `A` to `D`."""

    at: int
    key: str


@dataclass(frozen=True, slots=True)
class ProfileChosen:
    """From now on these patience settings hold: `quick`, `default`, `patient`, `digits`."""

    name: str


@dataclass(frozen=True, slots=True)
class SpeechMoment:
    """What the agent was just doing, evidence for how the caller's words are meant."""

    expects: str = ""
    """what was asked for: `yes_no`, `name`, `digits`, `phone`, `spelling`, `date`, `birth_date`,
    `address`, `email`, `open`, or empty"""


@dataclass(frozen=True, slots=True)
class FloorKept:
    """A deed of the agent's has begun, or is done: while it is on its way nothing is drafted and
    nothing is interrupted."""

    kept: bool


TurnInput = (
    VoiceScored
    | TurnAssessed
    | WordsArrived
    | AgentBegan
    | AgentAsks
    | FloorKept
    | AgentSilent
    | KeyPressed
    | ProfileChosen
    | SpeechMoment
)

# --- said by turn-taking -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller began to speak (or to make a sound that passes the gate)."""

    at: int
    "when that was decided"
    start: int
    "first voiced sample"


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The caller has paused."""

    at: int
    end: int
    "last voiced sample, as far as the gate can tell"


@dataclass(frozen=True, slots=True)
class AssessTurn:
    """Ask the semantic detector about the sound that ends at `at`."""

    at: int
    start: int
    "where the turn began"
    due: int
    "position at which an answer is of no use any more"


@dataclass(frozen=True, slots=True)
class AskWords:
    """Ask the recogniser for the words in [start, end): those of the turn so far."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TurnDrafted:
    """The caller is probably done: work that can be thrown away may start."""

    at: int
    start: int
    end: int
    probability: float | None


@dataclass(frozen=True, slots=True)
class TurnResumed:
    """The caller went on after all: drafts of this turn are void."""

    at: int


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The caller is done; the agent has the floor."""

    at: int
    "when that was decided"
    start: int
    "first voiced sample of the turn"
    end: int
    "last voiced sample of the turn"
    why: Literal["semantic", "silence", "words", "keys"]
    probability: float | None = None
    keys: str = ""
    "the keys pressed, when keys are (part of) the turn"
    late: bool = False
    "the detector's answer was wanted and did not come in time"
    queue_seconds: float = 0.0
    "how long the detector's last question waited for its batch"
    model_seconds: float = 0.0
    "how long the detector took for it"


@dataclass(frozen=True, slots=True)
class TurnDropped:
    """What was taken for a turn is none: a click, a smack, the noise of the line."""

    at: int


@dataclass(frozen=True, slots=True)
class OverlapBegan:
    """The caller makes a sound over the agent: lower the agent's voice and wait."""

    at: int
    start: int


@dataclass(frozen=True, slots=True)
class OverlapHeld:
    """Still undecided and long: stop sending, keep everything, so that either answer is right."""

    at: int


@dataclass(frozen=True, slots=True)
class OverlapDismissed:
    """The sound was no claim to the floor: play on, losing nothing."""

    at: int
    kind: Literal["backchannel", "noise", "echo", "wordless", "open", "kept"]
    """`open`: the agent had said everything meanwhile; what the sound was is no longer asked;
    `kept`: a deed of the agent's has begun that is not cut into"""
    text: str = ""


@dataclass(frozen=True, slots=True)
class FloorClaimed:
    """The caller takes the floor: stop, clear, learn what was heard."""

    at: int
    start: int
    evidence: str
    "what decided: `words`, `length`, `answer`, `level`, with figures, for the log"


TurnOutput = (
    SpeechStarted
    | SpeechStopped
    | AssessTurn
    | AskWords
    | TurnDrafted
    | TurnResumed
    | TurnEnded
    | TurnDropped
    | OverlapBegan
    | OverlapHeld
    | OverlapDismissed
    | FloorClaimed
)
