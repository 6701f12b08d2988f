"""Claude through Anthropic's own API and official SDK.

The SDK takes the better part of a second to import, so it is imported when it is needed and not before;
`preload` does it ahead of a snapshot, or in a thread while the database answers.
"""

import functools
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.jsonable import JsonObject
from parlour.models.claude_events import is_token, parts
from parlour.models.deadline import FIRST_TOKEN_SECONDS, patience, within
from parlour.models.request import MOST_CACHE_MARKS, ModelRequest, Part, cache_marks

if TYPE_CHECKING:
    from anthropic import Anthropic

_CONNECT_SECONDS = 5.0

_PASSING = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
"""Types of error that pass by themselves; they may also come inside a stream that began well, with status 200."""

_PASSING_STATUSES = frozenset({408, 409, 429})


def preload() -> None:
    """Import all of the SDK that a call needs."""
    import anthropic.resources.messages  # noqa: F401, PLC0415


class AnthropicModel:
    """Streams Claude's answers.

    key                  the API key; it goes into a header and nowhere else.
    base_url             a gateway or a test server; empty: Anthropic's own.
    first_token_seconds  how long to wait for the model to begin.
    """

    provider = "anthropic"

    def __init__(self, key: str, base_url: str = "", *, first_token_seconds: float = FIRST_TOKEN_SECONDS) -> None:
        self._key = key
        self._base_url = base_url
        self._first_token_seconds = first_token_seconds

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[Part]:
        """One call, no retries. ValueError for more cache marks than the API takes: that is our own mistake."""
        if cache_marks(request) > MOST_CACHE_MARKS:
            raise ValueError(f"a request may carry {MOST_CACHE_MARKS} cache marks at most")
        began = time.monotonic()
        client = self._client  # the first one takes a second or more, which is not the provider's fault
        allowed = patience(self._first_token_seconds, seconds_left - (time.monotonic() - began))
        source = functools.partial(_events, client, request, allowed.whole)
        return parts(within(allowed, source, is_token))

    def close(self) -> None:
        """Give up the connections that are kept for the next call; nothing is asked after this."""
        if "_client" in vars(self):
            self._client.close()

    @functools.cached_property
    def _client(self) -> "Anthropic":
        from anthropic import Anthropic  # noqa: PLC0415 - see the top of the file

        return Anthropic(api_key=self._key, base_url=self._base_url or None, max_retries=0)


def _events(client: "Anthropic", request: ModelRequest, seconds: float) -> Generator[JsonObject]:
    """The API's events as plain JSON; its errors, and the connection's, as Parlour's.

    Causes are cut off: a provider's message may quote the request.
    """
    import httpx2  # noqa: PLC0415
    from anthropic import APIError, APIStatusError  # noqa: PLC0415

    timeout = httpx2.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds))
    try:
        with client.messages.create(**_body(request), stream=True, timeout=timeout) as events:
            for event in events:
                yield event.to_dict(mode="json", warnings=False)
    except APIStatusError as error:
        raise _refusal(error.status_code, error.type or "error") from None
    except (APIError, httpx2.HTTPError, ValueError) as error:
        raise ProviderUnavailable(f"anthropic broke off: {type(error).__name__}") from None


def _body(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = request.to_json()
    return {name: value for name, value in body.items() if value != []}


def _refusal(status: int, kind: str) -> ProviderUnavailable | ProviderRejected:
    message = f"anthropic answered {status} {kind}"
    if status in _PASSING_STATUSES or status >= 500 or kind in _PASSING:
        return ProviderUnavailable(message)
    return ProviderRejected(message)
