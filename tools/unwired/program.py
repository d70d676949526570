"""The product's source as a whole: its modules, its classes, and what each name in them means."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

Code = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Class:
    """A class of the product."""

    module: str
    name: str
    node: ast.ClassDef

    @property
    def decorated(self) -> tuple[str, ...]:
        """The names of its decorators."""
        found = []
        for each in self.node.decorator_list:
            call = each.func if isinstance(each, ast.Call) else each
            found.append(ast.unparse(call).rpartition(".")[2])
        return tuple(found)

    @property
    def bases(self) -> tuple[str, ...]:
        """Its parents as they are written, without their parameters."""
        return tuple(ast.unparse(each).partition("[")[0] for each in self.node.bases)

    @property
    def is_data(self) -> bool:
        """It is a dataclass or a msgspec Struct."""
        return "dataclass" in self.decorated or any(
            each.rpartition(".")[2] == "Struct" for each in self.bases
        )

    @property
    def is_port(self) -> bool:
        """It is a Protocol."""
        return any(each.rpartition(".")[2] == "Protocol" for each in self.bases)

    @cached_property
    def fields(self) -> dict[str, ast.AnnAssign]:
        """The fields of a class of data, in their order."""
        found = {}
        for each in self.node.body:
            match each:
                case ast.AnnAssign(target=ast.Name(id=name)) if not _is_of_class(each.annotation):
                    found[name] = each
                case _:
                    pass
        return found

    @cached_property
    def methods(self) -> dict[str, Code]:
        """Its methods and properties."""
        return {each.name: each for each in self.node.body if isinstance(each, Code)}


@dataclass
class Module:
    """One file."""

    name: str
    path: str
    tree: ast.Module
    classes: dict[str, Class] = field(default_factory=dict)
    functions: dict[str, Code] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    "by the name here: the module, and the name there; an empty name for the module itself"
    values: dict[str, ast.Assign | ast.AnnAssign] = field(default_factory=dict)


class Program:
    """Every module of the product, by name."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        """`sources`: the text of each file by its path."""
        self.modules: dict[str, Module] = {}
        for path, text in sources.items():
            module = _module(path, ast.parse(text))
            self.modules[module.name] = module

    def classes(self) -> Iterator[Class]:
        """Return every class that stands at the top of a module."""
        for module in self.modules.values():
            yield from module.classes.values()

    def find(self, module: str, name: str) -> Class | Module | Code | ast.stmt | None:
        """Return what a name in a module means; None: a stranger's, or a builtin."""
        here = self.modules.get(module)
        if here is None:
            return None
        found = here.classes.get(name) or here.functions.get(name) or here.values.get(name)
        if found is not None or name not in here.imports:
            return found
        there, original = here.imports[name]
        if not original:
            return self.modules.get(there)
        if f"{there}.{original}" in self.modules:
            return self.modules[f"{there}.{original}"]
        return self.find(there, original)

    def members(self, cls: Class) -> frozenset[str]:
        """Name everything that objects of a class have, as far as it is declared or assigned."""
        found: set[str] = set()
        for each in self.parents(cls):
            found |= each.fields.keys() | each.methods.keys()
            for node in ast.walk(each.node):
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        found.add(name)
                    case ast.Assign(targets=[ast.Name(id=name)]):
                        found.add(name)
                    case _:
                        pass
        return frozenset(found)

    def home(self, module: str, name: str) -> str:
        """Return the module in which a name that is known in `module` is made."""
        here = self.modules[module]
        if name in here.imports and name not in here.classes:
            there, original = here.imports[name]
            return self.home(there, original) if there in self.modules else there
        return module

    def children(self, cls: Class) -> list[Class]:
        """Return the classes that inherit from this one directly."""
        return self._children.get((cls.module, cls.name), [])

    @cached_property
    def _children(self) -> dict[tuple[str, str], list[Class]]:
        found: dict[tuple[str, str], list[Class]] = {}
        for each in self.classes():
            for parent in list(self.parents(each))[1:]:
                found.setdefault((parent.module, parent.name), []).append(each)
        return found

    def parents(self, cls: Class) -> Iterator[Class]:
        """Return a class and the product's own among its ancestors."""
        yield cls
        for base in cls.bases:
            found = self.find(cls.module, base)
            if isinstance(found, Class):
                yield from self.parents(found)


def _module(path: str, tree: ast.Module) -> Module:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = Module(name, path, tree)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(there), names=names):
                for each in names:
                    module.imports[each.asname or each.name] = (there, each.name)
            case ast.Import(names=names):
                for each in names:
                    if each.asname or "." not in each.name:
                        module.imports[each.asname or each.name] = (each.name, "")
            case ast.ClassDef():
                module.classes.setdefault(node.name, Class(name, node.name, node))
            case _:
                pass
    for statement in tree.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                module.functions[statement.name] = statement
            case ast.Assign(targets=[ast.Name(id=target)]):
                module.values[target] = statement
            case ast.AnnAssign(target=ast.Name(id=target)):
                module.values[target] = statement
            case _:
                pass
    return module


def _is_of_class(annotation: ast.expr) -> bool:
    return ast.unparse(annotation).startswith(("ClassVar", "KW_ONLY"))
