"""Built-in tools that act on the call itself: hang up, transfer, keys, patience."""

from __future__ import annotations

from gateway.call.conversation.state import CallState
from gateway.call.conversation.vocabulary import Effects
from gateway.call.tools.wants import (
    Perform,
)
from gateway.events import (
    ChooseProfile,
    HangUp,
    Json,
    Record,
    SendKeys,
    ToolAnswered,
    Transfer,
)
from gateway.log_events import TransferRefusedLogged

PROFILES = ("quick", "default", "patient", "digits")

TARGET_MOST = 128
"""Characters of a target that is refused, for the log."""


def perform(state: CallState, wanted: Perform, now: float) -> tuple[Effects, ToolAnswered]:
    """Do a built-in that acts on the call itself; what ends the call waits to be heard."""
    arguments = wanted.arguments
    effects: Effects = []
    result: Json = {"status": "ok"}
    match wanted.name:
        case "hang_up":
            effects += _goodbye(state)
            state.finish_with(HangUp(str(arguments.get("reason") or "agent ended the call")), now)
        case "transfer":
            target, summary = str(arguments.get("target", "")), str(arguments.get("summary", ""))
            to = state.settings.transfers.find(target)
            if to is None:
                return _not_put_through(state, wanted, target)
            state.finish_with(Transfer(to, summary), now)
        case "send_keys":
            keys = str(arguments.get("keys", ""))
            if keys and not keys.strip("0123456789ABCD*#"):
                effects.append(SendKeys(keys))
            else:
                result = _unknown("keys", keys, list("0123456789*#"))
        case "switch_profile":
            name = str(arguments.get("name", "default"))
            if name in PROFILES:
                effects.append(ChooseProfile(name))
            else:
                result = _unknown("name", name, list(PROFILES))
        case _:
            raise AssertionError(wanted.name)
    done = ToolAnswered(wanted.run, result, "failed" if "error" in result else "done")
    return effects, done


def _goodbye(state: CallState) -> Effects:
    """Say goodbye where the model hangs up without a word."""
    reply = state.replies.current
    said = reply is not None and (reply.spoke or state.speech.written(reply.id))
    return [] if said else state.speak(state.settings.lines.goodbye, "goodbye")


def _not_put_through(
    state: CallState, wanted: Perform, target: str
) -> tuple[Effects, ToolAnswered]:
    """Tell the model whom it may name; the call goes on as if it had not asked."""
    may = state.settings.transfers.said()
    refused = TransferRefusedLogged(target=target[:TARGET_MOST], reason="not in transfers")
    result: Json = {"error": "not_allowed", "message": f"Callers can be put through to: {may}."}
    told = ToolAnswered(wanted.run, result, "refused")
    return [Record(refused)], told


def _unknown(argument: str, found: str, allowed: list[str]) -> Json:
    said = f'{argument} is "{found}"; allowed are: {", ".join(allowed)}'
    return {"error": "bad_arguments", "message": said}
