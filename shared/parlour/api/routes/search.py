"""Searching what the tenant knows: words in, cards out."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.access import Caller, Reader
from parlour.infra import log
from parlour.infra.errors import InvalidRequest, Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.cards.cards import cards, related
from parlour.knowledge.index.embed import Vector, embed_texts
from parlour.knowledge.records import entities, registry
from parlour.knowledge.search.question import expand
from parlour.knowledge.search.search import EVERYWHERE, Scope, search

router = APIRouter(prefix="/v1/search", tags=["search"])

type Where = Literal["workspace", "project", "record", "type", "conversation"]

Words = Annotated[str, Query(min_length=1, max_length=1000, description="what to look for, in one's own words")]
Inside = Annotated[str, Query(alias="in", max_length=200, description="a handle, a type's key or a session's id")]
Before = Annotated[
    Sequence[str], Query(max_length=4, description="what the same person wrote before, oldest first: 'and the second?'")
]
Most = Annotated[int, Query(ge=1, le=50)]


@router.get("")
def search_everything(
    caller: Reader,
    q: Words,
    scope: Where = "workspace",
    inside: Inside = "",
    previous: Before = (),
    most: Most = 12,
) -> JsonObject:
    """Cards of the best rows that the caller is cleared to see, best first.

    `scope` says where to look, and `in` at which: a project or record by its handle (with what is linked to it), the
    records of a type, or one conversation. `score` is 1 for the best of this search. `expanded` is what was really
    searched for, when that is not the words themselves; `related`, records that those on the cards are linked to.
    """
    asked = _storable(q)
    if not asked:
        raise InvalidRequest("q: say what to look for, in words")
    before = [_storable(one) for one in previous]
    wanted = expand(asked, before)
    with caller.transaction() as tx:
        where = _scope(caller, tx, scope, inside)
    vectors = _vectors(caller, list(dict.fromkeys([wanted, asked])))
    with caller.transaction() as tx:
        found = search(
            caller.principal, tx, query=asked, vector=vectors.get(wanted), alone=vectors.get(asked), scope=where,
            previous=before, most=most,
        )  # fmt: skip
        drawn, beside = cards(caller.principal, tx, found, wanted), related(caller.principal, tx, found)
    listed: list[Json] = [card.to_json() for card in drawn]
    linked: list[Json] = [one.to_json() for one in beside]
    return {"query": asked, "expanded": wanted if wanted != asked else None, "cards": listed, "related": linked}


def _scope(caller: Caller, tx: Transaction, scope: Where, inside: str) -> Scope:
    """Where to look; NotFound or InvalidRequest when the caller has no such place."""
    if scope == "workspace":
        return EVERYWHERE
    if not inside:
        raise InvalidRequest(f"in: say which {scope}, or search the whole workspace")
    if scope == "conversation":
        session_id = _session(inside)
        caller.check_session(tx, session_id)
        return Scope(session_id=session_id)
    if scope == "type":
        kind = registry.definition(tx, inside)
        return Scope(type_id=kind.id or _NOBODYS)
    record = entities.read(caller.principal, tx, inside)
    if scope == "record":
        return Scope(entity_id=record.id)
    if record.type != "project":
        raise InvalidRequest(f"in: {record.handle} is not a project; use scope=record to search around it")
    return Scope(project_id=record.id)


_NOBODYS = UUID(int=0)
"""The id of no type: of a kind that everybody has and the tenant does not use yet, there is nothing to find."""


def _session(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidRequest("in: a conversation is named by its session's id") from None


def _vectors(caller: Caller, texts: list[str]) -> Mapping[str, Vector]:
    """The question's vectors in the tenant's space, by its wordings; none when the service is away: words alone find
    less, and more than an error does."""
    try:
        vectors = embed_texts(caller.embedder(), texts)
    except (ProviderUnavailable, ProviderRejected, Misconfigured) as error:
        log.error("embedding_unavailable", error)
        log.count("EmbeddingUnavailable")
        return {}
    return {text: Vector(vectors.space, values) for text, values in vectors.by_text.items()}


def _storable(text: str) -> str:
    """What a database can store of it."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode().strip()
