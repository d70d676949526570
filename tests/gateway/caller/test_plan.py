"""When a caller speaks, presses and hangs up."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.caller.plan import (
    Action,
    AgentBegan,
    AgentSilent,
    CallerPlan,
    CallPlan,
    CutIn,
    HangUp,
    Keys,
    PlanEvent,
    Play,
    Press,
    Say,
    TimePassed,
)
from gateway.caller.sound import Recording


def sound(name: str, seconds: float = 2.0, speech_end: float = 1.5) -> Recording:
    samples = round(seconds * 8000)
    return Recording(name, bytes(2 * samples), 8000, 800, round(speech_end * 8000))


A, B = Say(sound("a")), Say(sound("b"))
CUT = CutIn(sound("cut"), 1.0)


def run(
    plan: CallPlan, events: list[PlanEvent], until: float = 100.0
) -> list[tuple[float, Action]]:
    """Let a plan live through what it hears, waking it at its deadlines; give what it does."""
    machine = CallerPlan(plan)
    waiting = list(events)
    now = 0.0
    done: list[tuple[float, Action]] = []
    while now < until:
        times = [t for t in (machine.deadline, waiting[0].at if waiting else None) if t is not None]  # type: ignore[union-attr]
        if not times:
            break
        now = max(now, min(times))
        event: PlanEvent = TimePassed()
        if waiting and waiting[0].at <= now:  # type: ignore[union-attr]
            event = waiting.pop(0)
        done += [(round(now, 6), action) for action in machine.handle(event, now)]
    return done


def test_a_caller_waits_for_the_greeting_to_end_and_for_each_reply() -> None:
    heard = [
        AgentBegan(0.5),
        AgentSilent(2.0),
        # a is said at 2.7, its speech ends at 4.2
        AgentBegan(5.0),
        AgentSilent(6.0),
        AgentBegan(6.4),  # a pause inside the reply
        AgentSilent(8.0),
        # b at 8.7, until 10.2
        AgentBegan(11.0),
        AgentSilent(12.0),
    ]
    assert run(CallPlan((A, B)), heard) == [
        (2.7, Play(A)),
        (8.7, Play(B)),
        (14.0, HangUp("done")),
    ]


def test_an_agent_that_does_not_greet_is_spoken_to() -> None:
    done = run(CallPlan((A,), greeting=3.0), [])
    assert done[0] == (3.0, Play(A))


def test_a_reply_that_does_not_come_is_waited_for_and_given_up() -> None:
    done = run(CallPlan((A, B), greeting=1.0, reply=10.0), [])
    assert done == [(1.0, Play(A)), (12.5, Play(B)), (24.0, HangUp("done"))]


def test_speech_before_the_caller_had_finished_is_no_reply() -> None:
    heard = [AgentBegan(0.0), AgentSilent(0.3), AgentBegan(1.4), AgentSilent(2.0)]
    # a is said at 1.0 and ends at 2.5: the agent butted in at 1.4 and gave way.
    done = run(CallPlan((A, B), reply=10.0), heard)
    assert done[:2] == [(1.0, Play(A)), (12.5, Play(B))]


def test_an_agent_that_talks_across_the_callers_end_has_replied() -> None:
    heard = [AgentBegan(0.0), AgentSilent(0.3), AgentBegan(1.4), AgentSilent(4.0)]
    assert run(CallPlan((A, B)), heard)[:2] == [(1.0, Play(A)), (4.7, Play(B))]


def test_a_cut_in_comes_so_long_after_the_next_reply_begins() -> None:
    heard = [
        AgentBegan(0.0),
        AgentSilent(1.0),
        AgentBegan(4.0),  # a was said at 1.7, until 3.2
        AgentSilent(5.3),  # stopped by the cut-in of 5.0
        AgentBegan(7.5),
        AgentSilent(8.0),
    ]
    assert run(CallPlan((A, CUT, B)), heard)[:3] == [
        (1.7, Play(A)),
        (5.0, Play(CUT)),
        (8.7, Play(B)),
    ]


def test_a_cut_in_at_first_cuts_the_greeting() -> None:
    assert run(CallPlan((CUT,)), [AgentBegan(0.5)])[0] == (1.5, Play(CUT))


def test_an_agent_that_talks_on_through_a_cut_in_is_heard_out() -> None:
    heard = [AgentBegan(0.0), AgentSilent(6.0)]
    assert run(CallPlan((CUT, A)), heard)[:2] == [(1.0, Play(CUT)), (6.7, Play(A))]


def test_keys_are_pressed_one_by_one() -> None:
    done = run(CallPlan(keys=(Keys("12#", 2.0), Keys("9", 1.0)), hang_up_after=4.0), [])
    assert done == [
        (1.0, Press("9")),
        (2.0, Press("1")),
        (2.25, Press("2")),
        (2.5, Press("#")),
        (4.0, HangUp("done")),
    ]


def test_keys_come_before_hanging_up() -> None:
    done = run(CallPlan(keys=(Keys("12", 20.0),), greeting=1.0), [])
    assert [action for _, action in done] == [Press("1"), Press("2"), HangUp("done")]


def test_a_fixed_end_is_kept_whatever_happens() -> None:
    done = run(CallPlan((A,), hang_up_after=3.0, greeting=1.0), [AgentBegan(0.5)])
    assert done == [(3.0, HangUp("done"))]


def test_no_call_lasts_for_ever() -> None:
    assert run(CallPlan((A,), limit=50.0), [AgentBegan(0.5)]) == [(50.0, HangUp("limit"))]


steps = st.sampled_from([A, B, CUT])
pauses = st.lists(st.floats(0.01, 8.0), max_size=20)


@given(st.lists(steps, max_size=4), pauses, st.none() | st.floats(1.0, 60.0))
def test_whatever_is_heard_all_is_said_in_order_and_the_call_ends_once(
    plan: list[Say | CutIn], gaps: list[float], hang_up_after: float | None
) -> None:
    heard: list[PlanEvent] = []
    now = 0.0
    for n, gap in enumerate(gaps):
        now += gap
        heard.append(AgentBegan(now) if n % 2 == 0 else AgentSilent(now))
    if len(heard) % 2:
        heard.append(AgentSilent(now + 1.0))
    done = run(CallPlan(tuple(plan), hang_up_after=hang_up_after), heard, until=1000.0)
    times = [at for at, _ in done]
    assert times == sorted(times)
    assert [type(action) for _, action in done].count(HangUp) == 1
    assert isinstance(done[-1][1], HangUp)
    said = [(at, action.step) for at, action in done if isinstance(action, Play)]
    assert [step for _, step in said] == plan[: len(said)]
    if hang_up_after is None:
        assert len(said) == len(plan)
    for (first, step), (second, _) in pairwise(said):
        assert second >= first + step.sound.seconds - 1e-6, "one at a time"
