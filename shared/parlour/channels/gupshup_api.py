"""Gupshup's send API: one text message, and an honest word on whether it was taken."""

from typing import Literal

import httpx2

from parlour.channels.send import Outgoing
from parlour.infra.errors import DeliveryUnknown, Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.jsonable import Json, JsonObject, canonical
from parlour.infra.secrets import Secrets

_TIMEOUT = httpx2.Timeout(connect=3, write=5, read=10, pool=1)
"""Seconds. An answer later than that makes the message `unknown`, so reading is given the most."""

_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_UNSENDABLE = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL, UnicodeEncodeError)

_NOT_FROM_THE_ORIGIN = frozenset({502, 504})
"""A gateway that lost its upstream: the request had been handed on, so the message may have been taken."""

_LONGEST_REASON = 200
_LONGEST_WAIT_SECONDS = 900


def connect() -> httpx2.Client:
    """A client that opens a connection per message.

    One kept alive may be dead after the sandbox was frozen, which looks just like an answer that was lost.
    """
    return httpx2.Client(timeout=_TIMEOUT, limits=httpx2.Limits(max_keepalive_connections=0))


class GupshupProvider:
    """The WhatsApp channel through Gupshup. The key is read for each call and held nowhere."""

    name: Literal["gupshup"] = "gupshup"

    def __init__(self, client: httpx2.Client, base_url: str, secrets: Secrets) -> None:
        self._client = client
        self._url = f"{base_url.rstrip('/')}/wa/api/v1/msg"
        self._secrets = secrets

    def deliver(self, outgoing: Outgoing, /) -> str:
        """Send one message; the id under which Gupshup took it. Errors as ChannelProvider says."""
        headers = {"apikey": self._secrets.get(outgoing.secret).strip()}
        try:
            response = self._client.post(self._url, data=_form(outgoing), headers=headers)
        except _NEVER_SENT as error:
            raise ProviderUnavailable("Gupshup could not be reached") from error
        except _UNSENDABLE as error:
            raise Misconfigured(f"secret {outgoing.secret} or GUPSHUP_BASE_URL cannot be used in a request") from error
        except httpx2.RequestError as error:
            raise DeliveryUnknown("Gupshup did not answer after the message was sent") from error
        return _taken(response)


def _form(outgoing: Outgoing) -> dict[str, str]:
    return {
        "channel": "whatsapp",
        "source": outgoing.source.removeprefix("+"),
        "destination": outgoing.recipient.removeprefix("+"),
        "message": canonical({"type": "text", "text": outgoing.text}),
        "src.name": outgoing.app,
    }


def _taken(response: httpx2.Response) -> str:
    status = response.status_code
    if status == 429 or (status >= 500 and status not in _NOT_FROM_THE_ORIGIN):
        raise ProviderUnavailable(f"Gupshup answered {status}", after=_retry_after(response))
    if status >= 500:
        raise DeliveryUnknown(f"Gupshup's gateway answered {status}")
    answer = _answer(response)
    if not response.is_success or answer.get("status") == "error":
        raise ProviderRejected(f"Gupshup answered {status}: {_reason(answer)}")
    message_id = answer.get("messageId")
    if not isinstance(message_id, str) or not message_id:
        raise DeliveryUnknown(f"Gupshup answered {status} without the message's id")
    return message_id


def _answer(response: httpx2.Response) -> JsonObject:
    try:
        answer: Json = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _reason(answer: JsonObject) -> str:
    """Gupshup puts text under `message`, or an object with more in it."""
    reason = answer.get("message", "no reason given")
    return (reason if isinstance(reason, str) else canonical(reason))[:_LONGEST_REASON]


def _retry_after(response: httpx2.Response) -> int | None:
    seconds = response.headers.get("retry-after", "")
    return min(int(seconds), _LONGEST_WAIT_SECONDS) if seconds.isascii() and seconds.isdigit() else None
