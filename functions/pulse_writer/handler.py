"""One record's Pulses, or the answer to a question about it."""

from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.pulse_writer import build_pulse_writer
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Write what the orders ask for."""
    return process_batch(event, context, build_pulse_writer, build_change_visibility())
