"""What is remembered, of whom, and from which words; a fact put right. Visitors see their own, viewers everybody's."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.access import AnyCaller, Caller, Editor, Viewer
from parlour.api.routes.forgetting import forgotten
from parlour.api.schemas import CommonFactTold, FactChange
from parlour.infra.jsonable import Json, JsonObject
from parlour.memory.facts import everybody
from parlour.memory.facts.everybody import Common
from parlour.memory.known import edit, read
from parlour.memory.known.read import CommonFact, EpisodeRow, FactRow, Memory, OnePerson, Person

router = APIRouter(prefix="/v1", tags=["memory"])

Text = Annotated[str, Query(max_length=200, description="part of a name, or how a number ends")]
Most = Annotated[int, Query(ge=1, le=read.MOST)]


@router.get("/memory")
def show_own_memory(caller: AnyCaller) -> JsonObject:
    """What the agent of a visitor's `visitor_token` remembers of them."""
    binding_id = caller.visitor().binding_id
    with caller.transaction() as tx:
        return _memory(read.own(caller.principal, tx, binding_id))


@router.get("/users")
def list_users(caller: Viewer, text: Text = "", most: Most = 50) -> JsonObject:
    """Who talks to the tenant's agents, those heard of last first, and how much is remembered of each."""
    with caller.transaction() as tx:
        return {"users": [_person(one) for one in read.users(caller.principal, tx, text, most)]}


@router.get("/users/{user_id}/memory")
def show_memory(user_id: UUID, caller: Viewer) -> JsonObject:
    """What is remembered of a user by all agents, as far as the caller's clearance goes."""
    with caller.transaction() as tx:
        return _memory(read.of(caller.principal, tx, user_id))


@router.get("/memory/common")
def show_common_memory(caller: Viewer) -> JsonObject:
    """What is known to whole personas and teams, and told to everybody whom they talk to."""
    with caller.transaction() as tx:
        return {"facts": [_common(one) for one in read.common(caller.principal, tx)]}


@router.put("/memory/common")
def know_in_common(told: CommonFactTold, caller: Editor) -> JsonObject:
    """Have something known to a whole persona or team; what was known under the key is kept as what was before."""
    wanted = Common(told.scope, told.slug, told.key, told.value)
    with caller.transaction() as tx:
        made = everybody.know(caller.principal, tx, wanted, caller.now, caller.services.new_id)
    return {"id": str(made)}


@router.patch("/memory/facts/{fact_id}")
def change_fact(fact_id: UUID, wanted: FactChange, caller: AnyCaller) -> JsonObject:
    """Put a fact right: a visitor one of their own, an editor any. What was there is kept as what was known before."""
    with caller.transaction() as tx:
        edited = edit.edit(
            caller.principal, tx, fact_id, wanted.value, _own_binding(caller), caller.now, caller.services.new_id
        )  # fmt: skip
    return {"id": str(edited)}


@router.delete("/memory/facts/{fact_id}")
def forget_fact(fact_id: UUID, caller: AnyCaller) -> JsonObject:
    """Forget a fact and what was known before it: a visitor one of their own, an administrator any. What it was taken
    from still says it; forgetting a message, or a user, reaches that."""
    who = caller.principal
    with caller.transaction() as tx:
        rows = edit.with_earlier(who, tx, fact_id, _own_binding(caller))
    entitled = replace(who, roles=frozenset({"admin"})) if who.kind == "user" else who
    return {"forgotten": [forgotten(caller, "fact", one, asked_by=entitled)["id"] for one in rows]}


def _own_binding(caller: Caller) -> UUID | None:
    """The agent whose memory of themselves a visitor may change; None for people of the tenant."""
    return caller.visitor().binding_id if caller.principal.kind == "user" else None


def _memory(found: Memory) -> JsonObject:
    return {
        "user": _one(found.user) if found.user else None,
        "facts": [_fact(one) for one in found.facts],
        "episodes": [_episode(one) for one in found.episodes],
    }


def _person(one: Person) -> JsonObject:
    return {
        "id": str(one.id), "name": one.display_name or "", "digits": one.digits or "",
        "channels": _list(one.channels), "sessions": one.sessions, "facts": one.facts, "episodes": one.episodes,
        "last_active_at": one.last_active_at.isoformat(),
    }  # fmt: skip


def _one(one: OnePerson) -> JsonObject:
    return {
        "id": str(one.id), "name": one.display_name or "", "digits": one.digits or "",
        "channels": _list(one.channels), "created_at": one.created_at.isoformat(),
    }  # fmt: skip


def _fact(one: FactRow) -> JsonObject:
    return {
        "id": str(one.id), "key": one.key, "value": one.value, "confidence": one.confidence, "origin": one.origin,
        "by_person": (one.edited_by or "").partition(":")[0], "since": one.valid_from.isoformat(),
        "sure_at": one.sure_at.isoformat(), "recalled": one.recalled, "used": one.used,
        "last_used_at": _iso(one.last_used_at), "session_id": str(one.session_id) if one.session_id else None,
        "binding": one.binding, "agent": one.agent, "said": [*one.said], "earlier": [*one.earlier],
    }  # fmt: skip


def _episode(one: EpisodeRow) -> JsonObject:
    return {
        "id": str(one.id), "text": one.text, "from": one.from_at.isoformat(), "until": one.until_at.isoformat(),
        "folded": one.folded, "recalled": one.recalled, "used": one.used, "session_id": str(one.session_id),
        "binding": one.binding, "agent": one.agent,
    }  # fmt: skip


def _common(one: CommonFact) -> JsonObject:
    return {
        "id": str(one.id), "scope": one.scope, "whose": one.whose, "key": one.key, "value": one.value,
        "confidence": one.confidence, "origin": one.origin, "since": one.valid_from.isoformat(),
        "sure_at": one.sure_at.isoformat(), "recalled": one.recalled, "used": one.used,
    }  # fmt: skip


def _list(names: Sequence[str] | None) -> list[Json]:
    return [*(names or ())]


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
