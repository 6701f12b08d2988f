"""The operator's numbers: what Pulses were written for how many changes, what that cost, and how fresh they were when
somebody looked."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import RESTRICTED, Principal
from parlour.pulse.reading import store
from parlour.pulse.reading.store import DayRow
from parlour.tenancy.roles import require_role

MOST_DAYS = 90
_MAX_EXPENSIVE = 10


def read_statistics(
    principal: Principal, tx: Transaction, days: int, default_cap: Decimal, now: datetime
) -> JsonObject:
    """Return the tenant's Pulse statistics of the last `days` days (UTC). Needs the role viewer.

    Costs of single records tell of what is restricted around them: `most_expensive` is [] for readers who may not see
    everything.

    {"now": {"spent_usd", "cap_usd", "has_own_cap", "record_count", "due_count", "due_since", "over_budget_count",
    "backing_off_count", "given_up_count"}, "total": DAY, "days": [{"day", **DAY}], "most_expensive": [{"record",
    "name", "regenerated", "skipped", "reads", "cost_usd"}]} with DAY = {"record_count", "regenerated", "skipped",
    "coalesced", "failed", "reads", "stale_reads", "average_staleness_seconds", "max_staleness_seconds", "cost_usd"}.

    `coalesced` changes needed no writing of their own. `average_staleness_seconds` is the age of the oldest change that
    was not reflected when somebody read, over all reads; 0 when there was none. Amounts are US dollars as text.
    """
    require_role(principal, "viewer")
    today = now.astimezone(UTC).date()
    rows = store.list_days(tx, today, days)
    told: list[Json] = [
        {"day": row.day.isoformat(), "record_count": row.record_count, **_day_totals([row])} for row in rows
    ]
    dear: list[Json] = [
        {
            "record": one.handle,
            "name": one.name,
            "regenerated": one.regenerated,
            "skipped": one.skipped,
            "reads": one.reads,
            "cost_usd": f"{one.cost_usd:f}",
        }
        for one in (
            store.list_most_expensive(tx, today, days, _MAX_EXPENSIVE) if principal.clearance >= RESTRICTED else ()
        )
    ]
    return {
        "now": _current_statistics(tx, default_cap, now),
        "total": _day_totals(rows),
        "days": told,
        "most_expensive": dear,
    }


def _current_statistics(tx: Transaction, default_cap: Decimal, now: datetime) -> JsonObject:
    found = store.read_current_statistics(tx, now.astimezone(UTC).date(), now)
    cap = default_cap if found.own_cap_usd is None else found.own_cap_usd
    return {
        "spent_usd": f"{found.spent_usd:f}",
        "cap_usd": f"{cap:f}",
        "has_own_cap": found.own_cap_usd is not None,
        "record_count": found.record_count,
        "due_count": found.due_count,
        "due_since": found.due_since.isoformat() if found.due_since else None,
        "over_budget_count": found.over_budget_count,
        "backing_off_count": found.backing_off_count,
        "given_up_count": found.given_up_count,
    }


def _day_totals(rows: Sequence[DayRow]) -> JsonObject:
    reads = sum(row.reads for row in rows)
    waited = sum(row.stale_seconds for row in rows)
    return {
        "regenerated": sum(row.regenerated for row in rows),
        "skipped": sum(row.skipped for row in rows),
        "coalesced": int(sum(row.coalesced for row in rows)),
        "failed": sum(row.failed for row in rows),
        "reads": reads,
        "stale_reads": sum(row.stale_reads for row in rows),
        "average_staleness_seconds": round(waited / reads, 1) if reads else 0.0,
        "max_staleness_seconds": round(max((row.max_stale_seconds for row in rows), default=0.0), 1),
        "cost_usd": f"{sum((row.cost_usd for row in rows), Decimal()):f}",
    }
