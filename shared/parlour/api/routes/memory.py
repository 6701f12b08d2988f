"""What is remembered, of whom, and from which words; a fact put right. Visitors see their own, viewers everybody's."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import AnyCaller, Caller, Editor, Viewer
from parlour.api.memory_schemas import (
    ErasedFactsView,
    SharedFactPageView,
    StoredFactView,
    UserMemoryView,
    UserPageView,
)
from parlour.api.routes.erasures import run_erasure
from parlour.api.schemas import FactChange, PageCursor, SharedFactChange
from parlour.memory.facts import shared_facts
from parlour.memory.facts.shared_facts import NewSharedFact
from parlour.memory.inspection import fact_edit, user_memory

router = APIRouter(prefix="/v1", tags=["memory"])

SearchText = Annotated[str, Query(max_length=200, description="part of a name, or the last digits of a number")]
Limit = Annotated[int, Query(ge=1, le=user_memory.MAX_USERS)]


@router.get("/memory")
def get_own_memory(caller: AnyCaller) -> UserMemoryView:
    """Return what the agent of a visitor's `visitor_token` remembers of them."""
    binding_id = caller.require_visitor().binding_id
    with caller.transaction() as tx:
        return UserMemoryView.model_validate(user_memory.read_own_memory(caller.principal, tx, binding_id))


@router.get("/users")
def list_users(caller: Viewer, text: SearchText = "", cursor: PageCursor = "", limit: Limit = 50) -> UserPageView:
    """Who talks to the tenant's agents, those heard of last first, and how much is remembered of each."""
    with caller.transaction() as tx:
        page = user_memory.list_users(caller.principal, tx, text, cursor, limit)
    return UserPageView.model_validate({"users": page.rows, "next_cursor": page.next_cursor})


@router.get("/users/{user_id}/memory")
def get_user_memory(user_id: UUID, caller: Viewer) -> UserMemoryView:
    """Return what all agents remember of a user, up to the caller's clearance."""
    with caller.transaction() as tx:
        return UserMemoryView.model_validate(user_memory.read_user_memory(caller.principal, tx, user_id))


@router.get("/memory/shared-facts")
def list_shared_facts(caller: Viewer) -> SharedFactPageView:
    """List the facts of whole personas and teams, which everybody who talks to them may be told."""
    with caller.transaction() as tx:
        found = user_memory.list_shared_facts(caller.principal, tx)
    return SharedFactPageView.model_validate({"facts": found})


@router.put("/memory/shared-facts")
def set_shared_fact(told: SharedFactChange, caller: Editor) -> StoredFactView:
    """Have something known to a whole persona or team; what was known under the key is kept as what was before."""
    wanted = NewSharedFact(told.scope, told.slug, told.key, told.value)
    with caller.transaction() as tx:
        made = shared_facts.set(caller.principal, tx, wanted, caller.now)
    return StoredFactView(id=made)


@router.patch("/memory/facts/{fact_id}")
def update_fact(fact_id: UUID, wanted: FactChange, caller: AnyCaller) -> StoredFactView:
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
    return StoredFactView(id=edited)


@router.delete("/memory/facts/{fact_id}")
def erase_fact(fact_id: UUID, caller: AnyCaller) -> ErasedFactsView:
    """Forget a fact and what was known before it: a visitor one of their own, an administrator any. What it was taken
    from still says it; forgetting a message, or a user, reaches that."""
    who = caller.principal
    with caller.transaction() as tx:
        rows = fact_edit.fact_with_history(who, tx, fact_id, _visitor_binding(caller))
    entitled = replace(who, roles=frozenset({"admin"})) if who.kind == "user" else who
    return ErasedFactsView(erased=[run_erasure(caller, "fact", one, requested_by=entitled).id for one in rows])


def _visitor_binding(caller: Caller) -> UUID | None:
    """Return the agent whose memory of themselves a visitor may change; None for members."""
    return caller.require_visitor().binding_id if caller.principal.kind == "user" else None
