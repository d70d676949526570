"""What an annotation or an expression stands for, as far as it matters for who reads a field."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tools.unwired.program import Class, Module, Program

SCALARS = frozenset({"str", "int", "float", "bytes", "bool", "object", "bytearray", "complex"})

CLEAR = frozenset({"Annotated", "ClassVar", "Final", "Optional", "Union", "Awaitable", "Required"})
"""What stands around a kind and leaves it what it is."""


@dataclass(frozen=True)
class One:
    """An object of a class."""

    of: Class


@dataclass(frozen=True)
class Itself:
    """A class, as a value."""

    of: Class


@dataclass(frozen=True)
class Many:
    """Something that holds others."""

    of: Kind


@dataclass(frozen=True)
class Makes:
    """Something that gives this when it is called."""

    of: Kind


@dataclass(frozen=True)
class Somebody:
    """Nobody knows."""


Kind = frozenset["One | Itself | Many | Makes | Somebody"]
UNKNOWN: Kind = frozenset({Somebody()})
NOTHING: Kind = frozenset()
"""A number, a text, or an object of a library."""


class Annotations:
    """Reads annotations."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def read(self, node: ast.expr | None, module: str) -> Kind:
        """Return the kind that an annotation in a module names."""
        match node:
            case None:
                return UNKNOWN
            case ast.Constant(value=str(text)):
                return self.read(ast.parse(text, mode="eval").body, module)
            case ast.Name(id=name):
                return self._named(name, module)
            case ast.Attribute(value=ast.Name(id=outer), attr=name):
                found = self._program.find(module, outer)
                return self._named(name, found.name) if isinstance(found, Module) else NOTHING
            case ast.BinOp(left=left, right=right):
                return self.read(left, module) | self.read(right, module)
            case ast.Subscript(value=outer, slice=inner):
                return self._with_parameters(outer, inner, module)
            case _:
                return NOTHING

    def _named(self, name: str, module: str) -> Kind:
        if name == "Self":
            return UNKNOWN
        match self._program.find(module, name):
            case Class() as cls:
                return frozenset({One(cls)})
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                if isinstance(value, ast.Call):  # a TypeVar, a NewType
                    return UNKNOWN
                return self.read(value, self._program.home(module, name))
            case _:
                return NOTHING

    def _with_parameters(self, outer: ast.expr, inner: ast.expr, module: str) -> Kind:
        name = ast.unparse(outer).rpartition(".")[2]
        parameters = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        if name == "Literal":
            return NOTHING
        if name == "Callable":
            return frozenset({Makes(self.read(parameters[-1], module))})
        if name == "Coroutine":
            return self.read(parameters[-1], module)
        if name in ("Annotated", "AsyncGenerator", "Generator"):
            parameters = parameters[:1]
        read = NOTHING.union(*(self.read(each, module) for each in parameters))
        if name in CLEAR:
            return read
        if name == "type":
            return frozenset({Itself(each.of) for each in read if isinstance(each, One)})
        found = self.read(outer, module) if isinstance(outer, ast.Name) else NOTHING
        if any(isinstance(each, One) for each in found):
            return found
        return frozenset({Many(read)})
