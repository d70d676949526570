"""What was found of each class of data: who reads its fields, who gives them, who makes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.unwired.kinds import NOTHING, UNKNOWN, Annotations, Itself, Kind, Makes, Many, One
from tools.unwired.program import Class, Program

Name = tuple[str, str]
"""Module and class."""

WHOLE = frozenset({"asdict", "astuple", "encode", "to_builtins", "print_json"})
"""Functions that read every field of what they are given, and of what is in it."""

LISTED = frozenset({"fields", "getattr", "vars"})
"""Functions that read the fields of what they are given by their list."""


@dataclass
class Uses:
    """Every use that was noted."""

    read: set[tuple[str, str, str]] = field(default_factory=set)
    "module, class and field"
    anywhere: set[str] = field(default_factory=set)
    "names that were read of something that nobody knows"
    by_port: set[tuple[Name, str]] = field(default_factory=set)
    "ports, and what was read of whoever implements them"
    given: set[tuple[str, str, str]] = field(default_factory=set)
    written: set[Name] = field(default_factory=set)
    "classes whose objects are read whole: written as JSON, or field by field by their list"
    parsed: set[Name] = field(default_factory=set)
    "classes that are values themselves: somebody makes objects of what came from outside"
    made: set[Name] = field(default_factory=set)
    met: set[Name] = field(default_factory=set)
    "classes that are told from others: in a pattern, by isinstance"


class Notebook:
    """Notes uses; knows whose a field is when a child has it from its parent."""

    def __init__(self, program: Program, annotations: Annotations) -> None:
        self.uses = Uses()
        self.attributes: dict[tuple[str, str, str], Kind] = {}
        "what is assigned to `self` somewhere in a class"
        self._program = program
        self._annotations = annotations

    def met(self, cls: Class) -> None:
        """Note that a class is told from others."""
        self.uses.met.add((cls.module, cls.name))

    def given(self, cls: Class, name: str) -> None:
        """Note that a field is given a value."""
        for each in self._program.parents(cls):
            if name in each.fields:
                self.uses.given.add((each.module, each.name, name))

    def member(self, cls: Class, name: str) -> Kind:
        """Note that a field or a method is read; give what it is."""
        for each in self._program.parents(cls):
            if name in each.fields:
                if each.is_port:
                    self.uses.by_port.add(((each.module, each.name), name))
                self.uses.read.add((each.module, each.name, name))
                return self._annotations.read(each.fields[name].annotation, each.module)
            if name in each.methods:
                return self._method(each, name)
            if (each.module, each.name, name) in self.attributes:
                return self.attributes[each.module, each.name, name]
        # A parser that is made of a class gives its objects.
        return frozenset({Makes(frozenset({One(cls)}))}) if name == "decode" else NOTHING

    def _method(self, cls: Class, name: str) -> Kind:
        if cls.is_port:
            self.uses.by_port.add(((cls.module, cls.name), name))
        method = cls.methods[name]
        kind = self._annotations.read(method.returns, cls.module)
        decorators = {ast.unparse(one).rpartition(".")[2] for one in method.decorator_list}
        is_field = decorators & {"property", "cached_property", "setter"}
        return kind if is_field else frozenset({Makes(kind)})

    def filled(self, cls: Class, node: ast.Call, count: int) -> None:
        """Note which fields are given in a call: the first so many, and those by name."""
        names = [each.arg for each in node.keywords]
        ordered = [name for each in self._program.parents(cls) for name in each.fields]
        if any(isinstance(each, ast.Starred) for each in node.args) or None in names:
            count = len(ordered)
        for name in (*ordered[:count], *(each for each in names if each is not None)):
            self.given(cls, name)

    def called(
        self, node: ast.Call, name: str, does: Kind, arguments: list[Kind], named: list[Kind]
    ) -> None:
        """Note what a call makes, fills in, tells from others, or reads as a whole."""
        if name == "isinstance" and len(arguments) == 2:
            for one in arguments[1]:
                if isinstance(one, Itself):
                    self.met(one.of)
            return
        for one in does:
            if isinstance(one, Itself):
                self.uses.made.add((one.of.module, one.of.name))
                self.filled(one.of, node, len(arguments))
        if name == "replace":
            for one in arguments[0] if arguments else NOTHING:
                if isinstance(one, One):
                    self.filled(one.of, node, 0)
        for one in (each for kind in (*arguments, *named) for each in opened(kind)):
            if isinstance(one, Itself):
                self._listed(one.of, self.uses.parsed)
            elif name in WHOLE:
                self._listed(one.of, self.uses.written)
            elif name in LISTED and not does:
                self.uses.written.add((one.of.module, one.of.name))

    def _listed(self, cls: Class, among: set[Name]) -> None:
        """Note a class, and those in its fields, that is made or read by the list of them."""
        if (cls.module, cls.name) in among:
            return
        among.update((each.module, each.name) for each in self._program.parents(cls))
        for child in self._program.children(cls):
            self._listed(child, among)
        for each in self._program.parents(cls):
            for annotated in each.fields.values():
                for one in opened(self._annotations.read(annotated.annotation, each.module)):
                    if isinstance(one, One):
                        self._listed(one.of, among)


def opened(kind: Kind) -> Iterator[One | Itself]:
    """Return the objects and classes that a kind is, or holds."""
    for each in kind:
        match each:
            case Many(of=inner):
                yield from opened(inner)
            case One() | Itself():
                yield each
            case _:
                pass


def given_back(given: list[Kind]) -> Kind:
    """Return what a generic function gives: an object of a class, or the kind, that it is given."""
    found: Kind = frozenset(
        One(each.of) if isinstance(each, Itself) else each
        for kind in given
        for each in kind
        if isinstance(each, Itself | One | Many)
    )
    return found or UNKNOWN
