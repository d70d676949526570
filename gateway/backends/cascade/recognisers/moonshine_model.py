"""Runs the Moonshine models: sound in, the likeliest words and how sure they are out.

The encoder hears all the sound at once; the decoder writes one piece at a time and is handed back
what it computed before (its keys and values).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gateway.backends.cascade.recognisers.beam_search import BeamSearch, Expected, Scores, Written
from gateway.backends.cascade.recognisers.moonshine_graphs import (
    HEADS,
    LAYER_KEYS,
    WIDTH,
    graphs,
)
from gateway.backends.cascade.recognisers.moonshine_tokens import START
from inference import find
from inference.errors import ModelWrong
from inference.runtime import Runtime

RATE = 16000
"""Samples per second that the encoder expects."""

PIECES_PER_SECOND = 6.5
"""Moonshine's makers bound their own decoding by this many pieces a second of sound."""
MARGIN_PIECES = 8
"""For what is said fast within a second or two: a spelled name has two pieces a letter."""

SHORTEST = RATE // 2
"""The encoder's convolutions need about 0.1 s; below half a second it hears next to nothing."""

Array = npt.NDArray[np.generic]
Run = Callable[[Mapping[str, Array], Sequence[str] | None], list[Array]]
"""Runs one graph: inputs by name, the names of the outputs wanted (None: all)."""

SOUND = [f"sound.{each}" for each in LAYER_KEYS]
PAST = [f"past.{each}" for each in LAYER_KEYS]
WANTED = ["logits", *(f"present.{each}" for each in LAYER_KEYS)]


MODEL = "moonshine"

CPU = ("cpu",)
"""Decoding is a hundred small steps, each slower on a GPU than its way there."""


def load(runtime: Runtime) -> MoonshineModel:
    """Load the models; raise ModelMissing or ModelWrong."""
    encoder = runtime.load(f"{MODEL}/encoder_model.ort", providers=CPU)
    path = find(MODEL, "decoder_model_merged.ort")
    try:
        sound, decoder = graphs(path.read_bytes())
    except ValueError as error:
        raise ModelWrong(f"{path}: not the decoder that this version knows: {error}") from None
    return MoonshineModel(
        encoder.run,
        runtime.load(sound, name=f"{MODEL}/sound", providers=CPU).run,
        runtime.load(decoder, name=f"{MODEL}/decoder", providers=CPU).run,
    )


class MoonshineModel:
    """The graphs and how they are asked; keeps nothing between two recordings."""

    def __init__(self, encoder: Run, sound: Run, decoder: Run) -> None:
        """Take the encoder, and what `moonshine_graphs` made of the decoder."""
        self._encoder = encoder
        self._sound = sound
        self._decoder = decoder

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
        sound = dict(zip(SOUND, self._sound({"heard": heard}, SOUND), strict=True))
        nothing = np.zeros((1, HEADS, 0, WIDTH), np.float32)
        pieces = np.array([[START, *draft]], np.int64)
        logits, *past = self._ask(pieces, 0, [nothing] * len(PAST), sound)
        count = beam.accept(logits[0], draft) + 1
        # Of the positions after what was accepted nothing is known.
        past = [each[:, :, :count] for each in past]
        scores = _last(logits[:, :count])
        while (step := beam.advance(scores)) is not None:
            if step.parents != tuple(range(len(past[0]))):
                past = [each[list(step.parents)] for each in past]
            pieces = np.array(step.pieces, np.int64)[:, None]
            logits, *past = self._ask(pieces, count, past, sound)
            count += 1
            scores = _last(logits)
        return beam.best

    def _ask(
        self, pieces: Array, count: int, past: Sequence[Array], sound: Mapping[str, Array]
    ) -> list[Array]:
        """Write on after `count` pieces; give the scores, and what is to be known of all so far."""
        inputs = dict(sound)
        inputs |= zip(PAST, past, strict=True)
        inputs["pieces"] = pieces
        inputs["positions"] = np.broadcast_to(np.arange(pieces.shape[1]) + count, pieces.shape)
        return self._decoder(inputs, WANTED)


def _last(logits: Array) -> Scores:
    """Return the scores after the last piece of each path."""
    found: Scores = logits[:, -1].astype(np.float32, copy=False)
    return found
