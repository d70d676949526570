"""The decoder that is written anew gives what the model's own graph gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gateway.backends.cascade.recognisers.moonshine import Moonshine
from gateway.backends.cascade.recognisers.moonshine_graphs import LAYER_KEYS, graphs
from gateway.backends.cascade.recognisers.moonshine_model import SOUND, Array, MoonshineModel
from gateway.backends.cascade.recognisers.moonshine_tokens import START
from inference import find
from inference.runtime import Runtime
from media.resample import convert_samples
from tests.inference.tiny import doubling
from tests.media.speech import recording

NEAR = 0.1
"""Mean difference of scores that reach 20: each product rounds its input to 8 bits, and what is
between two steps goes up or down by the order in which numbers were added up."""

NOTHING = np.zeros((1, 8, 0, 36), np.float32)


class Own:
    """The model's own graph, one recording."""

    def __init__(self, runtime: Runtime, heard: Array, samples: int) -> None:
        self._session = runtime.load("moonshine/decoder_model_merged.ort", providers=("cpu",))
        self._inputs: dict[str, Array] = {
            "encoder_hidden_states": heard,
            "encoder_attention_mask": np.ones((1, samples), np.int64),
        }

    def scores(self, pieces: Sequence[int], then: Sequence[int]) -> Array:
        """Return the scores after each of `pieces`, and after each of what is written then."""
        kept = [each for each in self._session.outputs if each.startswith("present.")]
        past = {each.replace("present", "past_key_values"): NOTHING for each in kept}
        found: list[Array] = []
        for number, written in enumerate([pieces, *([each] for each in then)]):
            logits, *values = self._session.run(
                {
                    **self._inputs,
                    **past,
                    "input_ids": np.array([written], np.int64),
                    "use_cache_branch": np.array([number > 0]),
                },
                ["logits", *kept],
            )
            names = [each.replace("present", "past_key_values") for each in kept]
            new = dict(zip(names, values, strict=True))
            # What belongs to the sound is computed by the first step alone.
            past = new if number == 0 else past | {k: v for k, v in new.items() if "decoder" in k}
            found.append(logits[0])
        return np.concatenate(found)


@pytest.fixture(scope="module")
def model(moonshine: Moonshine) -> MoonshineModel:
    return moonshine.load()[0]


@pytest.fixture(scope="module")
def heard(model: MoonshineModel) -> tuple[Array, int]:
    said = recording("complete/sti_c13_45e6e6bb.flac")
    sound = said.samples(mulaw=True).astype(np.float32) / 32768
    sound = convert_samples(sound, 8000, 16000)
    return model.hear(sound), len(sound)


def anew(model: MoonshineModel, heard: Array, rows: Sequence[Sequence[int]], first: int) -> Array:
    """Return the scores after each piece of each row, of which `first` are written at once."""
    sound = dict(zip(SOUND, model._sound({"heard": heard}, SOUND), strict=True))
    past: list[Array] = [np.repeat(NOTHING, len(rows), axis=0)] * len(LAYER_KEYS)
    pieces = np.array(rows, np.int64)
    found: list[Array] = []
    count = 0
    for part in np.split(pieces, range(first, pieces.shape[1]), axis=1):
        logits, *past = model._ask(part, count, past, sound)
        count += part.shape[1]
        found.append(logits)
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize("first", [1, 4])
def test_scores_are_those_of_the_models_own_graph(
    runtime: Runtime, model: MoonshineModel, heard: tuple[Array, int], first: int
) -> None:
    sound, samples = heard
    pieces = [START, 306, 471, 2675, 304, 1246, 29889]
    wanted = Own(runtime, sound, samples).scores(pieces[:first], pieces[first:])
    found = anew(model, sound, [pieces], first)[0]
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).mean() < NEAR
    assert found.argmax(-1).tolist() == wanted.argmax(-1).tolist()


def test_each_way_of_writing_it_is_by_itself(
    model: MoonshineModel, heard: tuple[Array, int]
) -> None:
    ways = [[START, 306, 471, 2675], [START, 910, 338, 263], [START, 1, 1, 1]]
    for way, found in zip(ways, anew(model, heard[0], ways, 1), strict=True):
        assert np.abs(found - anew(model, heard[0], [way], 1)[0]).mean() < 2 * NEAR
        other = anew(model, heard[0], [[START, 2675, 2675, 306]], 1)[0]
        assert np.abs(found[1:] - other[1:]).mean() > 10 * NEAR


def test_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="not a model in onnxruntime's format"):
        graphs(doubling())
    with pytest.raises(ValueError, match="0 nodes make"):
        graphs(find("moonshine", "encoder_model.ort").read_bytes())
