"""REST and the console, behind API Gateway."""

import asyncio
import functools
from typing import Any

from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES

from parlour.bootstrap.http_api import build_http_api

_TEXT_MEDIA_TYPES = [*DEFAULT_TEXT_MIME_TYPES, "image/svg+xml"]
"""What leaves as it is; anything else would be encoded, for a gateway that is not told to decode it."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer an API Gateway proxy event."""
    answer: dict[str, Any] = _adapter()(event, context)
    return answer


@functools.cache
def _adapter() -> Mangum:
    asyncio.set_event_loop(asyncio.new_event_loop())  # Mangum runs on the thread's own; Python no longer makes one
    return Mangum(build_http_api(), lifespan="off", text_mime_types=_TEXT_MEDIA_TYPES)
