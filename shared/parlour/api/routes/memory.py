"""What is remembered, of whom, and from which words; a fact put right. Visitors see their own, viewers everybody's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import AnyCaller, Caller, Editor, Viewer
from parlour.api.routes.erasures import run_erasure
from parlour.api.schemas import FactChange, SharedFactChange
from parlour.infra.json_values import Json, JsonObject
from parlour.memory.facts import shared_facts
from parlour.memory.facts.shared_facts import NewSharedFact
from parlour.memory.inspection import fact_edit, user_memory
from parlour.memory.inspection.user_memory import (
    EpisodeRow,
    FactRow,
    SharedFactRow,
    UserMemory,
    UserRow,
    UserSummaryRow,
)

router = APIRouter(prefix="/v1", tags=["memory"])

SearchText = Annotated[str, Query(max_length=200, description="part of a name, or the last digits of a number")]
Limit = Annotated[int, Query(ge=1, le=user_memory.MAX_USERS)]


@router.get("/memory")
def get_own_memory(caller: AnyCaller) -> JsonObject:
    """Return what the agent of a visitor's `visitor_token` remembers of them."""
    binding_id = caller.require_visitor().binding_id
    with caller.transaction() as tx:
        return _memory_json(user_memory.read_own_memory(caller.principal, tx, binding_id))


@router.get("/users")
def list_users(caller: Viewer, text: SearchText = "", limit: Limit = 50) -> JsonObject:
    """Who talks to the tenant's agents, those heard of last first, and how much is remembered of each."""
    with caller.transaction() as tx:
        return {"users": [_user_summary_json(one) for one in user_memory.list_users(caller.principal, tx, text, limit)]}


@router.get("/users/{user_id}/memory")
def get_user_memory(user_id: UUID, caller: Viewer) -> JsonObject:
    """Return what all agents remember of a user, up to the caller's clearance."""
    with caller.transaction() as tx:
        return _memory_json(user_memory.read_user_memory(caller.principal, tx, user_id))


@router.get("/memory/shared-facts")
def list_shared_facts(caller: Viewer) -> JsonObject:
    """List the facts of whole personas and teams, which everybody who talks to them may be told."""
    with caller.transaction() as tx:
        return {"facts": [_shared_fact_json(one) for one in user_memory.list_shared_facts(caller.principal, tx)]}


@router.put("/memory/shared-facts")
def set_shared_fact(told: SharedFactChange, caller: Editor) -> JsonObject:
    """Have something known to a whole persona or team; what was known under the key is kept as what was before."""
    wanted = NewSharedFact(told.scope, told.slug, told.key, told.value)
    with caller.transaction() as tx:
        made = shared_facts.set(caller.principal, tx, wanted, caller.now)
    return {"id": str(made)}


@router.patch("/memory/facts/{fact_id}")
def update_fact(fact_id: UUID, wanted: FactChange, caller: AnyCaller) -> JsonObject:
    """Put a fact right: a visitor one of their own, an editor any. What was there is kept as what was known before."""
    with caller.transaction() as tx:
        edited = fact_edit.edit_fact(
            caller.principal,
            tx,
            fact_id,
            wanted.value,
            _visitor_binding(caller),
            caller.now,
        )
    return {"id": str(edited)}


@router.delete("/memory/facts/{fact_id}")
def erase_fact(fact_id: UUID, caller: AnyCaller) -> JsonObject:
    """Forget a fact and what was known before it: a visitor one of their own, an administrator any. What it was taken
    from still says it; forgetting a message, or a user, reaches that."""
    who = caller.principal
    with caller.transaction() as tx:
        rows = fact_edit.fact_with_history(who, tx, fact_id, _visitor_binding(caller))
    entitled = replace(who, roles=frozenset({"admin"})) if who.kind == "user" else who
    return {"erased": [run_erasure(caller, "fact", one, requested_by=entitled)["id"] for one in rows]}


def _visitor_binding(caller: Caller) -> UUID | None:
    """Return the agent whose memory of themselves a visitor may change; None for members."""
    return caller.require_visitor().binding_id if caller.principal.kind == "user" else None


def _memory_json(found: UserMemory) -> JsonObject:
    return {
        "user": _user_json(found.user) if found.user else None,
        "facts": [_fact_json(one) for one in found.facts],
        "episodes": [_episode_json(one) for one in found.episodes],
    }


def _user_summary_json(one: UserSummaryRow) -> JsonObject:
    return {
        "id": str(one.id),
        "name": one.display_name or "",
        "phone_last_digits": one.phone_last_digits or "",
        "channels": _as_list(one.channels),
        "session_count": one.session_count,
        "fact_count": one.fact_count,
        "episode_count": one.episode_count,
        "last_active_at": one.last_active_at.isoformat(),
    }


def _user_json(one: UserRow) -> JsonObject:
    return {
        "id": str(one.id),
        "name": one.display_name or "",
        "phone_last_digits": one.phone_last_digits or "",
        "channels": _as_list(one.channels),
        "created_at": one.created_at.isoformat(),
    }


def _fact_json(one: FactRow) -> JsonObject:
    return {
        "id": str(one.id),
        "key": one.key,
        "value": one.value,
        "confidence": one.confidence,
        "origin": one.origin,
        "edited_by": (one.edited_by or "").partition(":")[0],
        "since": one.valid_from.isoformat(),
        "last_confirmed_at": one.last_confirmed_at.isoformat(),
        "recall_count": one.recall_count,
        "use_count": one.use_count,
        "last_used_at": (one.last_used_at.isoformat() if one.last_used_at else None),
        "session_id": str(one.session_id) if one.session_id else None,
        "binding": one.binding_slug,
        "agent": one.agent_name,
        "evidence_messages": [*one.evidence_messages],
        "previous_values": [*one.previous_values],
    }


def _episode_json(one: EpisodeRow) -> JsonObject:
    return {
        "id": str(one.id),
        "text": one.text,
        "from": one.from_at.isoformat(),
        "until": one.until_at.isoformat(),
        "merged_count": one.merged_count,
        "recall_count": one.recall_count,
        "use_count": one.use_count,
        "session_id": str(one.session_id),
        "binding": one.binding_slug,
        "agent": one.agent_name,
    }


def _shared_fact_json(one: SharedFactRow) -> JsonObject:
    return {
        "id": str(one.id),
        "scope": one.scope,
        "owner_name": one.owner_name,
        "key": one.key,
        "value": one.value,
        "confidence": one.confidence,
        "origin": one.origin,
        "since": one.valid_from.isoformat(),
        "last_confirmed_at": one.last_confirmed_at.isoformat(),
        "recall_count": one.recall_count,
        "use_count": one.use_count,
    }


def _as_list(names: Sequence[str] | None) -> list[Json]:
    return [*(names or ())]
