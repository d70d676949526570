"""`parley logs`: what is printed where, and with which exit status."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gateway.__main__ import main
from tests.support.log_lines import CALL, line, story, whole

OTHER = "MZ00000000000000000000000000000042"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of two calls where the settings have it, and the folder as working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "logs/calls.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"\n".join([*story(), line(1.0, "key", {"keys": "7"}, OTHER)]) + b"\n")
    return path


def test_json_prints_the_lines_as_they_are(
    log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["logs", "--json"]) == 0
    assert capfdbinary.readouterr().out == log.read_bytes()


def test_people_see_a_story(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs"]) == 0
    out = capsys.readouterr().out
    assert "I'm sorry to hear that, Jack." in out
    assert "0042    1.00        key · keys 7" in out
    assert all(text == text.rstrip() for text in out.splitlines())


@pytest.mark.parametrize("wanted", [OTHER, "0042", "MZ0000"])
def test_one_call_is_named_by_either_end_of_its_id(
    log: Path, wanted: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["logs", "--json", "--call", wanted]) == 0
    (only,) = capfdbinary.readouterr().out.splitlines()
    assert msgspec.json.decode(only)["call"] == OTHER


def test_a_call_that_is_not_there_is_a_failure(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", "--call", "nobody"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "has an id that begins or ends with nobody" in err


def test_only_the_last_lines_are_shown_unless_asked(
    log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    log.write_bytes(b"\n".join(line(float(n), "key", {"keys": "1"}) for n in range(300)) + b"\n")
    for arguments, count in ((["-n", "3"], 3), ([], 200), (["-n", "0"], 300)):
        main(["logs", "--json", *arguments])
        assert len(capfdbinary.readouterr().out.splitlines()) == count
    main(["logs", "--json", "--call", CALL])
    assert len(capfdbinary.readouterr().out.splitlines()) == 300


def test_a_bad_line_is_said_and_the_rest_is_told(
    log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    log.write_bytes(
        b'{"half": \n\n[]\n{"ts":"x","call":"","at":0}\n' + line(1.0, "key", {"keys": "1"}) + b"\n"
    )
    assert main(["logs", "--json"]) == 0
    out, err = capfdbinary.readouterr()
    assert len(out.splitlines()) == 1
    assert err.decode().splitlines() == [
        "parley: line 1 of those read: not JSON; the line is skipped",
        "parley: line 3 of those read: not a JSON object; the line is skipped",
        "parley: line 4 of those read: no event; the line is skipped",
    ]


def test_no_log_yet_is_a_failure_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["logs"]) == 1
    assert capsys.readouterr().err == (
        "parley: there is no log at logs/calls.jsonl yet; a call makes one\n"
    )


def test_a_log_on_standard_output_cannot_be_tailed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    path.write_text("log.path = '-'\n")
    assert main(["logs", "-c", str(path)]) == 2
    assert main(["report", "-c", str(path)]) == 2
    assert "log.path is `-`" in capsys.readouterr().err


def test_report_prints_one_document(log: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["report", "--json"]) == 0
    found = msgspec.json.decode(capfdbinary.readouterr().out)
    assert found["response"] == {"count": 3, "median": 1.47, "p95": pytest.approx(1.497)}
    assert found["cut_ins"]["count"] == 1


def test_report_is_laid_out_for_people(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--since", "2000-01-01"]) == 0
    assert "seconds a caller waited" in capsys.readouterr().out


def test_report_of_a_time_nobody_understands(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--since", "soon"]) == 2
    assert capsys.readouterr().err.startswith("parley: --since: found 'soon', it must be")


def test_a_sip_call_is_found_by_its_call_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log"
    lines = [
        whole(0.0, "call_started", CALL, sip_call_id="5f3a9c@far"),
        whole(0.0, "call_started", OTHER, sip_call_id="other@far"),
        line(1.0, "key", {"keys": "7"}, CALL),
        line(1.0, "key", {"keys": "8"}, OTHER),
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert main(["logs", "--file", str(path), "--call", "5f3a9c", "--json"]) == 0
    assert capsys.readouterr().out.splitlines() == [lines[0].decode(), lines[2].decode()]
    assert main(["logs", "--file", str(path), "--call", "unknown"]) == 1
