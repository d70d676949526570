"""The assessor tells a finished turn from an unfinished one, in time or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from inference import find
from inference.graph import Graph
from inference.runtime import Runtime, RuntimeSettings
from tests.turn.recordings import Recording, telephone
from turn.events import TurnAssessed
from turn.features import FRAMES
from turn.mel import BANDS
from turn.semantic import SemanticSettings, TurnAssessor, TurnStream
from turn.smartturn import INPUT, for_gpu, with_plain_softmax, with_window

ASKED_AFTER = 1600
"""Samples after the end of speech: 0.2 s."""


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    made = Runtime(RuntimeSettings(workers=1))
    yield made
    made.close()


@pytest.fixture(scope="module")
def assessor(runtime: Runtime) -> TurnAssessor:
    return TurnAssessor(runtime)


def listened(assessor: TurnAssessor, recording: Recording) -> TurnStream:
    """Feed a recording, in frames, until shortly after the question about it."""
    stream = assessor.open(8000)
    for begin in range(0, recording.end + ASKED_AFTER + 800, 160):
        stream.feed(recording.samples[begin : begin + 160])
    return stream


def probability(assessor: TurnAssessor, recording: Recording) -> float:
    answer = listened(assessor, recording).assess_now(recording.start, recording.end + ASKED_AFTER)
    assert answer.probability is not None
    assert answer.at == recording.end + ASKED_AFTER
    return answer.probability


def test_unfinished_turns_score_below_finished_ones(assessor: TurnAssessor) -> None:
    finished = [probability(assessor, each) for each in telephone("complete", "short_turn")]
    unfinished = [probability(assessor, each) for each in telephone("incomplete")]
    assert max(unfinished) < 0.3
    assert min(finished) > max(unfinished)
    assert np.median(finished) > 0.8


def test_the_answer_in_a_call_is_the_answer_offline(assessor: TurnAssessor) -> None:
    recording = telephone("complete")[0]
    stream = listened(assessor, recording)
    at = recording.end + ASKED_AFTER
    answer = asyncio.run(stream.assess(recording.start, at, 60.0))
    assert answer.probability == stream.assess_now(recording.start, at).probability
    assert answer.model_seconds > 0.0
    assert answer.queue_seconds >= 0.0
    stream.close()


def test_many_ask_at_once_and_each_gets_an_answer_or_none(runtime: Runtime) -> None:
    recordings = telephone("complete", "incomplete")
    assessor = TurnAssessor(runtime, SemanticSettings(depth=len(recordings)))
    streams = [listened(assessor, each) for each in recordings]

    async def ask(due_seconds: float) -> Sequence[TurnAssessed]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(stream.assess(each.start, each.end + ASKED_AFTER, due_seconds))
                for stream, each in zip(streams, recordings, strict=True)
            ]
        return [task.result() for task in tasks]

    answers = asyncio.run(ask(60.0))
    assert [each.at for each in answers] == [each.end + ASKED_AFTER for each in recordings]
    assert all(each.probability is not None for each in answers)
    # One worker: they waited for each other, and say so.
    assert max(each.queue_seconds for each in answers) > max(each.model_seconds for each in answers)
    hurried = asyncio.run(ask(1e-4))
    assert all(each.probability is None for each in hurried)


def test_no_answer_when_the_sound_is_gone_and_the_failure_is_told(runtime: Runtime) -> None:
    stream = TurnAssessor(runtime).open(8000)
    for _ in range(20):
        stream.feed(np.zeros(8000, np.int16))
    answer = asyncio.run(stream.assess(0, 8000, 60.0))
    assert (answer.at, answer.probability) == (8000, None)
    assert "not kept" in answer.fault


def test_a_short_turn_is_asked_with_a_short_window(assessor: TurnAssessor) -> None:
    stream = assessor.open(8000)
    lead = 2400
    assert [
        assessor.window(stream._question(start, start + length))
        for start, length in ((lead, 8000), (lead, 32000 - lead), (lead, 32160), (lead, 99999))
    ] == [400, 400, 800, 800]


def test_a_short_window_means_what_the_long_one_means(runtime: Runtime) -> None:
    recordings = telephone("complete", "incomplete")
    both = [
        np.array([probability(made, each) for each in recordings])
        for made in (
            TurnAssessor(runtime, SemanticSettings(windows=(400, 800))),
            TurnAssessor(runtime, SemanticSettings(windows=(800,))),
        )
    ]
    assert np.abs(both[0] - both[1]).mean() < 0.12
    certain = np.abs(both[1] - 0.5) > 0.2
    assert certain.sum() >= 8
    assert np.array_equal((both[0] > 0.5)[certain], (both[1] > 0.5)[certain])


def test_the_graphs_made_for_each_hardware_agree_with_the_one_that_ships(runtime: Runtime) -> None:
    model = find("smart-turn").read_bytes()
    recording = next(each for each in telephone("complete") if "thanks" in each.file)
    stream = listened(TurnAssessor(runtime), recording)
    question = stream._question(recording.start, recording.end + ASKED_AFTER)
    picture = question.sound.picture(question.start, question.at)[None]

    def said(graph: bytes, name: str, frames: int = FRAMES) -> float:
        session = runtime.load(graph, name=name)
        return float(session.run({INPUT: picture[:, :, -frames:].copy()})[0][0, 0])

    shipped = said(model, "shipped")
    assert said(with_plain_softmax(model), "softmax") == pytest.approx(shipped, abs=0.1)
    assert said(for_gpu(model), "float") == pytest.approx(shipped, abs=0.2)
    assert said(with_window(model, 600), "600", 600) == pytest.approx(shipped, abs=0.2)


def test_softmax_is_not_rounded_any_more() -> None:
    graph = Graph(with_plain_softmax(find("smart-turn").read_bytes()))
    maker = {name: node.op for node in graph.nodes for name in node.outputs}
    softmax = [node for node in graph.nodes if node.op == "Softmax"]
    assert len(softmax) == 5
    assert all(maker[node.inputs[0]] != "DequantizeLinear" for node in softmax)


def test_warming_runs_every_window(runtime: Runtime) -> None:
    assessor = TurnAssessor(runtime)
    assessor.warm()
    for frames in (400, 800):
        said = assessor.probabilities(np.zeros((3, BANDS, frames), np.float32))
        assert len(said) == 3
        assert said == pytest.approx([said[0]] * 3)
