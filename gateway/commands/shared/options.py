"""Options that several commands share, and how they print."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gateway.plumbing.wire_json import clean

if TYPE_CHECKING:
    from gateway.config import Settings


def add_config(parser: argparse.ArgumentParser) -> None:
    """Declare `-c FILE`."""
    parser.add_argument(
        "-c",
        "--config",
        type=Path,
        metavar="FILE",
        help="settings (default: parley.toml where there is one, else none is needed)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")


def number(
    low: float, high: float = math.inf, *, above: bool = False, of: str = "a number"
) -> Callable[[str], float]:
    """Return what reads a number from `low` to `high`; `above`: more than `low`."""
    least = f"more than {low:g}" if above else f"at least {low:g}"
    allowed = f"{of} of {least}" if math.isinf(high) else f"{of} from {low:g} to {high:g}"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high or math.isinf(value) or (above and value == low):
            raise argparse.ArgumentTypeError(f"found {text!r}, it must be {allowed}")
        return value

    return read


def whole(low: int, high: int = 2**31 - 1) -> Callable[[str], int]:
    """Return what reads a whole number from `low` to `high`."""
    few = f"from {low} to {high}" if high < 2**31 - 1 else f"of at least {low}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"found {text!r}, it must be a whole number {few}")
        return value

    return read


def seconds(text: str) -> float:
    """Read seconds of a call: none are negative, and no call is longer than a day."""
    return number(0, 86_400, of="a number of seconds")(text)


def sound_file(option: str, path: Path) -> None:
    """Look whether sound can be written to a path; raises ValueError or OSError."""
    if path.suffix.lower() not in (".wav", ".flac"):
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise ValueError(f"{option}: {path} {found}; allowed are .wav and .flac")
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{option}: {path}: there is no folder {path.parent}")


def settings(args: argparse.Namespace) -> Settings:
    """Read the settings that `-c` names; raise `TomlError`."""
    from gateway.config import load  # it knows numpy by way of the rooms whose settings it holds

    return load(args.config)


def print_json(document: object) -> None:
    """Print one JSON document on its own line, at once."""
    # Names of files may hold bytes that are no text, which JSON cannot.
    written = msgspec.json.encode(clean(msgspec.to_builtins(document)))
    sys.stdout.buffer.write(written + b"\n")
    sys.stdout.buffer.flush()


def complain(said: str) -> None:
    """Say what is wrong on standard error."""
    print(f"parley: {said}", file=sys.stderr)


def rounded(seconds: Mapping[str, float], digits: int = 3) -> dict[str, float]:
    """Round times for people and JSON: the clock is not truer than a millisecond."""
    return {name: round(value, digits) for name, value in seconds.items()}
