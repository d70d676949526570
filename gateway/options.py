"""Options that several commands share, and how they print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

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


def settings(args: argparse.Namespace) -> Settings:
    """Read the settings that `-c` names; raise `TomlError`."""
    from gateway.config import load  # it knows numpy by way of the rooms whose settings it holds

    return load(args.config)


def print_json(document: object) -> None:
    """Print one JSON document on its own line, at once."""
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.buffer.flush()


def complain(said: str) -> None:
    """Say what is wrong on standard error."""
    print(f"parley: {said}", file=sys.stderr)


def rounded(seconds: Mapping[str, float], digits: int = 3) -> dict[str, float]:
    """Round times for people and JSON: the clock is not truer than a millisecond."""
    return {name: round(value, digits) for name, value in seconds.items()}
