"""The operator's numbers: what Pulses were written for how many changes, what that cost, and how fresh they were when
somebody looked."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from parlour.infra.postgres import Transaction
from parlour.principal import RESTRICTED, Principal
from parlour.pulse.reading import store
from parlour.pulse.reading.store import CurrentStatisticsRow, DayRow, RecordCostRow
from parlour.tenancy.roles import require_role

MOST_DAYS = 90
_MAX_EXPENSIVE = 10


@dataclass(frozen=True, slots=True)
class PulseTotals:
    """What became of Pulses.

    coalesced                  changes that needed no writing of their own.
    average_staleness_seconds  the age of the oldest change that was not reflected when somebody read, over all reads; 0
                               when there was none.
    """

    regenerated: int
    skipped: int
    coalesced: int
    failed: int
    reads: int
    stale_reads: int
    average_staleness_seconds: float
    max_staleness_seconds: float
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class DayStatistics(PulseTotals):
    """What became of the Pulses of so many records on one day (UTC)."""

    day: date
    record_count: int


@dataclass(frozen=True, slots=True)
class CurrentStatistics(CurrentStatisticsRow):
    """The state of a tenant's Pulses now, and the budget that applies."""

    cap_usd: Decimal

    @property
    def has_own_cap(self) -> bool:
        return self.own_cap_usd is not None


@dataclass(frozen=True, slots=True)
class PulseStatistics:
    """A tenant's Pulse statistics; days without an entry are left out."""

    now: CurrentStatistics
    total: PulseTotals
    days: Sequence[DayStatistics]
    most_expensive: Sequence[RecordCostRow]


def read_statistics(
    principal: Principal, tx: Transaction, days: int, default_cap: Decimal, now: datetime
) -> PulseStatistics:
    """Return the tenant's Pulse statistics of the last `days` days (UTC). Needs the role viewer.

    Costs of single records tell of what is restricted around them: `most_expensive` is empty for readers who may not
    see everything.
    """
    require_role(principal, "viewer")
    today = now.astimezone(UTC).date()
    rows = store.list_days(tx, today, days)
    current = store.read_current_statistics(tx, today, now)
    cap = default_cap if current.own_cap_usd is None else current.own_cap_usd
    sees_all = principal.clearance >= RESTRICTED
    return PulseStatistics(
        CurrentStatistics(**asdict(current), cap_usd=cap),
        _totals(rows),
        [DayStatistics(**asdict(_totals([row])), day=row.day, record_count=row.record_count) for row in rows],
        store.list_most_expensive(tx, today, days, _MAX_EXPENSIVE) if sees_all else (),
    )


def _totals(rows: Sequence[DayRow]) -> PulseTotals:
    reads = sum(row.reads for row in rows)
    waited = sum(row.stale_seconds for row in rows)
    return PulseTotals(
        regenerated=sum(row.regenerated for row in rows),
        skipped=sum(row.skipped for row in rows),
        coalesced=int(sum(row.coalesced for row in rows)),
        failed=sum(row.failed for row in rows),
        reads=reads,
        stale_reads=sum(row.stale_reads for row in rows),
        average_staleness_seconds=round(waited / reads, 1) if reads else 0.0,
        max_staleness_seconds=round(max((row.max_stale_seconds for row in rows), default=0.0), 1),
        cost_usd=sum((row.cost_usd for row in rows), Decimal()),
    )
