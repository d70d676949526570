"""Agents' files: what is in them, and how mistakes are told."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.agents.library import shipped
from gateway.agents.loading import load
from gateway.agents.places import AgentError
from gateway.events import CallInfo, Entry
from gateway.tools.isolated import IsolatedTool

SCRIPT = """
start = "a"
after = "a"
lost = "a"
slots = {}
[tasks.a]
"""


def write(folder: Path, text: str, **others: str) -> Path:
    path = folder / "agent.toml"
    path.write_text(text)
    for name, content in others.items():
        (folder / name.replace("__", ".")).write_text(content)
    return path


def said(folder: Path, text: str, **others: str) -> str:
    with pytest.raises(AgentError) as error:
        load(write(folder, text, **others))
    return str(error.value).replace(f"{folder}/", "")


def test_the_example_agent_loads_whole() -> None:
    agent = load(shipped() / "workshop.toml")
    assert agent.name == "workshop"
    assert [spec.name for spec in agent.specs] == [
        "opening_hours",
        "find_times",
        "book",
        "take_message",
        "hang_up",
    ]
    confirmed = {spec.name: spec.confirm for spec in agent.specs if spec.effect == "write"}
    assert confirmed == {"book": True, "take_message": False, "hang_up": False}
    settings = agent.conversation()
    assert settings.lines.greeting.startswith("Thank you for calling Harbor Motors")
    assert settings.tools == agent.specs
    assert [path.name for path in agent.read] == ["workshop.toml", "script.toml", "tools.py"]


def test_an_empty_file_is_an_agent(tmp_path: Path) -> None:
    agent = load(write(tmp_path, ""))
    assert agent.specs == ()
    assert agent.file.language == "en"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[lines]\n  greetin = "Hi"',
            "agent.toml:2:3: lines.greetin: there is no such setting; did you mean lines.greet",
        ),
        ("language = 3", "agent.toml:1:1: language: found 3, it must be text"),
        ('language = "en"\nhints = [\n  "a",,\n]', "agent.toml:3:7: invalid"),
        (
            "[call]\nidle_seconds = -1",
            "agent.toml:2:1: call.idle_seconds: found -1, it must be a number of at least 0",
        ),
        (
            '[hours]\nmonday = "8 to 6"',
            'agent.toml:1:2: hours: monday must be like "07:30-18:00", found "8 to 6"',
        ),
        ('fallbacks = ["spare"]', 'agent.toml:1:1: fallbacks: there is no "spare" under backends'),
        (
            'instructions = "Hello {name}"\n[variables]\nname = "X-Name"',
            "agent.toml:1:1: instructions: {name} differs from call to call",
        ),
        (
            '[backend]\nkind = "casade"',
            'agent.toml:2:1: backend.kind: found "casade", it must be one of',
        ),
        (
            "[backend]\nmodel = { size = 3 }",
            "agent.toml:1:2: backend: model must be a table with a kind",
        ),
        (
            '[backend]\nmodel = { kind = "scripted", scrip = "x" }',
            "agent.toml:2:30: backend.model.scrip: there is no such setting; did you mean",
        ),
        (
            '[[tools]]\nname = "x"',
            "agent.toml:1:3: tools[0]: a tool has exactly one of python, http, mcp, page and"
            " builtin",
        ),
        (
            '[[tools]]\nbuiltin = "hangup"',
            'agent.toml:2:1: tools[0].builtin: there is no built-in "hangup"',
        ),
        (
            '[[tools]]\nbuiltin = "hang_up"\n\n[[tools]]\nbuiltin = "hang_up"',
            'agent.toml:4:3: tools[1]: there is another tool named "hang_up"',
        ),
        (
            '[[tools]]\nbuiltin = "transfer"',
            "agent.toml:1:3: tools[0]: transfer needs at least one target",
        ),
        (
            '[[tools]]\nmcp = "files"',
            'agent.toml:2:1: tools[0].mcp: there is no "files" under servers',
        ),
        (
            "[servers.files]",
            "agent.toml:1:10: servers.files: a server has either a command or a url",
        ),
        (
            "[[tools]]\npage = {}",
            "agent.toml:1:3: tools[0]: name is missing",
        ),
        (
            '[[tools]]\nname = "show"\npage = { parameters = { type = "list" } }',
            "agent.toml:",
        ),
        (
            '[[tools]]\nbuiltin = "hang_up"\nisolated = true',
            "agent.toml:1:3: tools[0]: isolated is for python tools",
        ),
        (
            '[[tools]]\npython = "agents.workshop.tools:book"\nenvironment = ["TOKEN"]',
            "agent.toml:1:3: tools[0]: environment is for isolated tools; others see all of the"
            " gateway's",
        ),
        (
            '[[tools]]\npython = "shop:f"\nisolated = true\nenvironment = ["NO_SUCH_TOKEN"]',
            "agent.toml:1:3: tools[0]: the environment variable NO_SUCH_TOKEN is not set",
        ),
        ('[[tools]]\npython = "nowhere:f"', "agent.toml:1:3: tools[0]: nowhere cannot be imported"),
        (
            '[[tools]]\npython = "agents.workshop.tools:nothing"',
            'agent.toml:1:3: tools[0]: there is no function "nothing"',
        ),
        (
            '[[tools]]\npython = "agents.workshop.tools"',
            'agent.toml:1:3: tools[0]: python must be like "module:function"',
        ),
        (
            'language = "xx"\n[[tools]]\npython = "agents.workshop.tools:book"\nconfirm = true',
            'agent.toml:4:1: tools[0].confirm: what counts as a yes in "xx" is not known',
        ),
        (
            '[[tools]]\npython = "agents.workshop.tools:book"\nconfirm = true',
            "agent.toml:3:1: tools[0].confirm: say is missing",
        ),
        (
            '[[tools]]\npython = "agents.workshop.tools:book"\nconfirm = true\nsay = "Book {dya}?"',
            "agent.toml:4:1: tools[0].say: there is no argument {dya}; there are: day, first_name",
        ),
        (
            '[[tools]]\nname = "get status"\nhttp = { url = "https://a.example" }',
            'agent.toml:2:1: tools[0].name: "get status" is refused by servers of models',
        ),
        (
            '[[tools]]\nname = "get"\nhttp = { url = "https://a.example/{id}" }',
            "agent.toml:1:3: tools[0]: http.url: {id} is not among the parameters' properties",
        ),
        (
            '[[tools]]\nname = "get"\n[tools.http]\nurl = "https://a.example/{id}"\n'
            'parameters = { type = "object", properties = { id = { type = "text" } } }',
            'agent.toml:5:1: tools[0].http.parameters: parameters.id.type: there is no type "text"',
        ),
        (
            '[[tools]]\npython = "agents.workshop.tools:find_times"\n'
            '[[tools]]\npython = "agents.workshop.tools:opening_hours"\nname = "find_times"',
            'agent.toml:3:3: tools[1]: there is another tool named "find_times"',
        ),
        (
            '[[tools]]\npython = "agents.workshop.tools:book"\neffect = "read"\nconfirm = true',
            "agent.toml:1:3: tools[0]: confirm is for writes",
        ),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in said(tmp_path, text)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    told = said(tmp_path, 'langage = "en"\n\n[lines]\nhello = "x"\n')
    assert [line.split(": ")[0] for line in told.splitlines()] == [
        "agent.toml:1:1",
        "agent.toml:4:1",
    ]


def test_a_mistake_in_the_script_is_told_with_the_scripts_name(tmp_path: Path) -> None:
    text = '[backend]\nmodel = { kind = "scripted", script = "s.toml" }'
    told = said(tmp_path, text, s__toml=SCRIPT.replace('lost = "a"', 'lost = "b"'))
    assert told == 's.toml:4:1: lost: there is no task "b"'
    missing = said(tmp_path, text.replace("s.toml", "nowhere.toml"))
    assert (
        missing == "agent.toml:2:30: backend.model.script: nowhere.toml: no such file or directory"
    )


def test_a_function_in_a_file_beside_the_agents(tmp_path: Path) -> None:
    tools = '''
def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello {name}"
'''
    agent = load(
        write(
            tmp_path,
            '[[tools]]\npython = "shop.py:greet"\nname = "hello"\ntimeout = 3\neffect = "write"',
            shop__py=tools,
        )
    )
    (spec,) = agent.specs
    assert (spec.name, spec.description, spec.timeout) == ("hello", "Greet someone.", 3)
    assert spec.effect == "write"
    assert tmp_path / "shop.py" in agent.read
    broken = said(tmp_path, '[[tools]]\npython = "bad.py:f"', bad__py="1 / 0")
    assert "bad.py:1 cannot be loaded: ZeroDivisionError" in broken


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ("import sys\n\nsys.exit(3)", "bad.py:3 cannot be loaded: Broke: SystemExit was raised: 3"),
        ("raise KeyboardInterrupt", "bad.py:1 cannot be loaded: Broke: KeyboardInterrupt"),
        ("x = 1\n" * 30000, "bad.py cannot be loaded: it has 180000 bytes, and 131072 are"),
        ("def f(:", "bad.py:1 cannot be loaded: SyntaxError"),
        ("import nowhere_at_all", "bad.py:1 cannot be loaded: ModuleNotFoundError"),
        ("\n\ndef f(day: 'Dya') -> str: ...", "bad.py:3: f: NameError: name 'Dya' is not defined"),
        ("\ndef f(a: complex) -> str: ...", "bad.py:2: f: "),
        ("class F:\n def __call__(self, a: 'Dya'): ...\nf = F()", "bad.py: "),
    ],
)
def test_code_that_cannot_be_used_is_told_with_its_line(
    tmp_path: Path, tools: str, expected: str
) -> None:
    broken = said(tmp_path, '[[tools]]\npython = "bad.py:f"', bad__py=tools)
    assert broken.startswith(f"agent.toml:1:3: tools[0]: {expected}")
    assert len(broken.splitlines()) == 1
    left = any("bad_py" in name and tmp_path.name in name for name in sys.modules)
    assert left != ("cannot be loaded" in broken)


def test_isolated_functions_of_a_file_share_a_process_and_are_what_they_are_in_the_gateway(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop.py").write_text("def a(x: int):\n    'A.'\ndef b():\n    'B.'\n")
    entries = ["shop.py:a", "shop.py:b"]
    text = "".join(f'[[tools]]\npython = "{each}"\n' for each in entries)
    here = load(write(tmp_path, text)).tools
    apart = load(write(tmp_path, text.replace('"\n', '"\nisolated = true\n'))).tools
    assert [tool.spec for tool in apart.values()] == [tool.spec for tool in here.values()]
    one, other = apart.values()
    assert isinstance(one, IsolatedTool)
    assert isinstance(other, IsolatedTool)
    assert one.process is other.process


def test_a_transfer_may_only_go_where_the_file_says(tmp_path: Path) -> None:
    agent = load(
        write(
            tmp_path,
            '[[tools]]\nbuiltin = "transfer"\n[transfers.desk]\nto = "sip:desk@example.com"\n'
            'description = "the front desk"\n[transfers.boss]\nto = "+1555"',
        )
    )
    (spec,) = agent.specs
    target = spec.parameters["properties"]["target"]
    assert target["enum"] == ["boss", "desk"]
    assert target["description"] == "desk: the front desk"


def test_a_transfer_to_numbers_of_a_pattern_is_told_to_the_model(tmp_path: Path) -> None:
    agent = load(
        write(
            tmp_path,
            '[[tools]]\nbuiltin = "transfer"\n[transfers.desk]\nto = "+1555"\n'
            '[transfers.colleagues]\npattern = "+4930123*"\ndescription = "anybody here"',
        )
    )
    (spec,) = agent.specs
    target = spec.parameters["properties"]["target"]
    assert "enum" not in target
    assert target["description"] == "One of desk, +4930123*. +4930123*: anybody here"
    assert agent.conversation().transfers.find("+49301239") == "+49301239"


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        ("", "exactly one of to and pattern"),
        ('to = "1"\npattern = "1"', "exactly one of to and pattern"),
        ('pattern = "[0-9]+"', "is no pattern"),
        ('to = "sip:desk@pbx.example.com?Route=x"', "neither a number nor sip:USER@HOST"),
    ],
)
def test_a_transfer_that_is_none_is_said(tmp_path: Path, entry: str, wrong: str) -> None:
    assert wrong in said(tmp_path, f"[transfers.desk]\n{entry}")


VARIABLES = '[variables]\nnumber = "caller"\nid = "X-Customer"\nplan = "plan"'


def test_variables_of_the_call_come_in_a_note_and_not_in_the_instructions(tmp_path: Path) -> None:
    agent = load(write(tmp_path, 'instructions = "Be brief."\n' + VARIABLES))
    call = CallInfo("c", "sip", "a", "+1555", variables={"X-Customer": 17, "other": "x"})
    assert agent.variables(call) == {"number": "+1555", "id": "17"}
    assert agent.note(call) == Entry(
        "note",
        "About this call: number is +1555; id is 17.",
        name="call",
        data={"number": "+1555", "id": "17"},
    )
    assert agent.note(CallInfo("c", "sip", "a")) is None
    assert agent.conversation().instructions == "Be brief."
    context = agent.context(call, datetime(2025, 12, 2, 23, 0, tzinfo=UTC))
    assert context.variables == {"number": "+1555", "id": "17"}
