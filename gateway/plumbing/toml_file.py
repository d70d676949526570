"""Turns a TOML file into frozen dataclasses, and says of each mistake where it stands.

A dataclass is the schema: its fields are the keys, their annotations what is allowed.
Every mistake of a file is found in one go, each with its dotted path, its line, what was found,
what is allowed, and the nearest right name where a name is wrong.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from gateway.plumbing.type_words import close_to, core_of, describe, name_of, show, written_out

T = TypeVar("T")
Table = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong in a file."""

    path: str
    "dotted, as in `server.port`; empty for the file as a whole"
    line: int
    "counted from 1; 0: not known"
    said: str


class TomlError(ValueError):
    """A file is not as it should be; its text is for the operator, one line a mistake."""

    def __init__(self, name: str, mistakes: Sequence[Mistake]) -> None:
        self.name = name
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(_line(name, each) for each in mistakes))


def _line(name: str, mistake: Mistake) -> str:
    place = f"{name}:{mistake.line}" if mistake.line else name
    return (
        f"{place}: {mistake.path}: {mistake.said}" if mistake.path else f"{place}: {mistake.said}"
    )


@dataclass(frozen=True, slots=True)
class TomlFile:
    """The content of a file, and the line of each key."""

    name: str
    table: Table
    lines: Mapping[str, int]

    def line(self, path: str) -> int:
        """Return the line of a dotted path, or of the nearest table around it."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = re.sub(r"(\.[^.\[]*|\[\d+\]|^[^.\[]*)$", "", path)
        return 0


EMPTY = TomlFile("", {}, {})


def read(path: Path) -> TomlFile:
    """Read a file; raise TomlError where it is not TOML or cannot be read."""
    try:
        return parse(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise TomlError(
            str(path), [Mistake("", 0, (error.strerror or "unreadable").lower())]
        ) from None
    except UnicodeDecodeError:
        raise TomlError(str(path), [Mistake("", 0, "the file is not UTF-8 text")]) from None


def parse(text: str, name: str) -> TomlFile:
    """Parse TOML text; raise TomlError with the line of a syntax error."""
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise TomlError(name, [Mistake("", 0, "nested too deeply")]) from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        said = re.sub(r" \(at .*\)$", "", str(error))
        raise TomlError(name, [Mistake("", line, said[:1].lower() + said[1:])]) from None
    lines: dict[str, int] = {}
    for place, line in _places(text):
        while place and place not in lines:  # `a.b = 1` begins the table `a` too
            lines[place] = line
            place = place.rpartition(".")[0]
    return TomlFile(name, table, lines)


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*((?:[\w.-]|"[^"]*"|'[^']*')+(?:\s*\.\s*[\w"'-]+)*)\s*=""")
_FENCES = re.compile(r'"""|\'\'\'')


def _places(text: str) -> Iterator[tuple[str, int]]:
    """Find the line of each table and key of a text that is known to be TOML."""
    prefix, fence, depth = "", "", 0
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not fence and not depth:
            if header := _HEADER.match(line):
                prefix = _within(_dotted(header[2]), counts)
                if header[1] == "[[":
                    index = counts.get(prefix, 0)
                    counts[prefix] = index + 1
                    yield prefix, number
                    prefix = f"{prefix}[{index}]"
                yield prefix, number
            elif key := _KEY.match(line):
                yield (f"{prefix}.{_dotted(key[1])}" if prefix else _dotted(key[1])), number
        for mark in _FENCES.findall(line):
            fence = "" if fence == mark else (fence or mark)
        if not fence and not _HEADER.match(line):
            bare = re.sub(r"\"[^\"]*\"|'[^']*'|#.*", "", line)
            depth = max(0, depth + bare.count("[") - bare.count("]"))


def _within(path: str, counts: Mapping[str, int]) -> str:
    """Put the present index behind each list of tables that a header's path goes through."""
    place = ""
    for part in path.split("."):
        if place in counts:
            place += f"[{counts[place] - 1}]"
        place = f"{place}.{part}" if place else part
    return place


def _dotted(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


# --- from tables to dataclasses ------------------------------------------------------------------


def decode(kind: type[T], file: TomlFile, table: Table | None = None, path: str = "") -> T:
    """Make a dataclass of a table (of the whole file, unless given); raise TomlError."""
    mistakes: list[Mistake] = []
    made = _Decoder(file, kind, mistakes).table(kind, file.table if table is None else table, path)
    if mistakes:
        raise TomlError(file.name, sorted(mistakes, key=lambda each: each.line))
    return made  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Decoder:
    file: TomlFile
    root: Any
    mistakes: list[Mistake]

    def wrong(self, path: str, said: str) -> None:
        self.mistakes.append(Mistake(path, self.file.line(path), said))

    def table(self, kind: Any, table: Table, path: str) -> Any:
        """Make `kind` of a table; what is wrong is noted, and None is given."""
        fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
        hints = get_type_hints(kind, include_extras=True)
        values: dict[str, Any] = {}
        before = len(self.mistakes)
        for key, value in table.items():
            inner = f"{path}.{key}" if path else key
            if key not in fields:
                self.wrong(inner, f"there is no such setting{self.nearest(key, path, fields)}")
            elif variable := fields[key].metadata.get("env"):
                self.wrong(inner, f"a secret has no place in a file; set {variable} instead")
            elif fields[key].metadata.get("secret") and (shown := written_out(value)) is not None:
                place = f"{inner}.{shown}" if shown else inner
                self.wrong(place, "a secret has no place in a file; write the $NAME of a variable")
            else:
                values[key] = self.value(hints[key], value, inner)
        for key, field in fields.items():
            if key not in table and _required(field):
                said = f"{key} is missing; it must be {describe(hints[key])}"
                self.wrong(path, said)
        if len(self.mistakes) > before:
            return None
        try:
            return kind(**values)
        except ValueError as error:
            self.wrong(path, str(error))
            return None

    def value(self, hint: Any, value: object, path: str) -> Any:
        """Make a value of the annotated kind; what is wrong is noted."""
        core = core_of(hint)
        origin, inner = get_origin(core), get_args(core)
        if dataclasses.is_dataclass(core):
            if isinstance(value, dict):
                return self.table(core, value, path)
        elif origin is tuple and inner[-1] is Ellipsis and dataclasses.is_dataclass(inner[0]):
            if isinstance(value, list) and all(isinstance(each, dict) for each in value):
                pairs = enumerate(value)
                return tuple(self.table(inner[0], each, f"{path}[{n}]") for n, each in pairs)
        elif name_of(origin) in ("dict", "Mapping") and isinstance(value, dict):
            places = {key: f"{path}.{key}" for key in value}
            return {
                self.value(inner[0], key, places[key]): self.value(inner[1], each, places[key])
                for key, each in value.items()
            }
        try:
            return msgspec.convert(value, hint, strict=True, dec_hook=_special)
        except (msgspec.ValidationError, TypeError):
            self.wrong(
                path, f"found {show(value)}, it must be {describe(hint)}{close_to(hint, value)}"
            )
            return None

    def nearest(self, key: str, path: str, fields: Mapping[str, object]) -> str:
        """Suggest a name: one like it in this table, or the same one in another."""
        like = difflib.get_close_matches(key, fields, n=1, cutoff=0.6)
        if like:
            return f"; did you mean {path + '.' if path else ''}{like[0]}?"
        everywhere = dict.fromkeys(names(self.root))
        same = [name for name in everywhere if name.rpartition(".")[2] == key]
        if same:
            return f"; did you mean {same[0]}?"
        return f"; here are: {', '.join(sorted(fields))}"


def names(kind: Any, path: str = "") -> Iterator[str]:
    """List every dotted name that a file may hold."""
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        inner = f"{path}.{field.name}" if path else field.name
        yield inner
        if dataclasses.is_dataclass(core := core_of(hints[field.name])):
            yield from names(core, inner)


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _special(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    raise TypeError(f"{kind} is not a kind a file can hold")
