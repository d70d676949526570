"""What metrics cost: processor time a call and second, and whether a scrape makes a tick late.

Processor time is the thread's own, so that what else the machine does does not count. Ticks are
compared between seconds in which `/metrics` is written and seconds in which it is not, alternately.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
import urllib.request
from collections.abc import Callable

import uvloop

from bench.calls.gateway_process import gateway
from gateway.call.pacer import Pacer
from gateway.log_events import (
    AgentSpokeLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallStartedLogged,
    DraftLogged,
    InterruptedLogged,
    LogEvent,
    Stages,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
    UsageLogged,
)
from gateway.metrics.counting import Counting
from gateway.metrics.families import FAMILIES
from gateway.metrics.series import Registry

CALL_SECONDS = 30.0
TURN_SECONDS = 4.0
"""A busy conversation: each of these is a turn, its answer, two drafts and a tool."""

CALL_MS, PASSED_MS = 16.0, 2.4
"""What a call costs a second, with the models here and passed through (docs/performance.md)."""

ALLOWED = 0.02
LATE = 0.005
AGENTS = 8


def events(number: int) -> list[LogEvent]:
    """Return the lines of one call."""
    call = CallStartedLogged(
        line=("sip", "twilio", "webrtc")[number % 3], caller="+19005550123",
        callee="+19005550100", agent=f"agent {number % AGENTS}", direction="inbound",
        codec="pcmu",
    )  # fmt: skip
    turn: list[LogEvent] = [
        CallerSpokeLogged(turn=1, text="a sentence"),
        DraftLogged(outcome="started", reply=1),
        TurnEndedLogged(turn=1, why="semantic", detector_queue=0.001, detector_seconds=0.02),
        DraftLogged(outcome="used", reply=1),
        ToolLogged(name=f"tool {number % 10}", outcome="asked"),
        ToolLogged(name=f"tool {number % 10}", outcome="done", seconds=0.1),
        UsageLogged(figures={"prompt_tokens": 900, "completion_tokens": 30, "cached_tokens": 800}),
        TurnLogged(
            turn=1, response=0.5, drafted=True,
            stages=Stages(
                end_of_turn=0.2, transcript=0.1, first_token=0.1, first_audio=0.05, line=0.05
            ),
        ),
        AgentSpokeLogged(utterance=1, kind="reply", text="an answer", seconds=2.0),
        InterruptedLogged(
            utterance=2, kind="reply", heard=1.0, error=0.02, basis="sent", queued=2.0,
            heard_text="", text="", evidence="words: no, 0.5 s", stop_delay=0.3,
        ),
    ]  # fmt: skip
    end = CallEndedLogged(
        reason="done", ended_by="caller", seconds=CALL_SECONDS, turns=7,
        quality={"received": 1500, "lost": 1, "late": 2, "jitter": 0.002, "mos": 4.2},
    )  # fmt: skip
    return [call, *(turn * int(CALL_SECONDS / TURN_SECONDS)), end]


def counting_ms(registry: Registry, calls: int) -> float:
    """Count the calls' lines; give the processor milliseconds a call and second."""
    counting, lines = Counting(registry), [events(number) for number in range(calls)]
    begun = time.thread_time()
    for number, each in enumerate(lines):
        for event in each:
            counting.take(f"call {number}", 0.0, 0.0, event)
    return 1000 * (time.thread_time() - begun) / (calls * CALL_SECONDS)


def rendering_ms(registry: Registry, times: int = 50) -> float:
    """Write the page so often; give the processor milliseconds of one."""
    begun = time.thread_time()
    for _ in range(times):
        registry.render({}).encode()
    return 1000 * (time.thread_time() - begun) / times


def scrape_ms(times: int = 100) -> float:
    """Ask a gateway of its own so often; give its processor milliseconds for one scrape."""
    token = "a token for a measurement"
    with gateway(environment={"PARLEY_METRICS_TOKEN": token}) as running:
        asked = urllib.request.Request(
            f"{running.address}/metrics", headers={"Authorization": f"Bearer {token}"}
        )

        def ask() -> float:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                found = re.search(
                    rb"^process_cpu_seconds_total (\S+)$", answer.read(), re.MULTILINE
                )
            assert found is not None
            return float(found[1])

        before = ask()
        for _ in range(times - 1):
            time.sleep(0.01)  # as scrapes are: one after the other, into a cool cache
            ask()
        return 1000 * (ask() - before) / times


async def lateness(registry: Registry, seconds: int) -> tuple[list[float], list[float]]:
    """Tick; give how late ticks were in seconds with a page being written, and without."""
    pacer, found = Pacer(), ([], [])  # type: ignore[var-annotated]
    pacer.start()
    for second in range(2 * seconds):
        pacer.recent.clear()
        if second % 2 == 0:
            await asyncio.to_thread(lambda: registry.render({}).encode())
        await asyncio.sleep(1.0)
        found[second % 2].extend(pacer.recent)
    pacer.stop()
    return found


def main() -> int:
    """Print what was measured; the exit status says whether it holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of ticks, with and without")
    options = parser.parse_args()
    wrong = []
    registry = Registry(FAMILIES)
    scraped = scrape_ms()
    print(f"a scrape of a gateway, HTTP and all: {scraped:.2f} ms")
    for calls in (25, 100):
        registry = Registry(FAMILIES)
        counted = min(counting_ms(registry, calls) for _ in range(3))
        written = rendering_ms(registry)
        lines = len(registry.render({}).splitlines())
        print(
            f"{calls:4} calls: counting {counted:.4f} ms a call and second; "
            f"writing {lines} lines {written:.2f} ms"
        )
        for every in (1, 10):
            each = counted + (scraped + written) / calls / every
            share = each / CALL_MS
            print(
                f"      scraped every {every:2} s: {each:.4f} ms a call and second, {share:.2%} "
                f"of a call with the models here, {each / PASSED_MS:.2%} of one passed through"
            )
            if share > ALLOWED:
                wrong.append(f"{share:.1%} of a call's cost, with {calls} calls")
    sys.setswitchinterval(0.0005)  # as the gateway has it
    run: Callable[..., tuple[list[float], list[float]]] = uvloop.run
    with_page, without = run(lateness(registry, options.seconds))
    late = [sum(1 for each in some if each > LATE) for some in (with_page, without)]
    print(f"ticks over 5 ms late: {late[0]} of {len(with_page)} with a page written every second,")
    print(f"                      {late[1]} of {len(without)} without")
    print(f"latest tick: {1000 * max(with_page):.1f} ms with, {1000 * max(without):.1f} ms without")
    if late[0] > late[1] + 0.002 * len(with_page):
        wrong.append("ticks are late while the page is written")
    for each_wrong in wrong:
        print(f"does not hold: {each_wrong}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
