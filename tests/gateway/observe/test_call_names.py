"""Names of calls in the log: no two calls have one, in one process and after a restart."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gateway.config import LogSettings
from gateway.log_events import KeyLogged
from gateway.observe import call_names
from gateway.observe.call_names import CallNames, known_calls
from gateway.observe.journal import Journal
from gateway.observe.lines import is_call, parse
from tests.support.log_lines import SAMPLES, whole


def test_a_call_that_comes_back_is_another_part() -> None:
    names = CallNames()
    assert [names.take(each) for each in ("CA1", "CA2", "CA1", "CA1")] == [
        *("CA1", "CA2", "CA1.2", "CA1.3")
    ]


@given(st.lists(st.sampled_from(["a", "a.2", "a.2.2", "a.3", "b", ""]), max_size=12))
def test_no_two_calls_have_one_name(ids: list[str]) -> None:
    names = CallNames()
    taken = [names.take(each) for each in ids]
    assert len(set(taken)) == len(taken)


def test_it_forgets_the_oldest_when_there_are_too_many() -> None:
    names = CallNames(str(number) for number in range(call_names.REMEMBERED))
    assert names.take("0") == "0.2"
    assert names.take("1") == "1"  # forgotten: it made room for `0.2`


def test_a_call_comes_back_after_a_restart(tmp_path: Path) -> None:
    settings = LogSettings(str(tmp_path / "calls.jsonl"))
    for wanted in ("CA1", "CA1.2", "CA1.3"):
        with Journal(settings) as journal:
            call = journal.bind("CA1", 0.0)
            call.write(SAMPLES[0])
            call.write(KeyLogged(keys="1"))
        assert call.call == wanted


def test_calls_are_known_from_renamed_files_too(tmp_path: Path) -> None:
    path = tmp_path / "log"
    odd = '"]}, a "quoted" name\\'
    path.with_name("log.1").write_bytes(whole(0.0, "call_started", "CAold") + b"\n")
    path.write_bytes(
        whole(1.0, "key", "CAkey") + b"\n" + whole(0.0, "call_started", odd) + b'\n{"call":"CAhalf'
    )
    found = known_calls(path)
    assert found[0] == "CAold"
    assert len(found) == 2
    assert known_calls(tmp_path / "none") == []


def test_all_parts_of_a_call_are_found_by_its_id() -> None:
    line = parse(whole(0.0, "key", "CA5e1fc2b4.12"))
    assert all(is_call(line, wanted) for wanted in ("c2b4", "CA5e", "CA5e1fc2b4", "c2b4.12"))
    assert not is_call(line, "c2b5")
