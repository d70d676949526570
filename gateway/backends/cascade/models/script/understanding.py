"""What an utterance tells, given what was just asked: slots, a yes or a no, intents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.backends.cascade.models.script import numbers, people, times
from gateway.backends.cascade.models.script.format import Intent, Script, Slot
from gateway.backends.cascade.models.script.words import Words, find_any, words
from turn.consent import Verdict, verdict

Value = str | int | Mapping[str, str]
"""Of a choice: `{"value", "known"}`, `known` empty for words that are in no list; of a time of
day: `{"earliest", "latest", "prefer"}`, each where it was said."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was understood."""

    words: Words
    slots: Mapping[str, Value]
    answer: Verdict = "other"
    intents: tuple[Intent, ...] = ()

    @property
    def nothing(self) -> bool:
        """Nothing in it is of use."""
        return not self.slots and not self.intents


@dataclass(frozen=True, slots=True)
class Listening:
    """What one utterance is listened to for."""

    script: Script
    pending: tuple[str, ...]
    "the slots that were asked for, and the question heard"
    known: Mapping[str, Value]
    again: bool = False
    "it was asked before"
    language: str = "en"

    def understand(self, text: str) -> Found:
        """Take an utterance apart."""
        heard = words(text)
        meant = [intent for intent in self.script.intents if _meant(intent, heard)]
        acts = [intent for intent in meant if intent.kind or intent.task or intent.tool]
        # Who asks for something else does not give their bare name in the same breath.
        aside = bool(acts)
        leaves = any(intent.alone for intent in acts)
        for name in self.pending:
            if self.script.slots[name].whole and heard.content and not leaves:
                return Found(heard, {name: text.strip()}, verdict(text, self.language))
        found: dict[str, Value] = {}
        for name, slot in self.script.slots.items():
            value = self._listen(slot, name, heard, found, aside)
            if value is not None and value != "" and value != {}:
                found[name] = value
        self._last_names(heard, found)
        if not leaves:
            self._texts(heard, found)
        intents = tuple(intent for intent in meant if not (intent.alone and found))
        return Found(heard, found, self._answer(heard), intents)

    def _asked(self, name: str) -> bool:
        """Return whether this is an answer to the question heard."""
        return name in self.pending or any(
            name in self.script.slots[other].also for other in self.pending
        )

    def _listen(
        self, slot: Slot, name: str, heard: Words, found: dict[str, Value], aside: bool
    ) -> Value | None:
        asked = self._asked(name)
        if slot.keep and not asked and name in self.known:
            return None
        match slot.kind:
            case "choice":
                return self._choice(slot, name, heard, found)
            case "name":
                led = people.led(heard, slot.lead, slot.most)
                return led or (people.bare(heard, slot.most) if asked and not aside else None)
            case "spelling":
                return self._spelling(name, heard)
            case "year":
                year = numbers.year(heard.norm)
                alone = asked and len(self.pending) == 1
                return year or (numbers.short_year(heard.norm) if alone else None)
            case "day":
                return times.day(heard.norm, asked=asked)
            case "time":
                return times.time_of_day(heard.norm, asked=asked)
            case "digits":
                digits = numbers.digits(heard.norm) if asked else ""
                return digits if len(digits) >= slot.most else None
            case "yes_no" | "text":
                return None  # see _answer and _texts

    def _choice(
        self, slot: Slot, name: str, heard: Words, found: dict[str, Value]
    ) -> Mapping[str, str] | None:
        asked = self._asked(name)
        if slot.within:
            value = self._within(slot, heard, found, asked)
        else:
            listed = self.script.lists[slot.values]
            value = listed.exact(heard.norm)
            if value is None and asked and slot.fuzzy:
                value = listed.joined(heard.norm) or listed.nearest(heard.norm)
        if value is not None:
            unsaid = value.startswith("(")
            return {"value": value.strip("()"), "known": "" if unsaid else value}
        if slot.free and asked and self.again and len(heard.content) >= 2:
            return {"value": heard.text.strip(), "known": ""}
        return None

    def _within(self, slot: Slot, heard: Words, found: dict[str, Value], asked: bool) -> str | None:
        """Choose from the group of another slot's value; a clear choice tells that one too."""
        groups = self.script.grouped[slot.values]
        owner = _plain(found.get(slot.within)) or _plain(self.known.get(slot.within))
        named = slot.within in found
        group = groups.get(owner)
        if group is not None:
            value = group.exact(heard.norm)
            if value is None and (asked or named):
                value = group.joined(heard.norm) or group.nearest(heard.norm)
            return value
        if not asked or owner:
            return None
        for key, group in groups.items():
            value = group.distinct(heard.norm)
            if value is not None:
                found[slot.within] = {"value": key, "known": key}
                return value
        return None

    def _spelling(self, name: str, heard: Words) -> str | None:
        if name in self.pending:
            return people.spelled(heard.norm) or None
        # The rest of a spelling that a pause broke in two.
        before = self.known.get(name)
        rest = "".join(heard.norm)
        if isinstance(before, str) and len(heard.norm) > 1 and len(rest) == len(heard.norm):
            return before + rest.upper() if rest.isalpha() else None
        return None

    def _last_names(self, heard: Words, found: dict[str, Value]) -> None:
        for name, slot in self.script.slots.items():
            if not slot.follows:
                continue
            given = _plain(found.get(slot.follows)) or _plain(self.known.get(slot.follows))
            value = found.get(name)
            if isinstance(value, str) and given and value.startswith(given + " "):
                found[name] = value[len(given) + 1 :]
            elif value is None and slot.follows in found:
                whole = people.led(heard, self.script.slots[slot.follows].lead, 2).split()
                if len(whole) == 2:
                    found[name] = whole[1]

    def _texts(self, heard: Words, found: dict[str, Value]) -> None:
        decided = verdict(heard.text, self.language) in ("yes", "no")
        broken_off = heard.unfinished and len(heard.content) < 4
        for name in self.pending:
            if self.script.slots[name].kind != "text" or found:
                continue
            if decided or (heard.content and not broken_off):
                found[name] = heard.text.strip()

    def _answer(self, heard: Words) -> Verdict:
        for name in self.pending:
            slot = self.script.slots[name]
            if find_any(heard.norm, slot.means_no):
                return "no"
            if slot.means_yes:
                yes = find_any(heard.norm, slot.means_yes) is not None
                judged = verdict(heard.text, self.language)
                return "yes" if yes and judged != "no" else "no" if judged == "no" else "other"
        return verdict(heard.text, self.language)


def _meant(intent: Intent, heard: Words) -> bool:
    if intent.most_words and len(heard.norm) > intent.most_words:
        return False
    return (
        find_any(heard.norm, intent.phrases) is not None
        and find_any(heard.norm, intent.unless) is None
    )


def _plain(value: Value | None) -> str:
    if isinstance(value, Mapping):
        return value.get("value", "")
    return "" if value is None else str(value)
