"""One silence within or after a turn, and by what it is judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from turn.evidence import Weights, together
from turn.forms import Form
from turn.keys import KeySettings
from turn.words import Reading


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """What holds for all profiles."""

    keys: KeySettings = field(default_factory=KeySettings)
    weights: Weights = field(default_factory=Weights)
    worth: float = 0.3
    "seconds a second question must be able to save: it takes up to 0.1 s, and 15 ms of a core"
    words_wait: float = 0.25
    "seconds for which a decision waits for the words; 4 s of speech take 0.17 s of a core"
    form_wait: float = 0.6
    "the same while a form is dictated, of which only the words tell whether it is whole"
    least: float = 0.12
    "seconds of voice that make a turn when no word is recognised: a smack or a click has less"
    rejoins: float = 1.5
    "seconds after a turn's end within which a speaker who goes on has only paused"
    longest_speech: float = 60.0
    "seconds of sound without a pause after which a turn ends: nobody speaks so, a stuck line does"
    murmur: float = 0.8
    "silence of the caller in which a weak voice is heard that may be the rest of what they say"
    drafts: int = 3
    "drafts in one turn: a caller who goes on after three of them is telling a story"


@dataclass(slots=True)
class Pause:
    """One silence within or after a turn, and what is known about it."""

    end: int
    "last voiced sample before it"
    silent_from: int
    "where the silence is counted from"
    murmured: int = 0
    "where a voice was heard last that is not known to be the caller's"
    words_asked: int | None = None
    "position up to which the recogniser was asked"
    wordless: bool = False
    "there is no recogniser, so that nothing more is to come"
    asked: int | None = None
    "position of the detector's question, the second one if there was one"
    again: bool = False
    "the detector was asked a second time"
    waiting: bool = False
    "the detector has not answered yet"
    answers: list[float] = field(default_factory=list)
    took: tuple[float, float] = (0.0, 0.0)
    "seconds that the latest answer waited, and was worked on"
    reading: Reading | None = None
    form: Form = "none"
    "how much of a form the turn holds so far"
    drafted: bool = False

    @property
    def probability(self) -> float | None:
        """The detector's answers taken together; None: it gave none."""
        return together(self.answers) if self.answers else None
