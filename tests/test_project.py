"""The project as a whole: its documents, its checks and its lists say what is true."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from gateway.__main__ import main, parser
from gateway.commands import all_commands, commands
from gateway.log_events import UsageLogged, fields_of
from gateway.observe.vocabulary import EVENTS
from tests.support.log_lines import SAMPLES
from tests.support.peers import package_of, packages, requires_program
from tools import agent_page, call_log_page
from tools.settings_page import PAGE, page

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

OTHER_PROGRAMS = frozenset({"git", "cd", "curl", "export", "ngrok", "cloudflared", "jq", "docker"})
"""What documents may tell a reader to run beside `make` and `parley`."""


# --- documents ------------------------------------------------------------------------------------


def told_to_run() -> Iterator[tuple[str, str]]:
    """Return every command of a ```sh block, and where it stands."""
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        for block in re.finditer(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
            number = text.count("\n", 0, block.start()) + 2
            for offset, line in enumerate(block[1].replace("\\\n", " \0").split("\n")):
                if line.strip() and not line.lstrip().startswith("#"):
                    where = f"{document.relative_to(ROOT)}:{number + offset}"
                    yield where, line.replace("\0", "").strip()


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


def known(words: list[str]) -> str:
    """Say why a command would not run; empty: it would."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    match words:
        case ["make", *wanted]:
            unknown = [each for each in wanted if "=" not in each and each not in targets()]
            return f"make has no {unknown[0]}" if unknown else ""
        case ["parley" | ".venv/bin/parley", *rest]:
            try:
                parser(list(all_commands())).parse_args(rest)
            except SystemExit as ended:
                return "" if ended.code == 0 else "parley refuses these arguments"
            return ""
        case [program, *_] if program in OTHER_PROGRAMS:
            return ""
        case _:
            return "nobody knows this program"


def test_every_command_in_the_documents_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for where, line in told_to_run():
        for part in re.split(r"\s(?:\||&&)\s", line):
            why = known(shlex.split(re.sub(r"\s>\s*\S+$", "", part), comments=True))
            if why:
                wrong.append(f"{where}: {part}: {why}")
    assert wrong == []


def test_the_documents_tell_to_run_something() -> None:
    """The test above finds the blocks it looks for."""
    said = {line for where, line in told_to_run() if where.startswith("README.md")}
    assert {"make demo", "make test"} <= said


@pytest.mark.parametrize("line", ["make nonsense", "parley fly", "parley logs --nonsense", "rm x"])
def test_a_wrong_command_in_a_document_would_be_found(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert known(shlex.split(line))


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{document.relative_to(ROOT)}: {link}"
        for document in DOCUMENTS
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8"))
        if not (document.parent / link).exists()
    ]
    assert broken == []


def test_what_the_contributors_page_points_at_is_there() -> None:
    named = re.findall(
        r"`([\w/]+(?:/|\.py|\.toml))`", (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    )
    places = [each for each in named if "/" in each.rstrip("/")]
    assert len(places) > 15
    assert [each for each in places if not (ROOT / each).exists()] == []


def test_every_dependency_has_its_line_of_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {
        re.split(r"[>=<;\[ ]", each)[0].lower()
        for group in (project["dependencies"], *project["optional-dependencies"].values())
        for each in group
    }
    text = (ROOT / "docs/dependencies.md").read_text("utf-8")
    explained = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert sorted(explained) == sorted(wanted)


def test_the_page_of_settings_is_what_the_settings_say() -> None:
    """When this fails: make fix."""
    assert PAGE.read_text("utf-8") == page()


def test_the_page_of_agents_files_is_what_reads_them() -> None:
    """When this fails: make fix."""
    assert agent_page.PAGE.read_text("utf-8") == agent_page.page()


def test_the_page_of_the_call_log_is_what_the_log_says() -> None:
    """When this fails: make fix."""
    assert call_log_page.PAGE.read_text("utf-8") == call_log_page.page()


def test_every_kind_of_line_has_a_sample_with_all_its_fields() -> None:
    """They stand in tests/support/log_lines.py, and every reader of the log is tried with them."""
    assert {type(each) for each in SAMPLES} == set(EVENTS)
    for each in SAMPLES:
        wanted = {name for name in each.__struct_encode_fields__ if name != "wordless"}
        assert set(fields_of(each)) == wanted or isinstance(each, UsageLogged)


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = (*project["dependencies"], *extras["cpu"], *extras["dev"])
    assert _named(wanted) - set(_pinned("lock.txt")) == set()
    wanted = (*project["dependencies"], *extras["gpu"], *extras["tensorrt"])
    assert _named(wanted) - set(_pinned("gpu.txt")) == set()


def test_the_two_locks_differ_in_what_a_gpu_needs_alone() -> None:
    usual, gpu = _pinned("lock.txt"), _pinned("gpu.txt")
    assert {name for name in gpu if name in usual and usual[name] != gpu[name]} == set()
    assert "onnxruntime" in usual
    assert "onnxruntime" not in gpu, "they share one folder with onnxruntime-gpu"


def _named(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[>=<;\[ ]", each)[0].lower() for each in requirements}


def _pinned(lock: str) -> dict[str, str]:
    """Return the version of each package of a lock file."""
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==(\S+)", text, re.MULTILINE))


# --- the command line -----------------------------------------------------------------------------


def test_every_command_says_what_it_does() -> None:
    for command in all_commands():
        assert commands()[command.NAME].endswith(f".{command.NAME.replace('-', '_')}")
        assert re.fullmatch(r"[a-z].{10,90}[^.]", command.HELP)
        command.add_arguments(argparse.ArgumentParser())


def test_help_imports_nothing_slow() -> None:
    program = (
        "import sys\n"
        "from gateway.__main__ import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'numpy', 'rich', 'duckdb', 'onnxruntime', 'soundfile', 'twilio', 'structlog'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr.strip() == "[]"
    assert "serve" in done.stdout


def test_no_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2


def test_an_unknown_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fly"])
    assert ended.value.code == 2


def test_a_wrong_setting_ends_with_2_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "parley.toml"
    path.write_text("[server]\nprot = 1\n")
    assert main(["logs", "-c", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"parley: {path}:2: server.prot: there is no such setting; did you mean server.port?\n"
    )


# --- Debian packages ------------------------------------------------------------------------------


def test_every_listed_package_has_a_target_that_exists() -> None:
    listed = list(packages())
    assert {target for _, target, _, _ in listed} <= targets()
    assert len({package for package, _, _, _ in listed}) == len(listed)


def test_a_program_leads_to_its_package() -> None:
    assert package_of("sipp") == "sip-tester"
    with pytest.raises(LookupError):
        package_of("no-such-program")


def test_a_test_without_its_program_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    @requires_program("sipp", "baresip")
    def test() -> None:
        """Stand for a test with peers."""

    marks = {mark.name: mark for mark in getattr(test, "pytestmark", [])}
    assert marks["skipif"].args == (True,)
    assert marks["skipif"].kwargs["reason"] == (
        "not installed: sipp (apt-get install sip-tester), baresip (apt-get install baresip-core)"
    )
    assert "peer" in marks
