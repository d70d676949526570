"""The library of agents: new calls get what the files say now, broken files change nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.agents.library import AgentLibrary, UnknownAgentError
from gateway.agents.loading import Agent
from gateway.agents.places import AgentError
from gateway.plumbing.toml_file import Mistake, TomlError
from gateway.tools.functions import FunctionTool


class Folder:
    """A folder of agents whose files get a new time at each change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._time = 1_000_000_000

    def write(self, name: str, text: str) -> None:
        self._time += 1
        file = self.path / name
        file.write_text(text)
        os.utime(file, ns=(self._time * 10**9, self._time * 10**9))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def greeting(library: AgentLibrary, name: str = "desk") -> str:
    return library.get(name).file.lines.greeting


def say(text: str) -> str:
    return f'[lines]\ngreeting = "{text}"\n'


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(folder: Folder) -> None:
    folder.write("desk.toml", say("one"))
    library = AgentLibrary(folder.path)
    first = library.get("desk")
    assert library.get("desk") is first
    assert library.fresh("desk")
    folder.write("desk.toml", say("two"))
    assert not library.fresh("desk")
    assert greeting(library) == "two"
    assert first.file.lines.greeting == "one"  # calls in progress keep what they had


def test_a_broken_file_keeps_the_last_good_agent_and_is_reported_once(folder: Folder) -> None:
    reports: list[AgentError] = []
    folder.write("desk.toml", say("one"))
    library = AgentLibrary(folder.path, report=reports.append)
    assert greeting(library) == "one"
    folder.write("desk.toml", "[lines]\ngreting = 1")
    assert [greeting(library) for _ in range(3)] == ["one"] * 3
    assert len(reports) == 1
    assert "did you mean lines.greeting?" in str(reports[0])
    assert list(library.problems()) == ["desk"]
    folder.write("desk.toml", say("three"))
    assert greeting(library) == "three"
    assert library.problems() == {}


@pytest.mark.parametrize("code", ["raise SystemExit", "def f(day: 'Dya'): ...", "1 / 0", "def f("])
def test_broken_code_keeps_the_last_good_agent_and_its_module(folder: Folder, code: str) -> None:
    reports: list[AgentError] = []
    folder.write(
        "tools.py",
        "def f(day: str) -> str:\n    return day + ending()\n\n\ndef ending():\n    return '!'\n",
    )
    folder.write("desk.toml", '[[tools]]\npython = "tools.py:f"\n')
    library = AgentLibrary(folder.path, report=reports.append)
    agent = library.get("desk")
    folder.write("tools.py", code)
    assert library.changed() == ({"desk"}, {"desk"})
    assert library.get("desk") is agent
    assert library.changed() == ({"desk"}, set())
    assert len(reports) == 1
    assert "tools.py" in str(reports[0])
    found = agent.tools["f"]
    assert isinstance(found, FunctionTool)
    assert found.function("x") == "x!"


def test_a_file_that_never_was_in_order_is_refused_until_it_is(folder: Folder) -> None:
    folder.write("desk.toml", "language = 1")
    library = AgentLibrary(folder.path)
    for _ in range(2):
        with pytest.raises(AgentError, match=r"desk.toml:1:1"):
            library.get("desk")
    folder.write("desk.toml", say("well"))
    assert greeting(library) == "well"


def test_a_changed_script_changes_the_agent_too(folder: Folder) -> None:
    script = 'start = "a"\nafter = "a"\nlost = "a"\nslots = {}\n[tasks.a]\n[lines]\nopening = "%s"'
    folder.write("desk.toml", '[backend]\nmodel = { kind = "scripted", script = "s" }')
    folder.write("s", script % "one")
    library = AgentLibrary(folder.path)

    def opening() -> str:
        return library.get("desk").scripts["s"].lines.opening

    assert opening() == "one"
    folder.write("s", script % "two")
    assert opening() == "two"
    folder.write("s", "nonsense = 1")
    assert opening() == "two"
    folder.write("s", script % "three")
    assert opening() == "three"


def test_agents_come_and_go(folder: Folder) -> None:
    library = AgentLibrary(folder.path)
    with pytest.raises(UnknownAgentError, match='there is no agent "desk"'):
        library.get("desk")
    folder.write("desk.toml", say("one"))
    assert library.names() == ("desk",)
    assert greeting(library) == "one"
    with pytest.raises(UnknownAgentError, match="did you mean desk"):
        library.get("desks")
    (folder.path / "desk.toml").unlink()
    with pytest.raises(UnknownAgentError):
        library.get("desk")


def test_the_first_folder_that_has_an_agent_gives_it(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    own = Folder(tmp_path / "own")
    folder.write("desk.toml", say("shipped"))
    folder.write("other.toml", say("other"))
    library = AgentLibrary(own.path, folder.path)
    assert greeting(library) == "shipped"
    own.write("desk.toml", say("own"))
    assert greeting(library) == "own"
    assert library.names() == ("desk", "other")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "sub/desk", "", "desk.toml"])
def test_a_name_from_outside_is_no_path(folder: Folder, name: str) -> None:
    (folder.path / "sub").mkdir()
    folder.write("sub/desk.toml", say("hidden"))
    folder.write("desk.toml", say("one"))
    with pytest.raises(UnknownAgentError):
        AgentLibrary(folder.path / "sub" / "..").get(name)


def test_what_the_gateway_knows_better_may_refuse_an_agent(folder: Folder) -> None:
    def check(agent: Agent) -> None:
        if agent.file.language != "en":
            raise AgentError(agent.path, "", (Mistake("language", 1, "not heard here"),))

    library = AgentLibrary(folder.path, check=check)
    folder.write("desk.toml", 'language = "de"')
    with pytest.raises(AgentError, match="not heard here"):
        library.get("desk")
    assert issubclass(AgentError, ValueError)
    assert not issubclass(AgentError, TomlError)
