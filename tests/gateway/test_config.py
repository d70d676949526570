"""The settings: defaults, refusals in the operator's words, secrets from the environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.config import Settings, load, secrets, with_secrets
from gateway.lines.twilio.settings import TwilioSettings
from gateway.plumbing.toml_file import TomlError


def refused(tmp_path: Path, text: str) -> list[str]:
    """Load a file that must be refused; give the lines said, without the folder."""
    path = tmp_path / "parley.toml"
    path.write_text(text)
    with pytest.raises(TomlError) as caught:
        load(path, {})
    return [line.removeprefix(f"{tmp_path}/") for line in str(caught.value).splitlines()]


def test_no_file_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(None, {}) == Settings()


def test_the_usual_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parley.toml").write_text("server.port = 9000\n")
    assert load(None, {}).server.port == 9000


def test_values_arrive_in_their_sections(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        """
        [turn]
        silence = 1.0
        vad = "webrtc"
        [runtime]
        providers = ["cuda", "cpu"]
        [log]
        path = "-"
        mask = "full"
        """
    )
    settings = load(path, {})
    assert settings.turn.silence == 1.0
    assert settings.turn.vad == "webrtc"
    assert settings.runtime.providers == ("cuda", "cpu")
    assert (settings.log.path, settings.log.mask) == ("-", "full")
    assert settings.server == Settings().server


def test_relative_paths_are_meant_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('[recording]\nfolder = "sound"\n[agents]\nfolder = "/srv/agents"\n')
    settings = load(path, {})
    assert settings.recording.folder == tmp_path / "sound"
    assert settings.agents.folder == Path("/srv/agents")
    assert settings.log.path == str(tmp_path / "logs/calls.jsonl")


def test_an_unknown_key_is_refused_with_path_line_and_nearest_name(tmp_path: Path) -> None:
    assert refused(tmp_path, "[server]\nhost = '::1'\nprot = 80\n") == [
        "parley.toml:3: server.prot: there is no such setting; did you mean server.port?"
    ]


def test_a_key_in_the_wrong_table_is_shown_its_place(tmp_path: Path) -> None:
    assert refused(tmp_path, "mask = 'full'\n") == [
        "parley.toml:1: mask: there is no such setting; did you mean log.mask?"
    ]


def test_a_name_unlike_any_other_is_told_what_there_is(tmp_path: Path) -> None:
    (said,) = refused(tmp_path, "[recording]\nxyzzy = 1\n")
    assert said.endswith(
        "recording.xyzzy: there is no such setting; here are: enabled, folder, group_reads,"
        " journal, journal_hidden"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "server.port = 70000",
            "server.port: found 70000, it must be a whole number from 0 to 65535",
        ),
        (
            "server.port = '80'",
            'server.port: found "80", it must be a whole number from 0 to 65535',
        ),
        ("server.drain = true", "server.drain: found true, it must be a number of at least 0"),
        (
            "log.mask = 'parttial'",
            'log.mask: found "parttial", it must be one of "none", "partial", "full"; '
            'did you mean "partial"?',
        ),
        ("turn.silence = 0", "turn.silence: found 0, it must be a number from 0.1 to 10"),
        ("limits = 3", "limits: found 3, it must be a table"),
        (
            "runtime.providers = ['gpu']",
            "runtime: providers are cpu, cuda, tensorrt; found gpu",
        ),
    ],
)
def test_a_wrong_value_says_what_was_found_and_what_is_allowed(
    tmp_path: Path, text: str, said: str
) -> None:
    assert refused(tmp_path, text + "\n") == [f"parley.toml:1: {said}"]


def test_every_mistake_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    lines = refused(tmp_path, "[log]\nmask = 1\nfoo = 2\n\n[server]\nport = -1\n")
    assert [line.split(":")[1] for line in lines] == ["2", "3", "6"]


def test_broken_toml_names_its_line(tmp_path: Path) -> None:
    (said,) = refused(tmp_path, "[server]\nport = 80\nhost =\n")
    assert said == "parley.toml:3: invalid value"


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match=r"none\.toml: no such file or directory"):
        load(tmp_path / "none.toml", {})


@dataclass(frozen=True, slots=True)
class Inner:
    token: str = field(default="", metadata={"env": "INNER_TOKEN"})
    name: str = "x"


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner = field(default_factory=Inner)


def test_secrets_are_filled_into_their_lines() -> None:
    settings = load(None, {"TWILIO_AUTH_TOKEN": "0123456789"})
    assert settings.line(TwilioSettings).auth_token == "0123456789"
    assert "0123456789" not in repr(settings)


def test_secrets_come_from_the_environment_alone() -> None:
    filled = with_secrets(Outer(), {"INNER_TOKEN": "s3cret"})
    assert filled.inner.token == "s3cret"
    assert secrets(filled) == {"INNER_TOKEN": "s3cret"}
    assert secrets(Outer()) == {"INNER_TOKEN": ""}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('[sip.trunks.carrier]\npassword = "hunter2"', "sip.trunks.carrier.password"),
        ('[sip.users]\nalice = "$ALICE"\nbob = "hunter2"', "sip.users.bob"),
        ('[sip.trunks.carrier]\npassword = "$2b$hunter2"', "sip.trunks.carrier.password"),
        ('[twilio]\nauth_token = "hunter2"', "twilio.auth_token"),
        ('[server]\nowner_token = "hunter2"', "server.owner_token"),
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(
    tmp_path: Path, text: str, path: str
) -> None:
    file = tmp_path / "parley.toml"
    file.write_text(text)
    with pytest.raises(TomlError) as refused:
        load(file, {})
    assert f"{path}: a secret has no place in a file" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_the_name_of_a_variable_is_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "parley.toml"
    file.write_text('[sip.users]\nalice = "$ALICE"\n[sip.trunks.carrier]\npassword = "$CARRIER"')
    load(file, {})
