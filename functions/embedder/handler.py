"""Rows of knowledge and messages of conversations to vectors."""

from typing import Any

from parlour.bootstrap.clients import build_shorten_visibility
from parlour.bootstrap.embedder import build_embedder
from parlour.jobs.batches import process


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Embed what the tenants named by the messages have without a vector."""
    return process(event, context, build_embedder(), build_shorten_visibility())
