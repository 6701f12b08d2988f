"""Calling a provider over HTTP: which silence means what, and what an answer holds."""

import httpx2

from parlour.infra.errors import ProviderUnavailable
from parlour.infra.json_values import Json, JsonObject

_TIMEOUT = httpx2.Timeout(connect=3, write=5, read=10, pool=1)
"""Seconds. An answer later than that makes the message `unknown`, so reading is given the most."""

NOT_SENT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
"""The request did not leave: it may be made again."""

INVALID_REQUEST_ERRORS = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL, UnicodeEncodeError)
"""The request cannot be written down: a setting is wrong."""

_REACH_SECONDS = 3
"""For one look whether a provider answers at all."""

_MAX_RETRY_AFTER_SECONDS = 900


def new_client() -> httpx2.Client:
    """Return a client that opens a connection per message.

    A connection kept alive may be dead after the sandbox was frozen, which looks just like a lost answer.
    """
    return httpx2.Client(timeout=_TIMEOUT, limits=httpx2.Limits(max_keepalive_connections=0))


def require_reachable(client: httpx2.Client, url: str) -> None:
    """Raise ProviderUnavailable unless a provider answers at `url`, with any status. Nothing is sent."""
    try:
        client.get(url, timeout=_REACH_SECONDS)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ProviderUnavailable(f"{url} does not answer ({type(error).__name__})") from error


def response_json(response: httpx2.Response) -> JsonObject:
    """Return the JSON object of a response; an empty one when the response is something else."""
    try:
        answer: Json = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def retry_after_seconds(response: httpx2.Response) -> int | None:
    """Return the seconds that the provider asks to wait, 15 minutes at most; None when it does not ask."""
    seconds = response.headers.get("retry-after", "")
    return min(int(seconds), _MAX_RETRY_AFTER_SECONDS) if seconds.isascii() and seconds.isdigit() else None
