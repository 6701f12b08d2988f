"""How long the sweep takes after an outage that lost many wake-ups, and how many looks a day it has to spare.

    python -m bench.sweep [--wakeups N] [--tenants N] [--json FILE]

Each lost wake-up is that of a conversation with an unanswered message. Sweeps of a minute run one after another, as the
schedule starts one every five minutes; queues are in memory, so each wake-up saves the 10 ms that sending one takes.

sweeps, minutes    until nothing is due: sweeps, and their schedule's time.
seconds            of work in all; per_item_ms for one wake-up.
looks_a_day        that retention needs, once per tenant and hour, against the capacity of all sweeps of a day.
"""

import math
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from uuid import UUID

from bench import report
from local import temporary_database
from local.database import Cluster
from parlour.bootstrap.sweep import SweepQueues, finders
from parlour.infra.json_values import JsonObject
from parlour.jobs.sweep import SweepDependencies, sweep
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue, FakeQueue, open_conversation_harness

WAKEUPS, TENANTS = 100_000, 10_000

_SWEEP_SECONDS = 60.0
_SWEEPS_A_DAY = 24 * 12

_COPY_SESSIONS = """
INSERT INTO sessions
SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'is_main', false))).*
  FROM sessions s, generate_series(2, %(count)s) WHERE s.id = %(session_id)s
"""
_COPY_MESSAGES = """
INSERT INTO messages OVERRIDING USER VALUE
SELECT (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(), 'session_id', s.id,
                                                    'provider_message_id', NULL))).*
  FROM messages m, sessions s WHERE m.session_id = %(session_id)s AND s.id <> m.session_id
"""
_LOSE_WAKEUPS = """
INSERT INTO work_due (tenant_id, kind, id, due_at)
SELECT tenant_id, 'session', id, created_at FROM sessions
    ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at
"""


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--wakeups", type=int, default=WAKEUPS)
    parser.add_argument("--tenants", type=int, default=TENANTS)
    options = parser.parse_args()
    with (
        temporary_database.temporary_cluster() as cluster,
        closing(temporary_database.create_migrated_database(cluster)) as database,
    ):
        harness = open_conversation_harness(database, datetime.now(UTC))
        visitor = harness.create_visitor()
        session_id = harness.find_session(visitor)
        harness.send_web(visitor, session_id, "When does the crane come?")
        _lose_wakeups(cluster, session_id, options.wakeups)
        report.write(options.json, _measure(harness, options.wakeups, options.tenants))


def _lose_wakeups(cluster: Cluster, session_id: UUID, count: int) -> None:
    with cluster.connect_as_superuser("scratch") as owner:
        for statement in (_COPY_SESSIONS, _COPY_MESSAGES, _LOSE_WAKEUPS):
            owner.execute(statement, {"session_id": session_id, "count": count})
        owner.execute("DELETE FROM work_due WHERE kind NOT IN ('session', 'pulse')")
        owner.execute("ANALYZE")


def _measure(harness: ConversationHarness, wakeups: int, tenants: int) -> JsonObject:
    harness.clock.now += timedelta(minutes=10)
    queue, delayed = FakeQueue(), FakeDelayedQueue()
    queues = SweepQueues({"whatsapp": queue, "web": queue}, queue, queue, queue, delayed, delayed)
    dependencies = SweepDependencies(harness.database, finders(queues), delayed, harness.clock)
    sweeps, woken, has_more, started = 0, 0, True, time.monotonic()
    while has_more:
        until = time.monotonic() + _SWEEP_SECONDS
        result = sweep(dependencies, lambda until=until: until - time.monotonic())  # type: ignore[misc]
        sweeps, woken, has_more = sweeps + 1, woken + result.woken_count, result.has_more
    seconds = time.monotonic() - started
    per_item = seconds / max(woken, 1)
    capacity = math.floor(_SWEEP_SECONDS / per_item) * _SWEEPS_A_DAY
    figures: dict[str, report.Cell] = {
        "wakeups": wakeups,
        "woken": woken,
        "sweeps": sweeps,
        "minutes": 5 * sweeps,
        "seconds": round(seconds, 1),
        "per_item_ms": round(1000 * per_item, 2),
        "tenants": tenants,
        "looks_a_day": 24 * tenants,
        "capacity_a_day": capacity,
    }
    report.show("Lost wake-ups", [figures])
    return {**figures}


if __name__ == "__main__":
    main()
