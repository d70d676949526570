"""`parley export`: tails the call log and sends its turns as OpenTelemetry traces."""

from __future__ import annotations

import argparse
import gc
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.commands.shared.options import add_config, complain, settings

if TYPE_CHECKING:
    from gateway.traces.otlp import Exporter
    from gateway.traces.span import Span

NAME = "export"
HELP = "send the call log's turns as OpenTelemetry traces, as they end"

LOOK_SECONDS = 5.0
"""Between two looks at the log, and so between two batches, as OpenTelemetry's own processor has
it: a request costs like fifty spans. A collector that was away is tried again then."""

KEPT = 10_000
"""Spans that wait while the collector is away; the oldest are given up then."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--otlp", required=True, metavar="URL", help="the collector's, as http://127.0.0.1:4318"
    )
    parser.add_argument(
        "--personal", action="store_true", help="send what was said too, as parley.pii.*"
    )
    parser.add_argument(
        "--all", action="store_true", help="begin with what is in the log already, and end there"
    )
    parser.add_argument("--file", type=Path, metavar="FILE", help="another log than the settings'")
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Send until interrupted."""
    path = args.file or Path(settings(args).log.path)
    if str(path) == "-":
        complain("log.path is `-`: the log goes to the standard output of `parley serve`")
        return 2
    if path.is_dir():
        complain(f"{'--file' if args.file else 'log.path'}: {path} is a folder")
        return 2
    if args.all and not path.exists():
        complain(f"there is no log at {path} yet; a call makes one")
        return 1
    if not args.otlp.startswith(("http://", "https://")):
        complain(f"--otlp: {args.otlp!r} begins with neither http:// nor https://")
        return 2
    try:
        from gateway.traces.otlp import Exporter
    except ModuleNotFoundError as error:
        complain(f"traces need `pip install parley[otel]` ({error})")
        return 2
    try:
        exporter = Exporter(args.otlp)
    except ValueError as error:
        complain(str(error))
        return 2
    return _export(exporter, path, args.personal, args.all)


def _export(exporter: Exporter, path: Path, personal: bool, whole: bool) -> int:
    """Follow the log; turns of calls that began earlier have their parents all the same."""
    from gateway.observe.lines import brief
    from gateway.observe.live import batches
    from gateway.traces.calls import Traces

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what waits is sent then, too
    gc.freeze()  # what is there by now stays
    traces, waiting, old = Traces(personal), [], not whole
    try:
        for raws in batches(path, None, follow=not whole, look=LOOK_SECONDS):
            for raw in raws:
                try:
                    spans = traces.take(brief(raw))
                except ValueError:
                    continue
                if not old:
                    waiting += spans
            old = False
            waiting = _send(exporter, waiting)
    finally:
        waiting = waiting[exporter.send(waiting) :]
    if waiting:
        complain(f"{len(waiting)} spans were not taken")
        return 1
    return 0


def _send(exporter: Exporter, waiting: list[Span]) -> list[Span]:
    """Send what waits; give what is left."""
    left = waiting[exporter.send(waiting) :]
    if left:
        print(f"parley: the collector does not answer: {len(left)} spans wait", file=sys.stderr)
    return left[-KEPT:]
