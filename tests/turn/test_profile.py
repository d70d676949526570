"""Profiles are consistent numbers, and a wrong name says what there is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from turn.profile import DEFAULT, PROFILES, Profile, profile


def test_there_are_four_of_rising_patience() -> None:
    assert list(PROFILES) == ["quick", "default", "patient", "digits"]
    waits = [(each.unsure, each.longest, each.patience, each.end) for each in PROFILES.values()]
    assert waits == sorted(waits)


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(ValueError, match="'slow': unknown; there are quick, default"):
        profile("slow")


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="waits must not fall"):
        replace(DEFAULT, longest=0.1)
    with pytest.raises(ValueError, match="beliefs"):
        replace(DEFAULT, draft=0.99)


def test_a_timer_waits_for_silence_alone() -> None:
    timer = Profile.silence(0.7)
    assert timer.name == "silence-0.7"
    assert timer.means == "silence"
    assert {timer.shortest, timer.unsure, timer.longest, timer.patience, timer.most} == {0.7}
