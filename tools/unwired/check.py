"""The rules: what is made is read, what is read is made, and what is neither is not there.

A field with a default that no part of the product ever gives is a switch that nobody can turn;
numbers other than zero are limits with a name, and what comes from outside is given there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.unwired.program import Class, Program
from tools.unwired.statements import Reader
from tools.unwired.uses import Uses

PRODUCT = ("media.", "inference.", "turn.", "tts.", "gateway.")
"""Where it counts; what the benches and tools read is read."""


@dataclass(frozen=True, slots=True)
class Loose:
    """One end that leads nowhere."""

    rule: str
    where: str
    "`path:Class` or `path:Class.field`"
    line: int
    said: str


def loose_ends(sources: Mapping[str, str]) -> Iterator[Loose]:
    """Find what is unwired in the files given by path and text."""
    program = Program(sources)
    reader = Reader(program)
    for _ in range(2):  # what an attribute is may be told by another one
        for module in program.modules.values():
            reader.learn(module)
    for module in program.modules.values():
        reader.go_through(module)
    uses = reader.uses
    made = _with_parents(program, uses)
    ports = {(cls.module, cls.name): program.members(cls) for cls in program.classes()}
    asked = [(ports[port], name) for port, name in uses.by_port]
    for cls in program.classes():
        if cls.is_data and f"{cls.module}.".startswith(PRODUCT):
            has = program.members(cls)
            served = {name for wants, name in asked if wants <= has}
            yield from _of_class(cls, program.modules[cls.module].path, uses, made, served)


def _with_parents(program: Program, uses: Uses) -> set[tuple[str, str]]:
    """Return the classes that are made, or inherited from by one that is."""
    found: set[tuple[str, str]] = set()
    for cls in program.classes():
        if (cls.module, cls.name) in uses.made | uses.parsed:
            found.update((each.module, each.name) for each in program.parents(cls))
    return found


def _of_class(
    cls: Class, path: str, uses: Uses, made: set[tuple[str, str]], served: set[str]
) -> Iterator[Loose]:
    """Find the loose ends of one class; `served`: what is read of it as of a port."""
    key = (cls.module, cls.name)
    where = f"{path}:{cls.name}"
    if key not in made:
        yield Loose("never-made", where, cls.node.lineno, f"nobody makes a {cls.name}")
        return
    if not cls.fields and key in uses.made and key not in uses.met:
        said = f"a {cls.name} is made, and nobody tells it from anything else"
        yield Loose("never-met", where, cls.node.lineno, said)
    served = served | uses.anywhere | set(_named_in_metadata(cls))
    for name, line in cls.fields.items():
        field = (*key, name)
        outside = key in uses.parsed
        read = field in uses.read or key in uses.written or name in served
        if not read and not (outside and _is_checked(line)):
            yield Loose("never-read", f"{where}.{name}", line.lineno, f"nobody reads {name}")
        if field not in uses.given and not outside and _is_switch(line):
            said = f"{name} is always {ast.unparse(line.value) if line.value else ''}"
            yield Loose("never-given", f"{where}.{name}", line.lineno, said)


def _named_in_metadata(cls: Class) -> Iterator[str]:
    """Return the fields that another field's metadata names, for whoever reads that."""
    for line in cls.fields.values():
        match line.value:
            case ast.Call(func=ast.Name(id="field"), keywords=keywords):
                for each in keywords:
                    if each.arg == "metadata" and isinstance(each.value, ast.Dict):
                        for value in each.value.values:
                            if isinstance(value, ast.Constant):
                                yield str(value.value)
            case _:
                pass


def _is_checked(line: ast.AnnAssign) -> bool:
    """Return whether reading it in is all its use: it may have one value only."""
    match line.annotation:
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Constant()):
            return True
        case _:
            return False


def _is_switch(line: ast.AnnAssign) -> bool:
    """Return whether a default is one of few values, or stands for `not known`."""
    if line.value is None or _is_checked(line):
        return False
    try:
        value = ast.literal_eval(line.value)
    except ValueError:
        return False  # made anew for each
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, str):
        return not value or "Literal" in ast.unparse(line.annotation)
    return not value
