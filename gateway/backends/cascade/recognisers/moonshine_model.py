"""Runs the Moonshine models: sound in, the likeliest words and how sure they are out.

Two graphs: the encoder hears all the sound at once; the decoder writes one piece at a time and is
handed back what it computed before (its keys and values).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gateway.backends.cascade.recognisers.beam_search import BeamSearch, Expected, Scores, Written
from gateway.backends.cascade.recognisers.moonshine_tokens import START

RATE = 16000
"""Samples per second that the encoder expects."""

PIECES_PER_SECOND = 6.5
"""Moonshine's makers bound their own decoding by this many pieces a second of sound."""
MARGIN_PIECES = 8
"""For what is said fast within a second or two: a spelled name has two pieces a letter."""

HEADS, WIDTH = 8, 36
"""Of the keys and values of the tiny model."""

SHORTEST = RATE // 2
"""The encoder's convolutions need about 0.1 s; below half a second it hears next to nothing."""

Array = npt.NDArray[np.generic]
Run = Callable[[Mapping[str, Array], Sequence[str] | None], list[Array]]
"""Runs one graph: inputs by name, the names of the outputs wanted (None: all)."""


class MoonshineModel:
    """The two graphs and how they are asked; keeps nothing between two recordings."""

    def __init__(self, encoder: Run, decoder: Run, outputs: Sequence[str]) -> None:
        """Take the graphs and the names of the decoder's outputs, in order."""
        self._encoder = encoder
        self._decoder = decoder
        # `present.0.decoder.key` comes back as `past_key_values.0.decoder.key`.
        self._kept = [name for name in outputs if name.startswith("present.")]
        self._own = [name for name in self._kept if ".decoder." in name]

    def hear(self, sound: npt.NDArray[np.float32]) -> Array:
        """Encode sound at 16 kHz, -1 to 1; for `write`."""
        if len(sound) < SHORTEST:
            sound = np.pad(sound, (0, SHORTEST - len(sound)))
        batch = sound.astype(np.float32)[None]
        mask = np.ones(batch.shape, np.int64)
        return self._encoder({"input_values": batch, "attention_mask": mask}, None)[0]

    def write(
        self,
        heard: Array,
        samples: int,
        *,
        width: int = 1,
        expected: Expected | None = None,
        draft: Sequence[int] = (),
    ) -> Written:
        """Write down what was heard in `samples` of sound, keeping `width` ways in mind.

        `draft` is what was found in nearly the same sound: all its pieces are checked in one step
        of the decoder, and writing goes on where the model would have written something else.
        """
        samples = max(samples, SHORTEST)
        limit = int(samples / RATE * PIECES_PER_SECOND) + MARGIN_PIECES
        beam = BeamSearch(width, limit, expected)
        logits, inputs = self._begin(heard, samples, draft)
        kept = beam.accept(logits[0], draft)
        for name in self._own:  # of the positions after what was accepted nothing is known
            inputs[_past(name)] = inputs[_past(name)][:, :, : kept + 1]
        scores = _last(logits[:, : kept + 1])
        rows = 1
        while (step := beam.advance(scores)) is not None:
            if len(step.pieces) != rows:
                # The sound is the same for every path; only its first row is ever read anew.
                rows = len(step.pieces)
                for name in ("encoder_hidden_states", "encoder_attention_mask", *self._heard()):
                    inputs[name] = np.repeat(inputs[name][:1], rows, axis=0)
            if step.parents != tuple(range(rows)) or inputs[_past(self._own[0])].shape[0] != rows:
                for name in self._own:
                    inputs[_past(name)] = inputs[_past(name)][list(step.parents)]
            inputs["input_ids"] = np.array(step.pieces, np.int64)[:, None]
            logits, *values = self._decoder(inputs, ["logits", *self._own])
            inputs |= {_past(name): value for name, value in zip(self._own, values, strict=True)}
            scores = _last(logits)
        return beam.best

    def _begin(
        self, heard: Array, samples: int, draft: Sequence[int]
    ) -> tuple[Array, dict[str, Array]]:
        """Run the decoder over its start and a draft; give its scores and its inputs from then."""
        # The mask is of the raw samples, not of what the encoder made of them.
        mask: Array = np.ones((1, samples), np.int64)
        inputs: dict[str, Array] = {
            "input_ids": np.array([[START, *draft]], np.int64),
            "encoder_hidden_states": heard,
            "encoder_attention_mask": mask,
            "use_cache_branch": np.array([False]),
        }
        empty = np.zeros((1, HEADS, 0, WIDTH), np.float32)
        inputs |= {_past(name): empty for name in self._kept}
        logits, *values = self._decoder(inputs, ["logits", *self._kept])
        inputs |= {_past(name): value for name, value in zip(self._kept, values, strict=True)}
        inputs["use_cache_branch"] = np.array([True])
        return logits, inputs

    def _heard(self) -> list[str]:
        """Name the keys and values that were computed from the sound, once."""
        return [_past(name) for name in self._kept if ".encoder." in name]


def _past(name: str) -> str:
    return name.replace("present", "past_key_values", 1)


def _last(logits: Array) -> Scores:
    """Return the scores after the last piece of each path."""
    found: Scores = logits[:, -1].astype(np.float32, copy=False)
    return found
