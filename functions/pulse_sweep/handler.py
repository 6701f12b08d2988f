"""Due Pulses to their writers: by schedule, or when a wake-up says so."""

from dataclasses import asdict
from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.pulse_sweep import build_sweep, build_wakeup
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Messages of the wake-up queue one by one, each for its tenant; without messages, every tenant's."""
    if "Records" in event:
        return process_batch(event, context, build_wakeup, build_change_visibility(), is_renewed=True)
    return asdict(build_sweep()(lambda: context.get_remaining_time_in_millis() / 1000))
