"""Turn queues to one turn to the outbox."""

from typing import Any

from snapshot_restore_py import register_before_snapshot

from parlour.bootstrap.clients import build_hasten
from parlour.bootstrap.orchestrator import build_orchestrator, preload
from parlour.infra.batch import process

register_before_snapshot(preload)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run the session's turn; a turn that cannot be run now is delivered again."""
    turn = build_orchestrator()

    def seconds_left() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    return process(event, context, lambda body: turn(body, seconds_left), build_hasten())
