"""What model calls cost the tenant, what they may cost in a day, and the switch that stops them."""

from typing import Annotated

from fastapi import APIRouter, Query

from parlour.api.authorization import Admin, Caller, Viewer
from parlour.api.cost_schemas import CapChange, CostReportView, SpendView, TodaySpendView
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models import cost_report, spend
from parlour.tenancy import audit

router = APIRouter(prefix="/v1/costs", tags=["costs"])

Days = Annotated[int, Query(ge=1, le=cost_report.MAX_DAYS)]


@router.get("")
def get_costs(caller: Viewer, days: Days = 7) -> CostReportView:
    """Today against the cap, then day by day (UTC): by agent, purpose and model, with tokens and cache hits."""
    with caller.transaction() as tx:
        found = cost_report.read_cost_report(caller.principal, tx, days, caller.now)
        today = _read_today(caller, tx)
    return CostReportView.model_validate({"today": today, "days": found.days, "total": found.total})


@router.put("/cap")
def set_daily_cap(change: CapChange, caller: Admin) -> SpendView:
    """Give the tenant a daily cap of its own, or the deployment's again; it holds from the next call on."""
    cap = change.daily_cap_usd
    with caller.transaction() as tx:
        if spend.set_daily_cap(caller.principal, tx, cap, caller.now):
            _add_audit_entry(caller, tx, "spend_cap.changed", {"daily_cap_usd": None if cap is None else f"{cap:f}"})
        return SpendView(today=_read_today(caller, tx))


@router.post("/stop")
def stop_model_calls(caller: Admin) -> SpendView:
    """Switch the tenant's model calls off; people get a polite line."""
    with caller.transaction() as tx:
        if spend.stop_model_calls(caller.principal, tx, caller.now):
            _add_audit_entry(caller, tx, "spend.stopped", {})
        return SpendView(today=_read_today(caller, tx))


@router.post("/resume")
def resume_model_calls(caller: Admin) -> SpendView:
    """Resume model calls."""
    with caller.transaction() as tx:
        if spend.resume_model_calls(caller.principal, tx, caller.now):
            _add_audit_entry(caller, tx, "spend.resumed", {})
        return SpendView(today=_read_today(caller, tx))


def _read_today(caller: Caller, tx: Transaction) -> TodaySpendView:
    today = spend.read_today(caller.principal, tx, caller.dependencies.default_daily_cap, caller.now)
    return TodaySpendView.model_validate(today)


def _add_audit_entry(caller: Caller, tx: Transaction, action: str, details: JsonObject) -> None:
    target = f"tenant:{caller.principal.tenant_id}"
    audit.add_entry(caller.principal, tx, action, target, details, caller.now)
