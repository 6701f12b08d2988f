"""What model calls cost the tenant, what they may cost in a day, and the switch that stops them."""

from typing import Annotated

from fastapi import APIRouter, Query

from parlour.api.authorization import Admin, Caller, Viewer
from parlour.api.schemas import CapChange
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models import cost_report, spend
from parlour.tenancy import audit

router = APIRouter(prefix="/v1/costs", tags=["costs"])

Days = Annotated[int, Query(ge=1, le=cost_report.MAX_DAYS)]


@router.get("")
def get_costs(caller: Viewer, days: Days = 7) -> JsonObject:
    """Today against the cap, then day by day (UTC): by agent, purpose and model, with tokens and cache hits."""
    with caller.transaction() as tx:
        found = cost_report.read_cost_report(caller.principal, tx, days, caller.now)
        return {"today": _today_json(caller, tx), **found.to_json()}


@router.put("/cap")
def set_daily_cap(change: CapChange, caller: Admin) -> JsonObject:
    """Give the tenant a daily cap of its own, or the deployment's again; it holds from the next call on."""
    cap = change.daily_cap_usd
    with caller.transaction() as tx:
        if spend.set_daily_cap(caller.principal, tx, cap, caller.now):
            _add_audit_entry(caller, tx, "spend_cap.changed", {"daily_cap_usd": None if cap is None else f"{cap:f}"})
        return {"today": _today_json(caller, tx)}


@router.post("/stop")
def stop_model_calls(caller: Admin) -> JsonObject:
    """Switch the tenant's model calls off; people get a polite line."""
    with caller.transaction() as tx:
        if spend.stop_model_calls(caller.principal, tx, caller.now):
            _add_audit_entry(caller, tx, "spend.stopped", {})
        return {"today": _today_json(caller, tx)}


@router.post("/resume")
def resume_model_calls(caller: Admin) -> JsonObject:
    """Resume model calls."""
    with caller.transaction() as tx:
        if spend.resume_model_calls(caller.principal, tx, caller.now):
            _add_audit_entry(caller, tx, "spend.resumed", {})
        return {"today": _today_json(caller, tx)}


def _today_json(caller: Caller, tx: Transaction) -> JsonObject:
    today = spend.read_today(caller.principal, tx, caller.dependencies.default_daily_cap, caller.now)
    return {
        "spent_usd": f"{today.spent_usd:f}",
        "reserved_usd": f"{today.reserved_usd:f}",
        "cap_usd": f"{today.cap_usd:f}",
        "has_own_cap": today.own_cap_usd is not None,
        "warned_percent": today.warned_percent,
        "stopped": today.is_stopped,
        "stopped_at": today.stopped_at.isoformat() if today.stopped_at else None,
        "stopped_by": today.stopped_by,
    }


def _add_audit_entry(caller: Caller, tx: Transaction, action: str, details: JsonObject) -> None:
    target = f"tenant:{caller.principal.tenant_id}"
    audit.add_entry(caller.principal, tx, action, target, details, caller.now)
