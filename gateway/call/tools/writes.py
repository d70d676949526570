"""The writes of a call in two phases: proposed and heard where they need a yes, then done once.

A write that needs nobody's yes is put into the queue at once; one that does, when its proposal was
read back, heard, and answered by a plain yes. The queue is worked off one after another.
"""

from __future__ import annotations

from gateway.call.tools.asks import Ask, Asks
from gateway.call.tools.at_work import AtWork
from gateway.call.tools.deeds import Deed, Deeds
from gateway.call.tools.proposals import Proposal, Proposals
from gateway.call.tools.read_back import missing, read_back
from gateway.call.tools.wants import (
    CANCELLED,
    DECLINED,
    NOT_YET,
    STILL_RUNNING,
    DeskRules,
    Effects,
    Judged,
    SayProposal,
    proposed,
)
from gateway.ports import ToolSpec
from gateway.tools.builtins import CALL_TOOLS
from turn.consent import verdict


class Writes:
    """Decides when a write begins and who is told of its end; a `ToolDesk` answers the model."""

    def __init__(self, rules: DeskRules, asks: Asks) -> None:
        self._rules = rules
        self._asks = asks
        self._deeds = Deeds(rules.call_id)
        self.work = AtWork(self._deeds, asks)
        self._proposals = Proposals()

    # --- proposals ------------------------------------------------------------------------------

    @property
    def open(self) -> Proposal | None:
        """What the caller is being asked, or was and has not answered."""
        return self._proposals.open

    def speak_up(self) -> Effects:
        """Nobody speaks: read the next proposal back, if one waits."""
        made = self._proposals.next()
        return [] if made is None else self._say(made)

    def answering(self, reply: int) -> None:
        """A turn of the caller has ended that answers the open proposal; its words come."""
        self._proposals.answering(reply)

    def no_answer(self, *, heard: bool) -> Effects:
        """The turn was none: the open proposal is as it was, and is said where it never was."""
        made = self._proposals.open
        if made is None:
            return []
        made.answered_by = None
        return [] if heard else [SayProposal(made.run, made.text)]

    def answer(self, text: str, now: float, *, heard: bool) -> Effects:
        """Take the caller's words as the answer to the open proposal."""
        made = self._proposals.open
        question = "" if made is None else made.text
        return self.decide(verdict(text, self._rules.language, question), now, heard=heard)

    def decide(self, answer: str, now: float, *, heard: bool) -> Effects:
        """Take a `yes`, a `no` or anything else as the answer to the open proposal.

        `heard`: the caller had heard it to its end.
        """
        made = self._proposals.open
        if made is None:
            return []
        by = made.answered_by
        outcome = self._proposals.judge(answer, heard=heard)
        waiting, made.waiting = made.waiting, []
        effects: Effects = [Judged(made.run, made.spec.name, outcome, made.arguments)]
        if outcome == "agreed":
            effects += self._commit(made, made.reply if by is None else by, waiting, now)
        elif outcome == "again":
            for ask in waiting:
                ask.finish(proposed(made.text), "proposed", now)
            effects += self._say(made)
        else:
            for ask in waiting:
                if outcome == "declined":
                    ask.finish(DECLINED, "refused", now)
                else:
                    effects += self._propose(ask, made.spec, now)
        return effects

    def _say(self, made: Proposal) -> Effects:
        again = made.times > 0
        made.times += 1
        said = f"{self._rules.again} {made.text}" if again else made.text
        return [SayProposal(made.run, said)]

    def _commit(self, made: Proposal, reply: int, waiting: list[Ask], now: float) -> Effects:
        """Do what the caller said yes to: exactly that."""
        deed = self._deeds.add(made.run, made.spec, made.arguments, reply, agreed=True)
        for ask in waiting:
            ask.deed, ask.due = deed, now + made.spec.timeout
        deed.due = None if waiting else now + made.spec.timeout
        return self.work.begin(now)

    # --- requests -------------------------------------------------------------------------------

    def ask(self, ask: Ask, spec: ToolSpec, now: float) -> Effects:
        """Take a write of a confirmed turn: it joins the same one, is proposed, or begins."""
        judged = self._proposals.judged(ask)
        if judged is not None and judged.means(ask):
            ask.state = "waiting"
            judged.waiting.append(ask)
            return []
        same = self._deeds.same(ask.name, ask.arguments, ask.reply)
        keys = ask.name in CALL_TOOLS  # a key may be pressed twice
        if same is not None and not keys and self._joined(ask, same, now):
            return []
        if spec.confirm:
            return self._propose(ask, spec, now)
        if self._proposals.of(ask.reply):
            ask.finish(NOT_YET, "refused", now)
            return []
        ask.deed = self._deeds.add(ask.run, spec, ask.arguments, ask.reply, agreed=False)
        ask.state, ask.started, ask.due = "waiting", now, now + spec.timeout
        return self.work.begin(now)

    def _joined(self, ask: Ask, same: Deed, now: float) -> bool:
        """Let a request be answered by the deed it means; one that failed may be tried again."""
        if same.state == "over":
            if same.outcome not in ("done", "uncertain"):
                return False
            ask.finish({**same.result, "repeated": True}, same.outcome, now)
            return True
        ask.state, ask.deed, ask.due = "waiting", same, now + same.spec.timeout
        ask.started = now
        same.due = None
        return True

    def _propose(self, ask: Ask, spec: ToolSpec, now: float) -> Effects:
        if gaps := missing(spec.say, ask.arguments):
            said = f"missing: {', '.join(gaps)}"
            ask.finish({"error": "bad_arguments", "message": said}, "refused", now)
            return []
        lapsed = self._proposals.lapse(ask.reply)
        text = read_back(spec.say, ask.arguments, self._rules.language)
        made = self._proposals.add(ask, spec, text)
        ask.finish(proposed(made.text), "proposed", now)
        if lapsed is None:
            return []
        return [Judged(lapsed.run, lapsed.spec.name, "lapsed", lapsed.arguments)]

    def withdraw(self, reply: int) -> Effects:
        """Take back what a reply proposed and nobody was asked yet."""
        gone = self._proposals.withdraw(reply)
        return [Judged(one.run, one.spec.name, "lapsed", one.arguments) for one in gone]

    def interrupted(self, ask: Ask, now: float) -> None:
        """The caller took the floor from the reply that asked: what has begun goes on."""
        deed = ask.deed
        if deed is None:  # it waits for an answer that is not known yet
            made = self._proposals.open
            if made is not None and ask in made.waiting:
                made.waiting.remove(ask)
            ask.finish(CANCELLED, "cancelled", now)
        elif deed.state == "queued" and not deed.agreed:
            ask.finish(CANCELLED, "cancelled", now)
            if not self._asks.waiting_for(deed):
                self._deeds.forget(deed)
        else:
            ask.finish(STILL_RUNNING, "timeout", now)
            deed.late, deed.due = True, None

    @property
    def asking(self) -> bool:
        """Something is to be read back, or its answer is waited for."""
        return self._proposals.pending
