"""Who has the floor: the gate, the turn and the overlap put together.

`TurnTaking` is told what is in `turn.events` and says what is there; it is driven by the windows
of the caller's sound alone and has no other clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from turn.endpointing import NEVER, Endpointer
from turn.events import (
    AgentAsks,
    AgentBegan,
    AgentSilent,
    FloorClaimed,
    FloorKept,
    KeyPressed,
    OverlapDismissed,
    ProfileChosen,
    SpeechMoment,
    SpeechStarted,
    SpeechStopped,
    TurnAssessed,
    TurnInput,
    TurnOutput,
    VoiceScored,
    WordsArrived,
)
from turn.evidence import Asked
from turn.forms import asked_for, forms
from turn.gate import Gate, GateSettings
from turn.overlap import Overlap, OverlapSettings, Sound
from turn.pause import EndpointSettings
from turn.profile import DEFAULT, Profile, profile
from turn.words import Lexicon, lexicon


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How an agent takes turns."""

    profile: Profile = DEFAULT
    "patience at the start of a call"
    language: str = "en"
    "whose word lists are read; a language without lists has no evidence from words"
    gate: GateSettings = field(default_factory=GateSettings)
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    overlap: OverlapSettings = field(default_factory=OverlapSettings)


class TurnTaking:
    """Decides when the caller is done and when they take the floor; never what is done about it."""

    def __init__(self, rate: int, settings: TurnSettings | None = None) -> None:
        """`rate`: samples per second of the caller's stream, in which all positions count."""
        self._rate = rate
        self._settings = settings or TurnSettings()
        self._lists: Lexicon = lexicon(self._settings.language)
        self._gate = Gate(rate, self._settings.gate)
        self._endpoint = Endpointer(rate, self._settings.language, self._settings.endpoint)
        self._choose(self._settings.profile)
        self._now = 0
        self._agent: AgentBegan | None = None
        "what the caller hears; None: the floor is open"
        self._asked_at: int | None = None
        "from where on what the caller says answers the agent's question; None: it asks nothing"
        self._overlap: Overlap | None = None
        self._nodded = NEVER
        "where the last sound that was taken for a nod ended"
        self._echo = 0.0
        "mean echo share of the present sound"
        self._kept = False
        "a deed of the agent's is on its way, and is not cut into"

    def handle(self, event: TurnInput) -> list[TurnOutput]:
        """Take an input; give what follows, in order."""
        match event:
            case VoiceScored():
                return self._window(event)
            case TurnAssessed():
                return self._endpoint.assessed(event, self._now, self._gate.line)
            case WordsArrived():
                return self._words(event)
            case AgentBegan():
                return self._began(event)
            case AgentAsks(at=at, asks=asks, text=text):
                self._ask(at if asks else None, text)
                return []
            case AgentSilent():
                return self._fell()
            case KeyPressed():
                return self._key(event)
            case ProfileChosen(name=name):
                own = self._settings.profile
                self._choose(own if own.name == name else profile(name))
                return []
            case SpeechMoment(expects=expects):
                self._endpoint.asked = replace(
                    Asked.parse(expects),
                    question=self._endpoint.asked.question,
                    form=self._endpoint.asked.form,
                )
                return []
            case FloorKept(kept=kept):
                return self._keep(kept)
            case _:
                assert_never(event)

    @property
    def undecided(self) -> bool:
        """Whether a turn is open or a sound over the agent's voice is being judged."""
        return self._endpoint.open or self._overlap is not None

    # --- the caller's sound ------------------------------------------------------------------

    def _window(self, window: VoiceScored) -> list[TurnOutput]:
        self._now = window.end
        outputs: list[TurnOutput] = []
        taken = self._agent is not None or self._endpoint.open
        for edge in self._gate.feed(window, taken=taken):
            outputs.append(edge)
            match edge:
                case SpeechStarted():
                    self._echo = window.echo
                    outputs += self._started(edge)
                case SpeechStopped():
                    self._stopped()
                case _:
                    assert_never(edge)
        if self._gate.nobody:
            outputs += self._dismiss()
        self._echo += (window.echo - self._echo) * 0.2  # over the last five windows, 0.16 s
        if self._overlap is not None:
            outputs += self._settle(self._overlap.heard(self._sound()))
        if self._endpoint.open:
            outputs += self._endpoint.passed(self._now, self._gate.line)
        return outputs

    def _started(self, edge: SpeechStarted) -> list[TurnOutput]:
        if self._overlap is not None:
            return []  # the same sound goes on after a short pause
        if self._agent is None:
            return self._endpoint.started(edge.at, edge.start)
        if not self._interruptible:
            return []
        return self._overlap_from(edge.start)

    def _stopped(self) -> None:
        if self._overlap is None and (self._agent is None or self._endpoint.open):
            self._pause_turn()

    def _dismiss(self) -> list[TurnOutput]:
        """Take the present sound for what the line sounds like."""
        outputs: list[TurnOutput] = [self._gate.dismiss(self._now)]
        if self._overlap is not None:
            self._overlap = None
            outputs.append(OverlapDismissed(self._now, "noise"))
        return outputs + self._endpoint.drop(self._now)

    def _overlap_from(self, start: int) -> list[TurnOutput]:
        assert self._agent is not None
        self._overlap = Overlap(
            self._rate,
            self._lists,
            self._settings.overlap,
            start,
            asks=self._asked_at is not None and start >= self._asked_at,
            words=self._endpoint.profile.means == "words",
            usual=self._gate.usual,
            again=start - self._nodded <= self._settings.overlap.again * self._rate,
        )
        return self._overlap.began(self._now)

    def _settle(self, outputs: list[TurnOutput]) -> list[TurnOutput]:
        """Let a decision about the overlap take effect."""
        if not outputs or not isinstance(outputs[-1], FloorClaimed | OverlapDismissed):
            return outputs
        overlap, self._overlap = self._overlap, None
        assert overlap is not None
        decision = outputs[-1]
        if isinstance(decision, FloorClaimed):
            self._agent = None
            return outputs + self._take(overlap.start)
        if isinstance(decision, OverlapDismissed) and decision.kind == "backchannel":
            self._nodded = self._gate.end
        if self._endpoint.open and not self._gate.voiced:
            self._pause_turn()  # the agent began while the caller was speaking
        return outputs

    def _take(self, start: int) -> list[TurnOutput]:
        """Make the present sound the caller's turn."""
        outputs = self._endpoint.started(self._now, start)
        if not self._gate.voiced:
            self._pause_turn()
        return outputs

    def _pause_turn(self) -> None:
        gate = self._gate
        self._endpoint.stopped(gate.end, gate.seconds, gate.model_end)

    def _sound(self) -> Sound:
        gate = self._gate
        return Sound(self._now, gate.end, gate.voiced, gate.level, self._echo)

    # --- everything else -------------------------------------------------------------------------

    def _words(self, arrived: WordsArrived) -> list[TurnOutput]:
        outputs: list[TurnOutput] = []
        if self._overlap is not None:
            outputs += self._settle(self._overlap.words(arrived, self._sound()))
        return outputs + self._endpoint.words(arrived, self._now, self._gate.line)

    @property
    def _interruptible(self) -> bool:
        policy = self._agent is None or self._agent.policy == "interruptible"
        return policy and not self._kept

    def _began(self, began: AgentBegan) -> list[TurnOutput]:
        was, self._agent = self._agent, began
        self._ask(None)
        fresh = was is None and self._gate.voiced and self._overlap is None
        # A caller who is speaking as the agent begins is heard as cutting in from that moment.
        return self._overlap_from(self._now) if fresh and self._interruptible else []

    def _ask(self, at: int | None, text: str = "") -> None:
        self._asked_at = at
        wanted = asked_for(text, forms(self._settings.language))
        self._endpoint.asked = replace(self._endpoint.asked, question=at is not None, form=wanted)

    def _keep(self, kept: bool) -> list[TurnOutput]:
        """A deed has begun, or is done: then a caller who is still speaking is cutting in."""
        self._kept = kept
        self._endpoint.drafting = not kept
        overlap = self._overlap
        if kept and overlap is not None:
            self._overlap = None
            return [OverlapDismissed(self._now, "kept")]
        speaking = self._agent is not None and self._gate.voiced and not self._endpoint.open
        if speaking and overlap is None and self._interruptible:
            return self._overlap_from(self._now)
        return []

    def _fell(self) -> list[TurnOutput]:
        """The floor is open: a sound that goes on is a turn, decided or not."""
        was, self._agent = self._agent, None
        overlap, self._overlap = self._overlap, None
        outputs: list[TurnOutput] = []
        if overlap is not None:
            outputs.append(OverlapDismissed(self._now, "open"))
            return outputs + self._take(overlap.start)
        if was is not None and self._gate.voiced and not self._endpoint.open:
            return self._endpoint.started(self._now, self._gate.start)
        return outputs

    def _key(self, pressed: KeyPressed) -> list[TurnOutput]:
        """A key is no accident: it takes the floor at once where the agent may be interrupted."""
        outputs: list[TurnOutput] = []
        if self._agent is not None and self._interruptible:
            self._agent = self._overlap = None
            outputs.append(FloorClaimed(self._now, min(pressed.at, self._now), "key"))
        return outputs + self._endpoint.key(pressed, self._now)

    def _choose(self, chosen: Profile) -> None:
        self._endpoint.profile = chosen
