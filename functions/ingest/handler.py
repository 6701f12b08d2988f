"""Uploaded files to searchable rows."""

from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.ingest import build_ingest
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Read the file that the message names; what is wrong with it is written down with it."""
    return process_batch(event, context, build_ingest, build_change_visibility())
