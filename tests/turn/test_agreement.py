from __future__ import annotations

from pathlib import Path

from gateway.commands.shared.build_engines import build
from inference.runtime import RuntimeSettings
from turn.agreement import compare

SPEECH = Path(__file__).parent.parent / "data/speech/backchannel"


def test_the_same_answers_agree_and_other_decisions_are_counted():
    same = compare([0.1, 0.9, 0.6], [0.1, 0.9, 0.6])
    assert same.good
    assert (same.flips, same.worst) == (0, 0.0)
    other = compare([0.1, 0.9, 0.6], [0.2, 0.4, 0.4])
    assert other.flips == 2
    assert not other.good


def test_no_answers_are_no_agreement():
    assert not compare([], []).good
    assert not compare([0.5], []).good


def test_the_processor_agrees_with_itself():
    built = build(RuntimeSettings(), SPEECH)
    assert built.providers == ("cpu",)
    assert built.agreement.questions == 2 * len(list(SPEECH.glob("*.flac")))
    assert built.agreement.worst < 1e-6
