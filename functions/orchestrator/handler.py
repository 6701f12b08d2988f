"""Turn queues to one turn to the outbox."""

from typing import Any

from snapshot_restore_py import register_before_snapshot

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.orchestrator import build_orchestrator, preload
from parlour.jobs.batches import process_batch

register_before_snapshot(preload)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Run the session's turn; a turn that cannot be run now is delivered again."""
    return process_batch(event, context, build_orchestrator, build_change_visibility(), is_renewed=True)
