"""What somebody at the call browser may do to the calls of this process."""

from __future__ import annotations

import structlog

from gateway.call.call import Call
from gateway.call.switchboard import Switchboard
from gateway.events import EndAsked, TransferAsked
from gateway.observe.call_names import whole

log = structlog.get_logger("operator")


class Operator:
    """Finds calls by their names in the log."""

    def __init__(self, switchboard: Switchboard) -> None:
        self._switchboard = switchboard

    def hang_up(self, call: str, by: str) -> bool:
        """End a call; say whether there is one of that name."""
        found = self._find(call)
        if found is not None:
            log.info("call_hung_up", call_id=call, by=by)
            found.end(EndAsked("", f"hung up by {by}"))
        return found is not None

    def transfer(self, call: str, to: str, by: str) -> bool:
        """Put a caller through, where the call's agent may; say whether there is such a call."""
        found = self._find(call)
        if found is not None:
            log.info("call_put_through", call_id=call, by=by)
            found.end(TransferAsked(to, f"asked for by {by}"))
        return found is not None

    def _find(self, name: str) -> Call | None:
        # The log adds `.2` where the line's own name had come before: the latest is in progress.
        calls = [
            one for one in self._switchboard.calls if one.leg.info.call_id in (name, whole(name))
        ]
        return calls[-1] if calls else None
