"""Twilio's REST API, as far as a call in progress needs it: end it, or send it elsewhere.

The calls block: they belong in a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twilio.http import HttpClient

ALREADY_OVER = 20404
"""Twilio's error code for a call that is not there any more."""


class RestRefusedError(OSError):
    """Twilio did not do what was asked, or could not be reached."""


class TwilioRest:
    """Updates calls of one account."""

    def __init__(
        self,
        account_sid: str,
        auth_token: str,
        *,
        edge: str = "",
        region: str = "",
        seconds: float = 10.0,
        http_client: HttpClient | None = None,
    ) -> None:
        """`http_client` takes the place of Twilio's own, for tests and proxies."""
        self._account = account_sid
        self._token = auth_token
        self._edge = edge
        self._region = region
        self._seconds = seconds
        self._http = http_client
        self._client: Any = None

    def hang_up(self, call_sid: str) -> None:
        """End a call; raises RestRefusedError, but not for one that is over already."""
        self._update(call_sid, status="completed")

    def transfer(self, call_sid: str, twiml: str) -> None:
        """Make a call leave its stream and follow `twiml`; raises RestRefusedError."""
        self._update(call_sid, twiml=twiml)

    def _update(self, call_sid: str, **change: str) -> None:
        # Importing the vendor's client takes a tenth of a second, which a thread may take.
        from twilio.base.exceptions import TwilioException, TwilioRestException

        try:
            self._connected().calls(call_sid).update(**change)
        except TwilioRestException as error:
            if error.code == ALREADY_OVER and change.get("status") == "completed":
                return
            raise RestRefusedError(f"Twilio answered {error.status}: {error.msg}") from error
        except (TwilioException, OSError) as error:  # what `requests` raises is an OSError
            raise RestRefusedError(f"Twilio not reached: {type(error).__name__}") from error

    def _connected(self) -> Any:
        if self._client is None:
            from twilio.http.http_client import TwilioHttpClient
            from twilio.rest import Client

            self._client = Client(
                self._account,
                self._token,
                http_client=self._http or TwilioHttpClient(timeout=self._seconds),
                edge=self._edge or None,
                region=self._region or None,
            )
        return self._client
