"""Goes on with a task until the caller or a tool has to answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gateway.backends.cascade.models.script.format import EXPECTS, Script, Step
from gateway.backends.cascade.models.script.state import Call, Plan, State
from gateway.events import Json
from gateway.plumbing.templates import Known, holds, render, value

INTENT = "@"
"""Begins the result name of a tool that an intent asked for."""

TIMES = 4
"""A question is not put more often than this, however much else the caller tells."""

ROUNDS = 50
"""More steps than this without waiting for anyone is a script that goes in a circle."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Finds what is next in a script; holds no state."""

    script: Script

    def known(self, state: State) -> Known:
        """Return everything a text may name."""
        results = {k: v for k, v in state.results.items() if not k.startswith(INTENT)}
        return {**state.variables, **state.slots, **results}

    def call(self, state: State, tool: str, templates: Mapping[str, str], into: str) -> Call:
        """Make a request for a tool; its id counts, so that equal histories give equal ids."""
        known = self.known(state)
        filled = {name: value(template, known) for name, template in templates.items()}
        arguments = {name: found for name, found in filled.items() if found is not None}
        return Call(f"{tool}-{state.calls + 1}", tool, arguments, into)

    def enter(self, state: State, task: str) -> State:
        """Begin a task; one that may be had more than once begins afresh."""
        steps = self.script.tasks[task].steps
        if self.script.tasks[task].reopen:
            return replace(state, task=task)
        slots = {name for step in steps for name in step.fill}
        kept = {n: v for n, v in state.slots.items() if n not in slots or self._given(n)}
        mine = {self.script.result_name(step) for step in steps if step.tool}
        return replace(
            state,
            task=task,
            slots=kept,
            skipped=state.skipped - slots,
            asked={n: c for n, c in state.asked.items() if n not in slots},
            agreed={n: q for n, q in state.agreed.items() if n not in slots},
            made={n: a for n, a in state.made.items() if n not in mine},
            told=frozenset(key for key in state.told if not key.startswith(f"{task}:")),
            misses=0,
            nudges=0,
        )

    def give_up(self, state: State, said: list[str]) -> State:
        """Hand over to the task for what does not work."""
        end = self.script.after if state.task == self.script.lost else self.script.lost
        return self.advance(self.enter(state, end), said, frozenset())

    # --- forward --------------------------------------------------------------------------------

    def advance(
        self, state: State, said: list[str], changed: frozenset[str], must_hear: str = ""
    ) -> State:
        """Go on until something has to be asked, or a tool has to answer."""
        said = [text for text in said if text]
        state = replace(state, plan=Plan(must_hear=must_hear))
        for _ in range(ROUNDS):
            task = self.script.tasks[state.task]
            for at, step in enumerate(task.steps):
                if step.when and not holds(step.when, self.known(state)):
                    continue
                state = self._step(state, step, f"{state.task}:{at}:", said, changed)
                if state.plan.question or state.plan.calls:
                    return state
            if task.last:
                break
            state = self.enter(state, self.script.after)
        return replace(state, plan=replace(state.plan, text=" ".join(said)))

    def _step(
        self, state: State, step: Step, key: str, said: list[str], changed: frozenset[str]
    ) -> State:
        if step.fill:
            missing = tuple(self._missing(state, step))
            if missing and state.asked.get(missing[0], 0) >= TIMES:
                return self.give_up(state, [self.script.lines.lost])
            if missing:
                return self._ask(state, step, missing, said)
            if step.then and changed & set(step.fill):
                said.append(render(step.then, self.known(state)))
            return state
        if step.tool:
            return self._use(state, step, said)
        text = render(step.say, self.known(state))
        if not text or key + text in state.told:
            return state
        said.append(text)
        must_hear = text if step.must_hear else state.plan.must_hear
        return replace(
            state, told=state.told | {key + text}, plan=replace(state.plan, must_hear=must_hear)
        )

    def _missing(self, state: State, step: Step) -> Iterator[str]:
        for name in step.fill:
            slot = self.script.slots[name]
            if name in state.skipped or (slot.optional and state.asked.get(name, 0) >= TIMES):
                continue
            if slot.kind == "yes_no":
                # A yes holds for the very question it answered.
                if state.agreed.get(name) not in self._wordings(state, name):
                    yield name
            elif name not in state.slots:
                yield name

    def _wordings(self, state: State, name: str) -> list[str]:
        known = self.known(state)
        return [render(text, known) for text in self.script.slots[name].ask]

    def _ask(self, state: State, step: Step, missing: tuple[str, ...], said: list[str]) -> State:
        name = missing[0]
        slot = self.script.slots[name]
        together = "+".join(step.fill)
        if step.ask and len(missing) > 1 and together not in state.asked:
            count, question, pending = together, render(step.ask, self.known(state)), missing
        else:
            wordings = self._wordings(state, name)
            # A new proposal is a new question.
            count = f"{name}: {wordings[0]}" if slot.kind == "yes_no" else name
            at = max(state.asked.get(count, 0), state.misses)
            question = wordings[min(at, len(wordings) - 1)]
            pending = missing if step.ask else (name,)
        asked = dict(state.asked)
        for each in {count, name} if count != together else {count}:
            asked[each] = asked.get(each, 0) + 1
        plan = replace(
            state.plan,
            text=" ".join([*said, question]),
            question=question,
            pending=pending,
            expects=slot.expects or EXPECTS.get(slot.kind, "open"),
            profile=slot.profile,
        )
        return replace(state, plan=plan, asked=asked)

    def _use(self, state: State, step: Step, said: list[str]) -> State:
        into = self.script.result_name(step)
        call = self.call(state, step.tool, step.arguments, into)
        wanted = json.dumps(call.arguments, sort_keys=True, default=str)
        if state.made.get(into) == wanted and into in state.results:
            return state
        if state.asked.get(into, 0) >= TIMES:
            return self.give_up(state, [self.script.lines.lost])
        results = {name: result for name, result in state.results.items() if name != into}
        text = " ".join([*said, render(step.before, self.known(state))]).strip()
        return replace(
            state,
            results=results,
            made={**state.made, into: wanted},
            # What was said of the last result is not said of the next.
            told=frozenset(key for key in state.told if not key.startswith(f"{state.task}:")),
            calls=state.calls + 1,
            plan=replace(state.plan, text=text, calls=(call,)),
        )

    # --- tools answer ---------------------------------------------------------------------------

    def result(self, state: State, name: str, data: Json) -> State:
        """Take a tool's answer and go on."""
        proposed = state.proposed
        call = next((call for call in state.plan.calls if call.name == name), None)
        if call is None and proposed is not None and proposed.name == name:
            call = proposed  # the caller agreed
        if call is None:
            return state  # of a plan that was given up
        if data.get("status") == "asked":
            return self._proposed(state, call, str(data.get("question", "")))
        state = replace(state, results={**state.results, call.into: data}, proposed=None)
        error = data.get("error")
        if error in ("cancelled", "not_yet"):
            return self._unmade(state, call.into)
        must_hear = state.plan.must_hear
        if call.into.startswith(INTENT):
            intent = next(i for i in self.script.intents if INTENT + i.name == call.into)
            text = self.script.lines.trouble if error else intent.say
            said = [render(text, {**self.known(state), name: data})]
            return self.advance(state, said, frozenset(), must_hear)
        _, step = self._step_of(call.into)
        if error:
            return self._failed(state, step, call.into)
        if data.get("status") == "running":
            said = [render(step.slow or self.script.lines.trouble, self.known(state))]
            return self.advance(self.enter(state, self.script.after), said, frozenset())
        return self.advance(state, [], frozenset(), must_hear)

    def late(self, state: State, name: str, data: Json) -> State:
        """Take what came of a tool after its answer was due; it is told at the next turn."""
        found = next(
            (
                into
                for into in state.made
                if not into.startswith(INTENT) and self._tool(into) == name
            ),
            None,
        )
        if found is None or not data:
            return state
        state = replace(state, results={**state.results, found: data})
        if data.get("error"):
            return self._unmade(state, found)
        task, _ = self._step_of(found)
        return replace(state, task=task)

    def _failed(self, state: State, step: Step, into: str) -> State:
        said = [render(step.failed or self.script.lines.trouble, self.known(state))]
        state = replace(self._unmade(state, into), failures=state.failures + 1)
        if not step.retry or state.failures > 2:
            return self.give_up(state, said)
        forget = set(step.retry)
        state = replace(
            state,
            slots={n: v for n, v in state.slots.items() if n not in forget},
            agreed={n: q for n, q in state.agreed.items() if n not in forget},
            results={n: r for n, r in state.results.items() if n not in forget},
            made={n: a for n, a in state.made.items() if n not in forget},
            asked={n: c for n, c in state.asked.items() if n.split(":")[0] not in forget},
        )
        return self.advance(state, said, frozenset())

    def _unmade(self, state: State, into: str) -> State:
        return replace(state, made={n: a for n, a in state.made.items() if n != into})

    def _proposed(self, state: State, call: Call, question: str) -> State:
        """The gateway asks the caller; what they say is the answer to that."""
        plan = Plan(question=question, expects="yes_no", must_hear=state.plan.must_hear)
        asked = {**state.asked, call.into: state.asked.get(call.into, 0) + 1}
        return replace(state, plan=plan, proposed=call, asked=asked)

    def propose_again(self, state: State, call: Call) -> State:
        """No plain yes came: ask for the same tool, and so for the same answer, once more."""
        return self.advance(self._unmade(state, call.into), [], frozenset())

    def not_agreed(self, state: State, call: Call) -> tuple[State, Step]:
        """Let go of what the caller did not agree to; give the step that wanted it, too."""
        return replace(self._unmade(state, call.into), proposed=None), self._step_of(call.into)[1]

    def _step_of(self, into: str) -> tuple[str, Step]:
        for name, task in self.script.tasks.items():
            for step in task.steps:
                if step.tool and self.script.result_name(step) == into:
                    return name, step
        raise AssertionError(into)

    def _tool(self, into: str) -> str:
        return "" if into.startswith(INTENT) else self._step_of(into)[1].tool

    def _given(self, name: str) -> bool:
        return bool(self.script.slots[name].variable)
