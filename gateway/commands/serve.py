"""`parley serve`: answers calls until it is told to stop."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gateway.commands.shared.options import add_config, complain, settings, whole

if TYPE_CHECKING:
    from gateway.config import Settings
    from gateway.doors.owner import Owner

NAME = "serve"
HELP = "answer calls until stopped; SIGTERM lets calls in progress finish"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--host", help="instead of server.host")
    parser.add_argument(
        "--port", type=whole(0, 65535), help="instead of server.port; 0: any free one"
    )
    parser.add_argument(
        "--processes",
        type=_processes,
        metavar="N",
        help="instead of server.processes; `auto`: one a core, less one for the system",
    )
    parser.add_argument("--member", type=int, help=argparse.SUPPRESS)  # one that is of several
    add_config(parser)


def _processes(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return whole(1, 256)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or `auto`") from None


def run(args: argparse.Namespace) -> int:
    """Serve; give 0 after an orderly end."""
    if args.member is not None:
        return _be_member(args.member)
    chosen = _chosen(args)
    from gateway.doors.owner import settled_owner

    try:
        owner = settled_owner()
    except ValueError as error:
        complain(str(error))
        return 2
    return _speaking(chosen, owner, partial(_serve, chosen, owner, partial(_chosen, args)))


def _chosen(args: argparse.Namespace) -> Settings:
    """Read the settings, with what the command line says instead."""
    from dataclasses import replace

    found = settings(args)
    names = ("host", "port", "processes")
    asked = {name: value for name in names if (value := getattr(args, name)) is not None}
    return replace(found, server=replace(found.server, **asked))


def _be_member(file: int) -> int:
    """Be one of several processes, as the supervisor at the other end of a channel says."""
    from gateway.process.fleet.member import Member, await_birth
    from gateway.process.serve import serve

    birth = await_birth(file)
    if birth is None:
        return 0
    chosen, owner = birth.settings, birth.owner
    return _speaking(
        chosen,
        owner,
        lambda: _telling(lambda: serve(chosen, owner, lambda: Member(birth))),
        process=birth.told.number,
    )


def _speaking(
    chosen: Settings, owner: Owner, serve: Callable[[], int], process: int | None = None
) -> int:
    """Serve with messages as the settings want them."""
    from gateway.config import secrets
    from gateway.observe.diagnostics import speak
    from gateway.observe.messages import queued_stderr

    with queued_stderr():
        speak(chosen.log.level, (*secrets(chosen).values(), owner.token), process)
        return serve()


def _serve(chosen: Settings, owner: Owner, reread: Callable[[], Settings]) -> int:
    """Serve with one process, or be the parent of several."""

    def ready(address: str) -> None:
        _ready(address, owner)

    if chosen.server.processes == 1:
        from gateway.process.fleet.port import Alone
        from gateway.process.serve import serve

        return _telling(lambda: serve(chosen, owner, lambda: Alone(ready, reread)))
    from gateway.process.fleet.supervisor import count, supervise

    of = count(chosen.server.processes)
    return _telling(lambda: supervise(chosen, owner, of, ready, reread))


def _telling(serve: Callable[[], int]) -> int:
    """Serve, and say in words for the operator why that cannot be."""
    from gateway.agents.library import UnknownAgentError
    from gateway.agents.places import AgentError
    from gateway.plumbing.starting import StartFailed
    from inference.errors import ModelMissing, ModelWrong, ProviderMissing, RuntimeMissing

    operators = (ModelMissing, ModelWrong, ProviderMissing, RuntimeMissing)
    try:
        return serve()
    except (AgentError, UnknownAgentError, *operators) as error:
        for line in str(error).splitlines():
            complain(line)
        return 2
    except StartFailed as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"cannot serve: {error}")
        return 1


def _ready(address: str, owner: Owner) -> None:
    """Say where the gateway listens, and to a person at a terminal how they open its page."""
    import structlog

    from gateway.plumbing.systemd import notify

    notify("READY=1")
    kept = {"owner": owner.place} if owner.place else {"owner_not_kept": owner.problem}
    structlog.get_logger("gateway").info("listening", address=address, **kept)
    if sys.stderr.isatty():
        said = "Whoever opens it is the owner; `parley link` prints it again."
        print(f"\n  {owner.link(address)}\n  {said}\n", file=sys.stderr)
