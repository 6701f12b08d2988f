"""Claude through Anthropic's own API and official SDK.

The SDK takes the better part of a second to import, so it is imported when it is needed and not before;
`preload` does it ahead of a snapshot, or in a thread while the database answers.
"""

import functools
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.models.claude_stream import is_content_event, stream_parts
from parlour.models.model import MAX_CACHE_BREAKPOINTS, ModelRequest, StreamPart, count_cache_breakpoints
from parlour.models.stream_timeouts import FIRST_TOKEN_TIMEOUT_SECONDS, stream_timeouts, stream_within

if TYPE_CHECKING:
    from anthropic import Anthropic

_CONNECT_SECONDS = 5.0

_TRANSIENT_ERRORS = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
"""Types of error that pass by themselves; they may also come inside a stream that began well, with status 200."""

_TRANSIENT_STATUSES = frozenset({408, 409, 429})


def preload() -> None:
    """Import all of the SDK that a call needs."""
    import anthropic.resources.messages  # noqa: F401, PLC0415


class AnthropicModel:
    """Claude's answers, streamed.

    key       the API key; it goes into a header and nowhere else.
    base_url  a gateway or a test server; empty: Anthropic's own.
    """

    provider = "anthropic"

    def __init__(
        self, api_key: str, base_url: str = "", *, first_token_seconds: float = FIRST_TOKEN_TIMEOUT_SECONDS
    ) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._first_token_seconds = first_token_seconds

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """One call, no retries. ValueError for more cache marks than the API takes: that is our own mistake."""
        if count_cache_breakpoints(request) > MAX_CACHE_BREAKPOINTS:
            raise ValueError(f"a request may carry {MAX_CACHE_BREAKPOINTS} cache marks at most")
        began = time.monotonic()
        client = self._client  # the first one takes a second or more, which is not the provider's fault
        allowed = stream_timeouts(self._first_token_seconds, seconds_left - (time.monotonic() - began))
        source = functools.partial(_stream_events, client, request, allowed.total)
        events = stream_within(allowed, source, is_content_event)
        return stream_parts(events)

    def close(self) -> None:
        """Give up the connections that are kept for the next call; nothing is asked after this."""
        if "_client" in vars(self):
            self._client.close()

    @functools.cached_property
    def _client(self) -> "Anthropic":
        from anthropic import Anthropic  # noqa: PLC0415 - see the top of the file

        return Anthropic(api_key=self._api_key, base_url=self._base_url or None, max_retries=0)


def _stream_events(client: "Anthropic", request: ModelRequest, seconds: float) -> Generator[JsonObject]:
    """Stream the API's events as plain JSON; raise its errors, and the connection's, as Parlour's.

    Causes are cut off: a provider's message may quote the request.
    """
    import httpx2  # noqa: PLC0415
    from anthropic import APIError, APIStatusError  # noqa: PLC0415

    timeout = httpx2.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds))
    try:
        body: dict[str, Any] = request.to_json()
        with client.messages.create(
            **{name: value for name, value in body.items() if value != []}, stream=True, timeout=timeout
        ) as events:
            for event in events:
                yield event.to_dict(mode="json", warnings=False)
    except APIStatusError as error:
        raise _to_error(error.status_code, error.type or "error") from None
    except (APIError, httpx2.HTTPError, ValueError) as error:
        raise ProviderUnavailable(f"anthropic broke off: {type(error).__name__}") from None


def _to_error(status: int, kind: str) -> ProviderUnavailable | ProviderRejected:
    message = f"anthropic answered {status} {kind}"
    if status in _TRANSIENT_STATUSES or status >= 500 or kind in _TRANSIENT_ERRORS:
        return ProviderUnavailable(message)
    return ProviderRejected(message)
