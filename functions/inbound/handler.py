"""A provider's webhook, verified and onto the intake queue. No database and no model on this path."""

from typing import Any

from parlour.bootstrap.inbound import build_inbound
from parlour.channels.accept import serve


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """API Gateway proxy event to proxy response."""
    return serve(event, lambda webhook: build_inbound()(webhook))
