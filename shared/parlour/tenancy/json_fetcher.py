"""Reading a small JSON document from an identity provider: bounded in time and size, following no redirect."""

import json
import time
from collections.abc import Callable

import httpx2

from parlour.infra.errors import ProviderUnavailable
from parlour.infra.json_values import JsonObject

_TIMEOUT_SECONDS = 5.0
_MAX_BYTES = 256 * 1024
"""Discovery documents and key sets are a few KiB."""


class JsonFetcher:
    """GET with a client per document: an issuer is read once an hour. The environment's proxies are not used."""

    def __init__(
        self, transport: httpx2.BaseTransport | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._transport = transport
        self._clock = clock

    def __call__(self, url: str, /) -> JsonObject:
        """Return the JSON object at `url`; ProviderUnavailable for anything else, within five seconds."""
        try:
            document = json.loads(self._read(url))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as error:
            raise ProviderUnavailable("the identity provider did not answer as it should; try again") from error
        if not isinstance(document, dict):
            raise ProviderUnavailable("the identity provider answered something else than an object; try again")
        return document

    def _read(self, url: str) -> bytes:
        deadline = self._clock() + _TIMEOUT_SECONDS
        body = bytearray()
        with (
            httpx2.Client(transport=self._transport, timeout=_TIMEOUT_SECONDS, trust_env=False) as client,
            client.stream("GET", url, headers={"accept": "application/json"}) as response,
        ):
            if response.status_code != httpx2.codes.OK:
                raise ValueError(f"status {response.status_code}")
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MAX_BYTES or self._clock() > deadline:
                    raise ValueError("too large or too slow")
        return bytes(body)
