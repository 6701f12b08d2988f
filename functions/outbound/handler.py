"""Replies out of the outbox, to the provider of their channel."""

from typing import Any

from parlour.bootstrap.outbound import build_outbound
from parlour.infra.batch import process


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """SQS batch to the messages that have to come again."""
    return process(event, context, build_outbound())
