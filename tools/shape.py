"""Checks sizes and habits of the code that ruff, mypy and import-linter do not look at.

The rules: a file has at most 300 lines (of tests 400: they mirror a module, and its cases are read
beside each other), a class 250 lines, 12 attributes that change and 20 methods, a function 40
statements; names do not end in words that say nothing; tasks are started in groups alone; a broad
`except` carries a `# fence:` comment that says what it guards; the product asks no object whether
it happens to have a name (what may be there is declared), and uses no library's private names;
what the product makes it reads, and what it reads it makes (tools/unwired).
Exceptions stand in tools/shape.toml, each with its reason; one that no longer applies is a fault.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tools.unwired.check import loose_ends

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "media",
    "inference",
    "turn",
    "tts",
    "gateway",
    "agents",
    "bench",
    "tools",
    "tests",
    "deploy",
)

PRODUCT = ("media", "inference", "turn", "tts", "gateway")
"""Where what an object can do is declared, never looked for."""

FILE_LINES = 300
TEST_LINES = 400
FUNCTION_STATEMENTS = 40
CLASS_LINES = 250
CLASS_ATTRIBUTES = 12
CLASS_METHODS = 20

HOLLOW = ("Manager", "Handler", "Helper", "Util", "Utils", "Base", "Impl", "Service", "Processor")
"""Endings that say nothing about what a class decides."""

LOOSE = ("create_task", "ensure_future", "gather", "wait_for")
"""Ways to start work that no task group owns; `create_task` on a group is the right one."""

BROAD = ("Exception", "BaseException")

LONG = "This file is long because"
"""A file that must be longer says why in its first lines, beginning so."""

HEAD = 15


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that breaks one rule."""

    rule: str
    where: str
    "`path` or `path:name`, as an exception names it"
    line: int
    said: str

    def __str__(self) -> str:
        path = self.where.partition(":")[0]
        return f"{path}:{self.line}: {self.rule}: {self.said}"


def look(path: str, text: str) -> Iterator[Finding]:
    """Find everything in one file that breaks a rule."""
    lines = text.splitlines()
    most = TEST_LINES if path.startswith("tests/") else FILE_LINES
    if len(lines) > most and LONG not in "\n".join(lines[:HEAD]):
        yield Finding("file-lines", path, 1, f"{len(lines)} lines, at most {most}")
    tree = ast.parse(text)
    product = path.startswith(tuple(f"{room}/" for room in PRODUCT))
    own = _own_names(tree) if product else frozenset[str]()
    for name, node in _named(tree, ""):
        where = f"{path}:{name}" if name else path
        if product:
            yield from _looked_for(where, node, own)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _function(where, node)
            case ast.ClassDef():
                yield from _class(where, node)
            case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in LOOSE:
                if _loose(attr, owner):
                    said = f"{ast.unparse(node.func)} starts work outside a task group"
                    yield Finding("loose-task", where, node.lineno, said)
            case ast.ExceptHandler() if _broad(node) and "# fence:" not in lines[node.lineno - 1]:
                said = "broad except without a `# fence:` comment that says what it guards"
                yield Finding("broad-except", where, node.lineno, said)
            case _:
                pass


def _named(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """Walk a tree, each node with the dotted name of what it stands in."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}" if name else child.name
        yield inner, child
        yield from _named(child, inner)


def _function(where: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    count = sum(1 for _ in _statements(node))
    if count > FUNCTION_STATEMENTS:
        said = f"{node.name} has {count} statements, at most {FUNCTION_STATEMENTS}"
        yield Finding("function-statements", where, node.lineno, said)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Walk the statements of a function, without its docstring and those of functions inside."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.stmt():
                yield child
            case _:
                pass
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _statements(child)


def _class(where: str, node: ast.ClassDef) -> Iterator[Finding]:
    for word in HOLLOW:
        if node.name.endswith(word):
            said = f"{node.name}: {word!r} does not say what it decides"
            yield Finding("hollow-name", where, node.lineno, said)
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if lines > CLASS_LINES:
        said = f"{node.name} has {lines} lines, at most {CLASS_LINES}"
        yield Finding("class-lines", where, node.lineno, said)
    methods = [
        part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    if len(methods) > CLASS_METHODS:
        said = f"{node.name} has {len(methods)} methods, at most {CLASS_METHODS}"
        yield Finding("class-methods", where, node.lineno, said)
    stored = set(_stored(node))
    if len(stored) > CLASS_ATTRIBUTES:
        said = f"{node.name} stores {len(stored)} attributes, at most {CLASS_ATTRIBUTES}"
        yield Finding("class-attributes", where, node.lineno, said)


def _stored(node: ast.ClassDef) -> Iterator[str]:
    """Name what an instance stores and may change; a frozen dataclass is data, not state."""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if any("dataclass" in each and "frozen=True" not in each for each in decorators):
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                yield part.target.id
    for inner in ast.walk(node):
        targets: Iterable[ast.expr] = ()
        match inner:
            case ast.Assign(targets=several):
                targets = several
            case ast.AnnAssign(target=one) | ast.AugAssign(target=one):
                targets = (one,)
            case _:
                pass
        for target in targets:
            for leaf in ast.walk(target):
                match leaf:
                    case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                        yield attr
                    case _:
                        pass


def _looked_for(where: str, node: ast.AST, own: frozenset[str]) -> Iterator[Finding]:
    """Find what is asked for by name, and what belongs to somebody else."""
    match node:
        case (
            ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=name), _])
            | ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=name)])
        ):
            said = f"{ast.unparse(node)}: declare {name} where the object's port is"
            yield Finding("looked-for", where, node.lineno, said)
        case ast.Attribute(attr=name) if _private(name) and name not in own:
            said = f"{ast.unparse(node)} is private to a library"
            yield Finding("private-name", where, node.lineno, said)
        case ast.Attribute(attr=name, value=ast.Call(func=ast.Name(id="super"))) if _private(name):
            said = f"{name} is private to the parent"
            yield Finding("private-name", where, node.lineno, said)
        case _:
            pass


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _own_names(tree: ast.AST) -> frozenset[str]:
    """Return the private names that a file makes itself, and so may use between its own."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def _loose(attr: str, owner: ast.expr) -> bool:
    """Return whether a call starts work that nobody waits for."""
    said = ast.unparse(owner).lower()
    if attr == "create_task":
        return said == "asyncio" or said.endswith(("loop", "loop()"))
    return said == "asyncio"


def _broad(node: ast.ExceptHandler) -> bool:
    """Return whether a handler catches everything and keeps it."""
    match node.body[-1]:
        case ast.Raise(exc=None):
            return False  # it only cleans up on the way
        case _:
            pass
    if node.type is None:
        return True
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(isinstance(kind, ast.Name) and kind.id in BROAD for kind in kinds)


def excused(findings: Iterable[Finding], allowed: Iterable[dict[str, str]]) -> list[str]:
    """Take the exceptions off the findings; give what is left to say, sorted."""
    waiting = {(each["rule"], each["where"]): each["reason"] for each in allowed}
    used: set[tuple[str, str]] = set()
    left: list[str] = []
    for finding in findings:
        fits = [
            (rule, where)
            for (rule, where), reason in waiting.items()
            if reason and rule == finding.rule and fnmatchcase(finding.where, where)
        ]
        used.update(fits)
        if not fits:
            left.append(str(finding))
    for rule, where in waiting.keys() - used:
        left.append(f"tools/shape.toml: {rule} at {where} is excused and does not occur")
    return sorted(left)


def project() -> dict[str, str]:
    """Return the text of every file whose wiring is looked at, by its path.

    The tests are left out: what only a test reads, nobody reads.
    """
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in FOLDERS
        if folder != "tests"
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def main() -> int:
    """Look at the whole project and print what breaks a rule."""
    findings: list[Finding] = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            findings += look(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    findings += [
        Finding(each.rule, each.where, each.line, each.said) for each in loose_ends(project())
    ]
    table = tomllib.loads((ROOT / "tools/shape.toml").read_text("utf-8"))
    left = excused(findings, table.get("allow", []))
    for line in left:
        print(line)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
