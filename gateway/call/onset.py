"""Where in an utterance the caller first hears something.

A voice begins softly: the `s` of `sorry` is below what is noticed on a telephone for 90 ms.
A response ends with what is heard, not with what was sent.
"""

from __future__ import annotations

from media.codec import WireForm
from media.level import audible

LOOKED_AT = 0.5
"""Seconds looked at in one piece; voices begin within the first, and long ones cost time."""

SHORTEST = 0.005
"""Seconds that are a beginning: sound may come in pieces of 20 ms, at whose end a word starts."""


class Onsets:
    """Finds each utterance's first audible sample, and keeps its beginning back until then."""

    def __init__(self, form: WireForm) -> None:
        self._form = form
        self._silent: dict[int, int] = {}
        "samples of an utterance in which nothing was audible so far"
        self._found: dict[int, float] = {}
        "seconds from an utterance's first sample to its first audible one"
        self._begun: dict[int, float] = {}
        "when an utterance began of which nothing audible is known yet"

    def push(self, utterance: int, pcm: bytes, payload: bytes = b"") -> float | None:
        """Take an utterance's next sound; give when it is audible if it had begun before that."""
        if utterance in self._found:
            return None
        sound = pcm or self._form.decode(payload)
        step = 2 * int(LOOKED_AT * self._form.rate)
        for at in range(0, len(sound), step):
            piece = sound[at : at + step]
            heard = audible(piece, self._form.rate, shortest_seconds=SHORTEST)
            silent = self._silent.get(utterance, 0)
            if heard:
                self._silent.pop(utterance, None)
                lead = (silent + heard[0][0]) / self._form.rate
                self._found[utterance] = lead
                begun = self._begun.pop(utterance, None)
                return None if begun is None else begun + lead
            self._silent[utterance] = silent + len(piece) // 2
        return None

    def began(self, utterance: int, when: float) -> float | None:
        """Take that the first sample is heard at `when`; give when the first audible one is.

        None: that is not known yet; `push` or `over` will say.
        """
        lead = self._found.get(utterance)
        if lead is None:
            self._begun[utterance] = when
            return None
        return when + lead

    def over(self, utterance: int) -> float | None:
        """Forget an utterance; give when it began if nothing audible ever came."""
        self._found.pop(utterance, None)
        self._silent.pop(utterance, None)
        return self._begun.pop(utterance, None)
