"""Goes through a script with a caller: a pure function from a history to what comes next.

`follow` takes one entry after another; what the agent said counts only as far as it was heard,
so that a question the caller did not hear is asked again and an answer belongs to the last
question they did hear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gateway.backends.cascade.models.script.format import Intent, Script
from gateway.backends.cascade.models.script.progress import INTENT, Progress
from gateway.backends.cascade.models.script.state import Call, Plan, State, was_heard
from gateway.backends.cascade.models.script.understanding import Found, Listening, Value
from gateway.events import Entry, Json
from gateway.plumbing.templates import render
from turn.consent import verdict

CALL_NOTE = "call"
"""The name of a note whose data are the variables of the call."""


class Dialogue:
    """One script, ready to be gone through; holds no state of any call."""

    def __init__(self, script: Script, language: str = "en") -> None:
        self.script = script
        self._language = language
        self._progress = Progress(script)

    def begin(self, variables: Json) -> State:
        """Return the state before anything was said; the greeting asks the opening question."""
        first = self.script.tasks[self.script.start].steps[:1]
        pending = first[0].fill[:1] if first else ()
        opening = Plan(self.script.lines.opening, self.script.lines.opening, pending)
        return self._given(State(self.script.start, plan=opening, heard=opening), variables)

    def follow(self, state: State, entry: Entry) -> State:
        """Return the state after one more entry."""
        match entry.role:
            case "caller":
                return self._caller(state, entry.text)
            case "agent":
                return replace(state, spoken=(*state.spoken, entry.text))
            case "tool_result":
                return self._progress.result(state, entry.name, entry.data)
            case "note" if entry.name == CALL_NOTE:
                return self._given(state, entry.data)
            case "note":
                return self._progress.late(state, entry.name, entry.data)
            case "tool_ask":
                return state

    def _given(self, state: State, variables: Json) -> State:
        """Take over what is known of the call before anyone speaks."""
        slots = dict(state.slots)
        for name, slot in self.script.slots.items():
            given = variables.get(slot.variable) if slot.variable else None
            if isinstance(given, str | int) and given != "":
                known = str(given)
                slots[name] = {"value": known, "known": known} if slot.kind == "choice" else given
        return replace(state, slots=slots, variables={**state.variables, **variables})

    # --- the caller speaks ----------------------------------------------------------------------

    def _caller(self, state: State, text: str) -> State:
        plan = state.plan
        clear = was_heard(plan.question or plan.text, state.spoken)
        heard = plan if clear else state.heard
        owed = plan.must_hear
        if owed and was_heard(owed, state.spoken):
            owed = ""
        state = replace(state, heard=heard, spoken=(), plan=replace(plan, must_hear=owed))
        if self.script.tasks[state.task].last:
            state = self._progress.enter(state, state.task)  # the goodbye has to be said again
        if state.proposed is not None:
            return self._answered(state, state.proposed, text, clear)
        return self._heard(state, text, clear, heard.pending)

    def _answered(self, state: State, call: Call, text: str, clear: bool) -> State:
        """Take what the caller says to a read-back: the gateway judges it, by the same words."""
        answer = verdict(text, self._language, state.heard.question)
        if answer == "yes" and clear:
            return replace(state, plan=Plan(must_hear=state.plan.must_hear))  # it is being done
        if answer in ("yes", "doubt"):
            return self._progress.propose_again(state, call)
        state, step = self._progress.not_agreed(state, call)
        pending = step.no_fill
        listening = Listening(self.script, pending, state.slots, False, self._language)
        found = listening.understand(text)
        if answer == "no" and not found.slots:
            question = render(step.no_ask, self._progress.known(state))
            plan = Plan(question, question, pending, expects="open")
            asked = {**state.asked, **dict.fromkeys(pending, 1)}
            return replace(state, plan=plan, asked=asked, misses=0, nudges=0)
        repeats = any(intent.kind == "repeat" for intent in found.intents)
        if found.nothing or (repeats and not found.slots):
            return self._progress.propose_again(state, call)
        if any(intent.kind == "wait" for intent in found.intents) and not found.slots:
            pending = ()  # what they say then is no answer to anything, and they are asked again
        must_hear = state.plan.must_hear
        heard = replace(state.heard, question="", pending=pending)
        state = replace(state, heard=heard, plan=Plan(must_hear=must_hear))
        return self._heard(state, text, clear, pending)

    def _heard(self, state: State, text: str, clear: bool, pending: tuple[str, ...]) -> State:
        again = state.misses > 0
        listening = Listening(self.script, pending, state.slots, again, self._language)
        found = listening.understand(text)
        if not found.words.norm:
            return self._repeat(state)
        return self._understood(state, found, clear)

    def _understood(self, state: State, found: Found, clear: bool) -> State:
        before = state.slots
        state, answered, done = self._answer(self._learn(state, found), found, before)
        if done:
            return state
        intent = next((i for i in found.intents if not (i.alone and answered)), None)
        if intent is not None and intent.kind and not found.slots:
            return self._repeat(state) if intent.kind == "repeat" else self._wait(state, clear)
        changed = frozenset(n for n, v in state.slots.items() if before.get(n) != v)
        if not changed and not answered and intent is None and not found.slots:
            return self._nothing(state, found, clear)
        state = replace(state, misses=0, nudges=0)
        state = self._skip_optional(state, found)
        state = self._reopened(state, changed)
        return self._go_on(state, intent, changed)

    def _go_on(self, state: State, intent: Intent | None, changed: frozenset[str]) -> State:
        said = [state.plan.must_hear] if state.plan.must_hear else []
        must_hear = state.plan.must_hear
        if intent is None:
            return self._progress.advance(state, said, changed, must_hear)
        if intent.tool:
            call = self._progress.call(state, intent.tool, intent.arguments, INTENT + intent.name)
            plan = Plan(" ".join(said), calls=(call,), must_hear=must_hear)
            return replace(state, plan=plan, calls=state.calls + 1)
        if intent.task:
            state = self._progress.enter(state, intent.task)
        if intent.say:
            said.append(render(intent.say, self._progress.known(state)))
        return self._progress.advance(state, said, changed, must_hear)

    def _learn(self, state: State, found: Found) -> State:
        """Take over what the caller told; what hung on an old value goes with it."""
        slots = dict(state.slots)
        for name, value in found.slots.items():
            old = slots.get(name)
            slots[name] = _merged(old, value)
            if old is not None and old != slots[name]:
                for other, slot in self.script.slots.items():
                    if slot.within == name and other not in found.slots:
                        slots.pop(other, None)
        return replace(state, slots=slots, skipped=state.skipped - set(found.slots))

    def _answer(
        self, state: State, found: Found, before: Mapping[str, Value]
    ) -> tuple[State, bool, bool]:
        """Take a yes or a no as the answer to the question heard.

        Gives the state, whether it was an answer, and whether that settles what is said next.
        """
        told = set(found.slots)
        for name in state.heard.pending:
            slot = self.script.slots[name]
            yes_no = slot.kind == "yes_no"
            if not yes_no and (not slot.yes or name in told):
                continue
            if name in before or state.agreed.get(name) == state.heard.question:
                continue  # it was answered; the next question is what was not heard
            if yes_no and found.answer in ("yes", "no"):  # the next time it is a new question
                fresh = {k: v for k, v in state.asked.items() if not k.startswith(f"{name}:")}
                state = replace(state, asked=fresh)
            if found.answer == "no":
                return self._no(state, name, found)
            if found.answer == "yes":
                if slot.yes_ask and not told and not found.intents:
                    plan = Plan(slot.yes_ask, slot.yes_ask, (name,), expects="open")
                    return replace(self._home(state), plan=plan), True, True
                if slot.yes_ask:
                    continue
                if yes_no:
                    agreed = {**state.agreed, name: state.heard.question}
                    return replace(state, agreed=agreed), True, False
                value = render(slot.yes, self._progress.known(state))
                slots = {**state.slots, name: value}
                return replace(state, slots=slots), True, False
        return state, False, False

    def _no(self, state: State, name: str, found: Found) -> tuple[State, bool, bool]:
        slot = self.script.slots[name]
        if found.slots:
            return state, True, False  # `no, at nine`: the new value says it all
        if slot.no_task and any(intent.task or intent.tool for intent in found.intents):
            return state, False, False  # `no, but when are you open?`
        if slot.no_task:
            state = self._progress.enter(state, slot.no_task)
            return self._progress.advance(state, [], frozenset()), True, True
        if slot.no_ask:
            question = render(slot.no_ask, self._progress.known(state))
            pending = slot.no_fill or (name,)
            plan = Plan(question, question, pending, expects="open")
            asked = {**state.asked, **dict.fromkeys(pending, 1)}
            return replace(state, plan=plan, asked=asked, misses=0, nudges=0), True, True
        return state, True, False

    def _nothing(self, state: State, found: Found, clear: bool) -> State:
        """Nothing was understood: wait for more, ask once differently, then let it be."""
        lines = self.script.lines
        if not clear:
            return self._repeat(state)
        if not state.heard.pending:
            return self._progress.advance(state, [], frozenset())
        few = len(found.words.content) < 8
        small = not found.words.content or (few and found.words.unfinished)
        slots = [self.script.slots[name] for name in state.heard.pending]
        owed = any(slot.kind == "yes_no" and not slot.optional for slot in slots)
        if small and state.nudges < 2 and not owed:  # a yes that is owed is asked for again
            line = lines.go_on[state.nudges % len(lines.go_on)]
            plan = replace(state.heard, text=line, question="", calls=())
            return replace(state, plan=plan, nudges=state.nudges + 1)
        if state.misses == 0 and not self._done_asking(state):
            state = replace(state, misses=1)
            return self._progress.advance(state, [lines.again], frozenset())
        state = replace(state, misses=0, nudges=0)
        pending = state.heard.pending
        if all(self.script.slots[name].optional for name in pending):
            refused = next((t for n in pending if (t := self.script.slots[n].no_task)), "")
            if refused:
                state = self._progress.enter(state, refused)
            state = replace(state, skipped=state.skipped | set(pending))
            return self._progress.advance(state, [], frozenset())
        return self._progress.give_up(state, [lines.lost])

    def _done_asking(self, state: State) -> bool:
        """Return whether what was asked for can be done without and was asked for often enough."""
        if not state.heard.pending:
            return False
        name = state.heard.pending[0]
        slot = self.script.slots[name]
        return slot.optional and state.asked.get(name, 0) >= slot.tries

    def _skip_optional(self, state: State, found: Found) -> State:
        """Do not ask again for what the caller passed over while telling something else."""
        pending = state.heard.pending
        left = {name for name in pending if name not in state.slots}
        optional = all(self.script.slots[name].optional for name in left)
        text = any(self.script.slots[name].kind == "text" for name in left)
        over = left == set(pending) and optional and (text or self._done_asking(state))
        return replace(state, skipped=state.skipped | left) if found.slots and over else state

    def _reopened(self, state: State, changed: frozenset[str]) -> State:
        """Take a finished task up again when the caller corrects something of it."""
        if state.task != self.script.after:
            return state
        for name, task in self.script.tasks.items():
            fills = {each for step in task.steps for each in step.fill}
            if task.reopen and fills & changed:
                return replace(state, task=name)
        return state

    def _repeat(self, state: State) -> State:
        """Say again what was said last; the tools it asked for are not asked for again."""
        plan = state.plan
        text = plan.text or state.heard.text
        question = plan.question if plan.text else state.heard.question
        pending = plan.pending if plan.text else state.heard.pending
        if plan.calls:
            return self._progress.advance(state, [], frozenset())
        return replace(state, plan=replace(plan, text=text, question=question, pending=pending))

    def _wait(self, state: State, clear: bool) -> State:
        """Return the caller time; a question they did not hear is put along with that."""
        line, asked = self.script.lines.wait, state.plan
        if not clear and asked.question:
            text = f"{line} {asked.question}"
            return replace(state, plan=replace(asked, text=text, calls=(), profile="patient"))
        plan = replace(state.heard, text=line, question="", calls=(), profile="patient")
        return replace(state, plan=plan)

    def _home(self, state: State) -> State:
        return replace(state, task=self.script.after, misses=0, nudges=0)


def _merged(old: Value | None, new: Value) -> Value:
    """Put a new value in place of an old one; a wish (`early`) alone keeps the hours said."""
    if isinstance(old, Mapping) and isinstance(new, Mapping) and set(new) == {"prefer"}:
        return {**old, **new} if new["prefer"] != "any" else new
    return new
