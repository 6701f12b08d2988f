"""What model calls cost, as it goes in and out as JSON. Money is US dollars: a decimal number as text."""

from datetime import date, datetime
from decimal import Decimal

from pydantic import Field

from parlour.api.schemas import RequestModel, ResponseModel, UsdAmount


class CapChange(RequestModel):
    """What the tenant's model calls may cost a day, in US dollars; null: what the deployment says."""

    daily_cap_usd: Decimal | None


class TodaySpendView(ResponseModel):
    """Today's spend (UTC) against the cap.

    reserved_usd    the worst case of the calls that are running.
    has_own_cap     whether the cap is the tenant's own; else it is the deployment's.
    warned_percent  the highest percentage of the cap that people were warned of today.
    stopped         whether model calls are switched off, since when and by whom.
    """

    spent_usd: UsdAmount
    reserved_usd: UsdAmount
    cap_usd: UsdAmount
    has_own_cap: bool
    warned_percent: int
    stopped: bool = Field(validation_alias="is_stopped")
    stopped_at: datetime | None
    stopped_by: str | None


class SpendView(ResponseModel):
    """Today's spend."""

    today: TodaySpendView


class UsageSumsView(ResponseModel):
    """Calls, tokens and cost of some model calls.

    unpriced_calls     calls whose price is not known.
    cache_hit_percent  the share of input tokens that came from the prompt cache.
    """

    calls: int
    failed_calls: int
    unpriced_calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cache_hit_percent: int
    cost_usd: UsdAmount


class PeriodCostsView(UsageSumsView):
    """What a period cost, with the shares of its sums by agent, purpose and model: the most expensive first.

    spent_usd       what was counted against the cap.
    unsettled_usd   of that, what calls that never ended might have cost.
    degraded_turns  turns that were answered without the model because of the cap.
    """

    spent_usd: UsdAmount
    unsettled_usd: UsdAmount
    degraded_turns: int
    by_binding: dict[str, UsageSumsView]
    by_purpose: dict[str, UsageSumsView]
    by_model: dict[str, UsageSumsView]


class DayCostsView(PeriodCostsView):
    """What one day (UTC) cost."""

    day: date


class CostReportView(SpendView):
    """Today against the cap, some days up to today, newest first, and the sums over all of them."""

    days: list[DayCostsView]
    total: PeriodCostsView
