"""Imports the operator's own code, which may do anything at all while it is imported."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from gateway.tools.functions import FunctionTool, function_tool
from inference.errors import as_error, in_words

LARGEST = 128 * 1024
"""Bytes of a file. Compiling it keeps the interpreter, in whichever thread: six megabytes of a list
made every call wait for four seconds, and so much takes a tenth of one."""


def named_module(name: str) -> ModuleType:
    """Import a module by its name; raise ValueError in words for the operator."""
    try:
        return importlib.import_module(name)
    except BaseException as raised:  # fence: an operator's own code may raise anything
        raise ValueError(f"{name} cannot be imported: {told(raised)}") from None


def file_module(path: Path) -> ModuleType:
    """Run a file as a module; raise ValueError that names the line in it that is to blame.

    What was imported from it before stays as it is where this fails.
    """
    spec = importlib.util.spec_from_file_location(_module_name(path), path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    if (size := path.stat().st_size if path.exists() else 0) > LARGEST:
        said = f"it has {size} bytes, and {LARGEST} are allowed; data belongs in a file of its own"
        raise ValueError(f"{path.name} cannot be loaded: {said}")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # data classes look for the module they are defined in
    try:
        spec.loader.exec_module(module)
    except BaseException as raised:  # fence: an operator's own code may raise anything
        if before is None:
            del sys.modules[spec.name]
        else:
            sys.modules[spec.name] = before
        where = f"{path.name}{_line(raised, path)}"
        raise ValueError(f"{where} cannot be loaded: {told(raised)}") from None
    return module


def module(where: str) -> ModuleType:
    """Import a module by its name or, where it is a file, by its path; raise ValueError."""
    return file_module(Path(where)) if where.endswith(".py") else named_module(where)


def found(where: str, module: ModuleType, name: str) -> Callable[..., Any]:
    """Find a function; raise ValueError in words for the operator."""
    function: Callable[..., Any] | None = getattr(module, name, None)
    if function is None or not callable(function):
        raise ValueError(f'there is no function "{name}" in {Path(where).name}')
    return function


def made(where: str, function: Callable[..., Any], name: str) -> FunctionTool:
    """Make a tool of a function; raise ValueError that names its line."""
    try:
        return function_tool(function, name)
    except BaseException as raised:  # fence: hints are an operator's own code, read only now
        raise ValueError(f"{defined_at(function, Path(where).name)}: {told(raised)}") from None


def told(raised: BaseException) -> str:
    """Return what was raised."""
    return in_words(as_error(raised))


def defined_at(function: Callable[..., Any], where: str) -> str:
    """Return where a function stands, as `tools.py:12: book`."""
    if not isinstance(function, FunctionType):
        return where
    code = function.__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}: {code.co_name}"


def _module_name(path: Path) -> str:
    """Name a file's module by its whole path: two agents may each have a `tools.py`."""
    return "agent_tools_" + re.sub(r"\W", "_", str(path.resolve()))


def _line(raised: BaseException, path: Path) -> str:
    """Return the line of a file that raised, as `:12`; empty: none of its lines did."""
    if isinstance(raised, SyntaxError) and raised.filename == str(path):
        return f":{raised.lineno}"
    frames = traceback.extract_tb(raised.__traceback__)
    return next((f":{each.lineno}" for each in reversed(frames) if each.filename == str(path)), "")
