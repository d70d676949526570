"""`parley serve`: answers calls until it is told to stop."""

from __future__ import annotations

import argparse
import sys
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
    add_config(parser)


def run(args: argparse.Namespace) -> int:
    """Serve; give 0 after an orderly end."""
    from dataclasses import replace

    chosen = settings(args)
    asked = {name: value for name in ("host", "port") if (value := getattr(args, name)) is not None}
    chosen = replace(chosen, server=replace(chosen.server, **asked))
    from gateway.config import secrets
    from gateway.doors.owner import settled_owner
    from gateway.observe.diagnostics import speak
    from gateway.observe.messages import queued_stderr

    try:
        owner = settled_owner()
    except ValueError as error:
        complain(str(error))
        return 2
    with queued_stderr():
        speak(chosen.log.level, (*secrets(chosen).values(), owner.token))
        return _serve(chosen, owner)


def _serve(chosen: Settings, owner: Owner) -> int:
    """Serve, and say in words for the operator why that cannot be."""
    from gateway.agents.library import UnknownAgentError
    from gateway.agents.places import AgentError
    from gateway.plumbing.starting import StartFailed
    from gateway.process.serve import serve
    from inference.errors import ModelMissing, ModelWrong, ProviderMissing, RuntimeMissing

    operators = (ModelMissing, ModelWrong, ProviderMissing, RuntimeMissing)
    try:
        return serve(chosen, owner, lambda address: _ready(address, owner))
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

    kept = {"owner": owner.place} if owner.place else {"owner_not_kept": owner.problem}
    structlog.get_logger("gateway").info("listening", address=address, **kept)
    if sys.stderr.isatty():
        said = "Whoever opens it is the owner; `parley link` prints it again."
        print(f"\n  {owner.link(address)}\n  {said}\n", file=sys.stderr)
