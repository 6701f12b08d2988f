"""REST and the console, behind API Gateway."""

import functools
from typing import Any

from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES

from parlour.bootstrap.http_api import build_http_api

_TEXTS = [*DEFAULT_TEXT_MIME_TYPES, "text/event-stream", "image/svg+xml"]
"""What may leave as it is; anything else would be encoded for a gateway that is not told to decode it."""


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """API Gateway proxy event to proxy response."""
    answer: dict[str, Any] = _door()(event, context)
    return answer


@functools.cache
def _door() -> Mangum:
    return Mangum(build_http_api(), lifespan="off", text_mime_types=_TEXTS)
