"""`parley check`: what is in the way is found, and what will happen is said."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gateway.__main__ import main
from gateway.commands.shared.checks import Finding, look, unwritable
from gateway.config import Settings
from gateway.lines.twilio.settings import TwilioSettings


def found(settings: Settings, about: str) -> list[tuple[str, str]]:
    return [(each.state, each.said) for each in look(settings) if each.about == about]


def test_every_setting_of_reach_is_said() -> None:
    assert {each.about for each in look(Settings())} == {
        "models",
        "runtime",
        "agents",
        "server",
        "twilio",
        "sip",
        "webrtc",
        "secrets",
        "turn",
        "log",
        "recording",
        "limits",
    }


def test_a_port_in_use_is_in_the_way() -> None:
    base = Settings()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        busy = replace(base, server=replace(base.server, port=port))
        assert found(busy, "server") == [
            (
                "wrong",
                f"cannot listen on 127.0.0.1:{port} (server.host, server.port): "
                "Address already in use",
            )
        ]
    free = replace(base, server=replace(base.server, port=0))
    assert [state for state, _ in found(free, "server")] == ["good"]


def test_a_default_agent_that_is_not_there_is_in_the_way(tmp_path: Path) -> None:
    base = Settings()
    settings = replace(base, agents=replace(base.agents, folder=tmp_path, default="porter"))
    missing = ("wrong", f"{tmp_path} has no porter.toml (agents.default)")
    assert missing in found(settings, "agents")
    (tmp_path / "other.toml").write_text("langwidge = 'en'\n")
    said = found(settings, "agents")
    assert missing in said
    assert [text for _, text in said if "did you mean language?" in text]


def test_what_serving_would_refuse_is_refused_before(tmp_path: Path) -> None:
    base = Settings()
    settings = replace(base, agents=replace(base.agents, folder=tmp_path))
    agent = "[backend]\nkind = 'cascade'\nmodel = { kind = 'opnai' }\n"
    (tmp_path / "porter.toml").write_text(agent)
    said = found(settings, "agents")
    assert [state for state, text in said if "opnai" in text] == ["wrong"]


def test_the_agents_and_what_they_answer_with_are_told() -> None:
    assert found(Settings(), "agents") == [
        (
            "good",
            "workshop: cascade, moonshine, scripted, hibari; 5 tools; "
            "answers where no other is named",
        )
    ]


def test_a_wanted_provider_that_is_missing_is_in_the_way() -> None:
    base = Settings()
    settings = replace(base, runtime=replace(base.runtime, providers=("tensorrt",)))
    ((state, said),) = found(settings, "runtime")
    assert state == "wrong"
    assert "wanted tensorrt" in said


def test_a_fallback_that_is_allowed_is_told() -> None:
    base = Settings()
    runtime = replace(base.runtime, providers=("cuda",), allow_fallback=True)
    assert found(replace(base, runtime=runtime), "runtime") == [
        ("note", "wanted cuda; models run on cpu")
    ]


def test_unsigned_requests_and_missing_secrets_are_told() -> None:
    base = Settings()
    assert "note" in [state for state, _ in found(base, "twilio")]
    twilio = TwilioSettings(auth_token="0123456789abcdef")
    signed = replace(base, lines={**base.lines, "twilio": twilio})
    assert [state for state, _ in found(signed, "twilio")] == ["good"]
    there, missing = found(signed, "secrets")
    assert there == ("good", "set in the environment: TWILIO_AUTH_TOKEN")
    assert missing[0] == "note"
    assert "TWILIO_SHARED_KEY" in missing[1]
    assert "0123456789abcdef" not in str(list(look(signed)))


def test_a_file_where_a_folder_should_be_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert unwritable(tmp_path / "new" / "deep") == ""
    assert unwritable(tmp_path / "file" / "deep") == f"{tmp_path / 'file'} is no folder"
    base = Settings()
    recording = replace(base.recording, enabled=True, folder=tmp_path / "file")
    ((state, _),) = found(replace(base, recording=recording), "recording")
    assert state == "wrong"


def test_json_is_one_document_and_the_status_says_whether_calls_can_be_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text("server.port = 0\nagents.default = 'porter'\n")
    assert main(["check", "--json", "-c", "a.toml"]) == 1
    document = msgspec.json.decode(capfdbinary.readouterr().out)
    assert document["ok"] is False
    findings = [Finding(**each) for each in document["findings"]]
    assert ("agents", "wrong") in [(each.about, each.state) for each in findings]


def test_people_see_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(
        "server.port = 0\nagents.default = 'porter'\nturn.silence = 1.0\n"
    )
    main(["check", "-c", "a.toml"])
    out = capsys.readouterr().out
    assert "✗ agents has no porter.toml (agents.default)" in out
    assert "turn       • a plain timer of 1 s ends turns: only for comparison" in out
