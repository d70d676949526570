"""`parley dial`: lets the running gateway place a call, and tells how that goes."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gateway.commands.shared.bus import asking
from gateway.commands.shared.options import add_config, add_json, complain, print_json, settings

NAME = "dial"
HELP = "let the running gateway call somebody, and put an agent on"

WORDS = {
    "ringing": "it rings",
    "early_media": "sound comes before the answer",
    "answered": "answered",
    "busy": "busy",
    "no_answer": "nobody answers",
    "refused": "refused",
    "not_found": "there is no such number",
    "cancelled": "cancelled",
    "timeout": "no answer from the far side",
    "failed": "failed",
    "unavailable": "the gateway takes no more calls",
}

RING_SECONDS = 200.0
"""Longer than any phone rings; the gateway gives up long before."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("to", help="a number, or sip:USER@HOST")
    parser.add_argument("--agent", default="", metavar="NAME")
    parser.add_argument("--trunk", default="", metavar="NAME", help="default: the first")
    parser.add_argument("--caller-id", default="", metavar="NUMBER")
    parser.add_argument(
        "--variable",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        type=_variable,
        help="told to the agent",
    )
    parser.add_argument(
        "--anywhere", action="store_true", help="have any machine of the bus place it"
    )
    add_json(parser)
    add_config(parser)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def run(args: argparse.Namespace) -> int:
    """Place the call; give 0 when it was answered."""
    return _anywhere(args) if args.anywhere else _here(args)


def _anywhere(args: argparse.Namespace) -> int:
    bus = asking(args)
    if bus is None:
        return 2
    from gateway.bus import client
    from gateway.bus.wire import Order

    order = Order(args.to, args.agent, args.trunk, args.caller_id, dict(args.variable))
    try:
        outcome = client.dial(bus, order, lambda event: _tell(event, args.json))
    except (OSError, ValueError) as error:
        complain(str(error))
        return 1
    return 0 if outcome == "answered" else 1


def _here(args: argparse.Namespace) -> int:
    import httpx

    from gateway.doors.owner import bearer, proof
    from gateway.lines.sip.settings import SipSettings

    chosen = settings(args)
    body = {
        "to": args.to,
        "agent": args.agent,
        "trunk": args.trunk,
        "caller_id": args.caller_id,
        "variables": dict(args.variable),
    }
    url = f"{chosen.server.address}/sip/calls"
    try:
        key = chosen.line(SipSettings).api_key
        headers = bearer(key) if key else proof(url)
    except ValueError as error:
        complain(str(error))
        return 2
    try:
        with httpx.stream(
            "POST", url, json=body, headers=headers, timeout=httpx.Timeout(10, read=RING_SECONDS)
        ) as response:
            if response.status_code != 200:
                response.read()
                complain(_error(response))
                return 2 if response.status_code == 400 else 1
            last: dict[str, Any] = {}
            for line in response.iter_lines():
                last = _event(line)
                _tell(last, args.json)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        complain(f"no gateway answers at {url}: {error or type(error).__name__}")
        return 1
    except ValueError:
        complain(f"what answers at {url} is no gateway")
        return 1
    return 0 if last.get("outcome") == "answered" else 1


def _error(response: Any) -> str:
    if response.status_code == 404:
        return "the gateway has no SIP line: sip.enabled is false"
    try:
        return str(_event(response.content)["error"])
    except (ValueError, KeyError):
        return f"HTTP {response.status_code}"


def _event(line: str | bytes) -> dict[str, Any]:
    """Read one object that the gateway said; raises ValueError where it is none."""
    from gateway.plumbing.wire_json import parse

    event = parse(line)
    if not isinstance(event, dict):
        raise ValueError("no JSON object")
    return event


def _tell(event: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(event)
        return
    name = str(event.get("outcome") or event.get("event"))
    code = (
        f" ({event['code']} {event.get('reason', '')}".rstrip() + ")" if event.get("code") else ""
    )
    print(f"{WORDS.get(name, name)}{code}", file=sys.stdout, flush=True)
