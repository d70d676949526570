"""How many files a process may open, and whether that is enough for the calls it takes on."""

from __future__ import annotations

import resource

from gateway.plumbing.starting import StartFailed

EACH_CALL = 8
"""A call's sockets at most: two of RTP or some of ICE, its models' connections, a tool's."""

BESIDES = 150
"""What is open without any call: models, logs, stores, waiting connections."""


def wanted(calls: int) -> int:
    """Return how many files so many calls at once may need."""
    return BESIDES + calls * EACH_CALL


def ensure(calls: int) -> None:
    """Let this process open what its calls may need; raise StartFailed where it may not."""
    check(calls)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted(calls):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted(calls), hard))


def check(calls: int) -> None:
    """Look whether a process may be allowed as much; raise StartFailed where it may not."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    need = wanted(calls)
    if hard != resource.RLIM_INFINITY and hard < need:
        raise StartFailed(
            f"limits.calls: {calls} calls may need {need} open files, and this process may have "
            f"{hard} (`ulimit -n`, or LimitNOFILE of the service): allow more, or fewer calls"
        )
