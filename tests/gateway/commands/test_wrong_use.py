"""Every command with everything wrong about it: one line that says what, and the right status."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from gateway.__main__ import main
from gateway.commands import commands

NOBODY = "twilio:ws://127.0.0.1:9/twilio/stream"

DONE, FAILED, WRONG = 0, 1, 2

FILES: dict[str, bytes] = {
    "empty": b"",
    "empty.wav": b"",
    "binary": bytes(range(256)) * 8,
    "binary.wav": bytes(range(256)) * 8,
    "text.wav": b"this is no sound\n",
    "binary.toml": b"[server]\nhost = '\xff\xfe'\n",
    "bad.toml": b"[server\n",
    "deep.toml": b"a = " + b"[" * 5000,
    "unknown.toml": b"[server]\nprot = 1\n",
    "taken.toml": b"[log]\npath = 'folder'\n",
    "nohost.toml": b"[server]\nhost = 'no host at all'\n[log]\npath = '-'\n",
    "nobus.toml": b"[bus]\nurl = 'nats://127.0.0.1:9'\n",
    "badbus.toml": b"[bus]\nurl = 'http://x'\n",
    "other.toml": b"[server]\nhost = '::1'\nport = 9\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with all kinds of files in it."""
    monkeypatch.chdir(tmp_path)
    for variable in ("TWILIO_AUTH_TOKEN", "SIP_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    Path("folder").mkdir()
    for name, rate, shape in (
        ("ok.wav", 8000, (8000,)), ("stereo.wav", 8000, (8000, 2)),
        ("none.wav", 8000, (0,)), ("slow.wav", 1, (10,)),
    ):  # fmt: skip
        soundfile.write(name, np.zeros(shape, np.int16), rate)
    Path("full.wav").symlink_to("/dev/full")
    return tmp_path


TABLE = [
    # command line, status, what the line says
    ("nonsense", WRONG, "invalid choice: 'nonsense'"),
    ("serve --port x", WRONG, "--port: found 'x', it must be a whole number from 0 to 65535"),
    ("serve --port 65536", WRONG, "--port: found '65536'"),
    ("serve --port -1", WRONG, "--port: found '-1'"),
    ("serve --port", WRONG, "--port: expected one argument"),
    ("serve extra", WRONG, "unrecognized arguments: extra"),
    ("serve -c none.toml", WRONG, "none.toml: no such file or directory"),
    ("serve -c folder", WRONG, "folder: is a directory"),
    ("serve -c binary.toml", WRONG, "binary.toml: the file is not UTF-8 text"),
    ("serve -c bad.toml", WRONG, "bad.toml:1: "),
    ("serve -c deep.toml", WRONG, "deep.toml: nested too deeply"),
    ("serve -c unknown.toml", WRONG, "unknown.toml:2: server.prot: "),
    ("check -c none.toml", WRONG, "none.toml: no such file or directory"),
    ("check -c folder", WRONG, "folder: is a directory"),
    ("check -c deep.toml", WRONG, "deep.toml: nested too deeply"),
    ("check --live -c none.toml", WRONG, "none.toml: no such file or directory"),
    ("check extra", WRONG, "unrecognized arguments: extra"),
    ("password nonsense", WRONG, "unrecognized arguments: nonsense"),
    ("link -c none.toml", WRONG, "none.toml: no such file or directory"),
    ("link http://a http://b", WRONG, "unrecognized arguments: http://b"),
    ("call", WRONG, "the following arguments are required: target"),
    ("call tel:123", WRONG, "'tel:123' names no line that can be called; allowed: twilio:ws"),
    ("call twilio:http://x/", WRONG, "after twilio: comes a ws:// or wss:// address"),
    ("call twilio:ws://h:99999/twilio/stream", WRONG, "twilio:ws://h:99999/twilio/stream"),
    ("call twilio:ws://h:x/twilio/stream", WRONG, "twilio:ws://h:x/twilio/stream"),
    ("call twilio:ws://[::1/twilio/stream", WRONG, "twilio:ws://[::1/twilio/stream"),
    ("call sip:", WRONG, "sip:"),
    ("call sip:me@host:99999", WRONG, "sip:me@host:99999"),
    ("call sip:me@h;transport=smoke", WRONG, "transport"),
    ("call webrtc:ws://h/", WRONG, "is no http:// or https:// address"),
    ("call webrtc:http://h:99999/webrtc/a", WRONG, "http://h:99999/webrtc/a"),
    ("call {nobody} --say gone.wav", WRONG, "gone.wav: no such file"),
    ("call {nobody} --say folder", WRONG, "folder: is a folder, and no recording"),
    ("call {nobody} --say empty.wav", WRONG, "empty.wav: "),
    ("call {nobody} --say binary.wav", WRONG, "binary.wav: "),
    ("call {nobody} --say stereo.wav", WRONG, "stereo.wav: has 2 channels, a caller needs one"),
    ("call {nobody} --say none.wav", WRONG, "none.wav: holds no sound"),
    ("call {nobody} --say slow.wav", WRONG, "slow.wav: has 1 Hz; allowed are 4000 to 192000"),
    ("call {nobody} --say /proc/self/mem", WRONG, "/proc/self/mem: "),
    ("call {nobody} --cut-in ok.wav", WRONG, "--cut-in: 'ok.wav' has no @SECONDS"),
    ("call {nobody} --cut-in ok.wav@x", WRONG, "--cut-in: found 'x', it must be a number of seco"),
    ("call {nobody} --cut-in ok.wav@-1", WRONG, "--cut-in: found '-1'"),
    ("call {nobody} --cut-in ok.wav@nan", WRONG, "--cut-in: found 'nan'"),
    ("call {nobody} --cut-in gone.wav@1", WRONG, "gone.wav: no such file"),
    ("call {nobody} --key 5", WRONG, "--key: '5' is not DIGITS@SECONDS"),
    ("call {nobody} --key z@1", WRONG, "--key: 'z@1' is not DIGITS@SECONDS"),
    ("call {nobody} --key 5@inf", WRONG, "--key: found 'inf'"),
    ("call {nobody} --hang-up-after -1", WRONG, "--hang-up-after: found '-1'"),
    ("call {nobody} --hang-up-after nan", WRONG, "--hang-up-after: found 'nan'"),
    ("call {nobody} --silence soon", WRONG, "--silence: found 'soon'"),
    ("call {nobody} --calls 0", WRONG, "--calls: found '0', it must be a whole number of"),
    ("call {nobody} --calls 1.5", WRONG, "--calls: found '1.5'"),
    ("call {nobody} --rate 0", WRONG, "--rate: found '0', it must be a number"),
    ("call {nobody} --rate nan", WRONG, "--rate: found 'nan'"),
    ("call {nobody} --rate inf", WRONG, "--rate: found 'inf'"),
    ("call {nobody} --loss 100", WRONG, "--loss: found '100', it must be a number from 0 to 99"),
    ("call {nobody} --jitter -1", WRONG, "--jitter: found '-1'"),
    ("call {nobody} --jitter inf", WRONG, "--jitter: found 'inf'"),
    ("call {nobody} --seed x", WRONG, "--seed: found 'x'"),
    ("call {nobody} --parameter a", WRONG, "--parameter: 'a' is not NAME=VALUE"),
    ("call {nobody} --parameter =b", WRONG, "--parameter: '=b' is not NAME=VALUE"),
    ("call {nobody} --record out", WRONG, "--record: out has no ending; allowed are .wav"),
    ("call {nobody} --record out.doc", WRONG, "--record: out.doc ends in '.doc'; allowed are .wav"),
    ("call {nobody} --record folder", WRONG, "--record: folder has no ending"),
    ("call {nobody} --record gone/out.wav", WRONG, "out.wav: there is no folder gone"),
    ("logs", FAILED, "there is no log at logs/calls.jsonl yet; a call makes one"),
    ("logs -n -5", WRONG, "-n/--lines: found '-5', it must be a whole number of at least 0"),
    ("logs -n many", WRONG, "-n/--lines: found 'many'"),
    ("logs --file folder", WRONG, "--file: folder is a folder"),
    ("logs -f --file folder", WRONG, "--file: folder is a folder"),
    ("logs --file gone", FAILED, "there is no log at gone yet"),
    ("logs --file empty --call abc", FAILED, "no call in empty has an id that begins or ends with"),
    ("logs --file /proc/self/mem", FAILED, "/proc/self/mem: Input/output error"),
    ("logs -c taken.toml", WRONG, "log.path: folder is a folder"),
    ("agents", WRONG, "parley agents prints one thing: --schema"),
    ("agents --schema extra", WRONG, "unrecognized arguments: extra"),
    ("tools", WRONG, "parley tools has one list: --open"),
    ("tools --open -c nowhere.toml", WRONG, "nowhere.toml"),
    ("export", WRONG, "the following arguments are required: --otlp"),
    ("export --otlp nowhere", WRONG, "--otlp: 'nowhere' begins with neither http://"),
    ("export --otlp http://x --file folder", WRONG, "--file: folder is a folder"),
    ("export --otlp http://x --all --file gone", FAILED, "there is no log at gone yet"),
    ("report", FAILED, "there is no log at logs/calls.jsonl yet"),
    ("report --since soon", WRONG, "--since: found 'soon', it must be a span like 90m"),
    ("report --since 99999999999d", WRONG, "--since: found '99999999999d'"),
    ("report --since 0001-01-01", WRONG, "--since: found '0001-01-01'"),
    ("report --file folder", WRONG, "--file: folder is a folder"),
    ("report --file gone", FAILED, "there is no log at gone yet"),
    ("turns", WRONG, "the following arguments are required: WAV"),
    ("turns gone.wav", FAILED, "gone.wav: no such file"),
    ("turns folder", FAILED, "folder: is a folder, and no recording"),
    ("turns binary.wav", FAILED, "binary.wav: "),
    ("turns none.wav", FAILED, "none.wav: holds no sound"),
    ("turns slow.wav", FAILED, "slow.wav: has 1 Hz"),
    ("turns ok.wav --profile none", WRONG, "--profile: "),
    ("turns ok.wav --silence 0", WRONG, "--silence: found '0', it must be a number of sec"),
    ("turns ok.wav --agent-speaking 1", WRONG, "--agent-speaking: '1' is not FROM-TO, as in 1.5-4"),
    ("turns ok.wav --agent-speaking 4-1", WRONG, "--agent-speaking: '4-1' does not go forward"),
    ("turns ok.wav --agent-speaking 1-inf", WRONG, "--agent-speaking: '1-inf' does not go forward"),
    ("turns ok.wav --agent-speaking nan-2", WRONG, "--agent-speaking: 'nan-2' does not go forward"),
    ("goodput tel:1", WRONG, "'tel:1' names no line that can be called"),
    ("goodput --rates 0.1,x", WRONG, "--rates: found 'x', it must be calls a second"),
    ("goodput --length soon", WRONG, "--length: found 'soon', it must be SECONDS, uniform:FROM-"),
    ("goodput --length 9999", WRONG, "--length: found '9999': calls last from a second to an h"),
    ("goodput --seconds 0", WRONG, "--seconds: found '0'"),
    ("goodput --response x", WRONG, "--response: found 'x'"),
    ("goodput --late 2", WRONG, "--late: found '2', it must be a number from 0 to 1"),
    ("goodput --cut-ins -1", WRONG, "--cut-ins: found '-1'"),
    ("goodput --cores 999", WRONG, "--cores: found '999', it must be a whole number from 0 to"),
    ("goodput --limiter luck", WRONG, "--limiter: invalid choice: 'luck'"),
    ("goodput --plot out.gif", WRONG, "--plot: out.gif does not end in .svg"),
    ("goodput --plot gone/out.svg", WRONG, "--plot: there is no folder gone"),
    ("goodput --log gone", WRONG, "--log are for a server that runs: name its address"),
    ("goodput --line sip", WRONG, "--line sip: the settings of -c need sip.enabled = true"),
    ("goodput {nobody} --log gone", WRONG, "--log: gone: no such file"),
    ("goodput {nobody} --processes 2", WRONG, "--processes is for a gateway of one's own"),
    ("goodput {nobody} --stand-in 99999999", WRONG, "there is no process 99999999"),
    ("goodput {nobody} --say gone.wav", WRONG, "gone.wav: no such file"),
    ("goodput -c none.toml", WRONG, "none.toml: no such file or directory"),
    ("say", WRONG, "the following arguments are required: TEXT, -o/--output"),
    ("test", WRONG, "the following arguments are required: FILE.yaml"),
    ("talk nobody", WRONG, "nobody"),
    ("replay", WRONG, "the following arguments are required: CALL"),
    ("replay nowhere", FAILED, "nowhere"),
    ("replay nowhere --plot x.png", WRONG, "--plot draws a --sweep, and there is none"),
    ("test a.yaml --log x", WRONG, "--log, --token and --conditions are about a real line: add"),
    ("test a.yaml --line sip:a@b --sound", WRONG, "--sound is in virtual time, and --line is not"),
    ("test nowhere.yaml", WRONG, "nowhere.yaml: No such file or directory"),
    ("say hello", WRONG, "the following arguments are required: -o/--output"),
    ("say hello -o name", WRONG, "-o: name has no ending; allowed are .wav and .flac"),
    ("say hello -o name.txt", WRONG, "-o: name.txt ends in '.txt'"),
    ("say hello -o gone/name.wav", FAILED, "-o: gone/name.wav: there is no folder gone"),
    ("say hello -o folder", WRONG, "-o: folder has no ending"),
    ("say hello -o /proc/name.wav", FAILED, "/proc/name.wav"),
    ("say hello -o full.wav", FAILED, "full.wav"),
    ("say hello -o a.wav --rate 11025", WRONG, "--rate: invalid choice: 11025"),
    ("say '' -o a.wav", FAILED, "there is nothing to say in that text"),
    ("say ' ' -o a.wav", FAILED, "there is nothing to say in that text"),
    ("transcribe", WRONG, "the following arguments are required: WAV"),
    ("transcribe gone.wav", FAILED, "gone.wav: no such file"),
    ("transcribe folder", FAILED, "folder: is a folder, and no recording"),
    ("transcribe text.wav", FAILED, "text.wav: "),
    ("transcribe none.wav", FAILED, "none.wav: holds no sound"),
    ("models burn", WRONG, "action: invalid choice: 'burn'"),
    ("models fetch nothing", WRONG, "no model is called nothing; there are: "),
    ("models build --speech gone", WRONG, "--speech: there is no folder gone"),
    ("models build --speech empty", WRONG, "--speech: there is no folder empty"),
    ("models build --speech folder", WRONG, "--speech: folder holds no recording"),
    ("models build --speech .", WRONG, "--speech: binary.wav: "),
    ("dial", WRONG, "the following arguments are required: to"),
    ("dial 123 --variable a", WRONG, "--variable: 'a' is not NAME=VALUE"),
    ("dial 123 --anywhere", WRONG, "bus.url is not set"),
    ("calls", WRONG, "bus.url is not set"),
    ("calls -c nobus.toml", FAILED, "bus.url: nats://127.0.0.1:9: "),
    ("calls -c badbus.toml", WRONG, "bus.url: 'http://x' is none of nats://HOST:PORT"),
    ("hangup", WRONG, "the following arguments are required: call"),
    ("hangup CA1 -c nobus.toml", FAILED, "bus.url: nats://127.0.0.1:9: "),
    ("transfer CA1", WRONG, "the following arguments are required: to"),
    ("transfer CA1 sales -c nobus.toml", FAILED, "bus.url: nats://127.0.0.1:9: "),
    ("dial 123 -c other.toml", FAILED, "no gateway answers at http://[::1]:9/sip/calls: "),
    ("dial 123 -c nohost.toml", FAILED, "no gateway answers at http://no host at all:8080"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "status", "said"), TABLE, ids=[row[0] for row in TABLE])
def test_it_is_said_in_one_line(
    line: str, status: int, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        got = main(shlex.split(line.format(nobody=NOBODY)))
    except SystemExit as ended:
        got = int(ended.code or 0)
    out, err = capfd.readouterr()
    told = [each for each in err.splitlines() if not each.startswith("{")]  # not log lines
    assert (got, len(told), out) == (status, 1, ""), err
    assert told[0].startswith("parley")
    assert said in told[0]


def test_every_command_stands_in_the_table() -> None:
    assert {row[0].split()[0] for row in TABLE} >= set(commands())


@pytest.mark.parametrize("name", ["empty", "binary"])
def test_a_log_that_is_none_is_no_failure(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for line in (
        ["logs", "--file", name],
        ["report", "--file", name],
        ["report", "--file", name, "--json"],
    ):
        assert main(line) == DONE
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("name", [b"o\xffdd.jsonl", b"st*r[1].jsonl", b"quo'te.jsonl"])
def test_a_log_may_have_any_name(name: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    path = os.fsdecode(name)
    Path(path).write_bytes(b"not json\n")
    for line in (["logs", "--file", path], ["report", "--file", path]):
        assert main(line) == DONE
    assert "Traceback" not in capfd.readouterr().err


def test_names_and_words_that_are_no_text_are_printed(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    odd = os.fsdecode(b"o\xffdd.wav")
    assert main(["turns", odd]) == FAILED
    assert b"o\xffdd.wav: no such file" in capfdbinary.readouterr().err
    Path("ok.wav").rename(odd)
    assert main(["transcribe", odd, "--json"]) == DONE
    assert main(["transcribe", odd, odd]) == DONE
    assert main(["say", os.fsdecode(b"one \xff two"), "-o", odd]) == DONE
    assert capfdbinary.readouterr().err == b""


@pytest.mark.parametrize("line", ["models list --json", "models", "check --json"])
def test_output_that_cannot_be_written_is_said_in_one_line(line: str) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "gateway", *line.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == FAILED
    assert done.stderr == "parley: No space left on device\n"
