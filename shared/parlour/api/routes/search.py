"""Searching what the tenant knows: words in, cards out."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Caller, Reader
from parlour.api.search_schemas import SearchResultsView
from parlour.infra import log
from parlour.infra.errors import InvalidRequest, Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.infra.postgres import Transaction
from parlour.records import crud, type_registry
from parlour.records.cards.search_cards import find_related_records, make_cards
from parlour.search.hybrid_search import EVERYWHERE, Question, SearchScope, search
from parlour.search.index.embedders import Vector, embed_texts
from parlour.search.query_expansion import expand_query

router = APIRouter(prefix="/v1/search", tags=["search"])

type ScopeName = Literal["workspace", "project", "record", "type", "conversation"]

SearchText = Annotated[str, Query(min_length=1, max_length=1000, description="search text")]
ScopeTarget = Annotated[str, Query(alias="in", max_length=200, description="a handle, a type's key or a session's id")]
PreviousMessages = Annotated[
    Sequence[str], Query(max_length=4, description="earlier messages of the same user, oldest first")
]
Limit = Annotated[int, Query(ge=1, le=50)]


@router.get("")
def run_search(
    caller: Reader,
    q: SearchText,
    scope: ScopeName = "workspace",
    inside: ScopeTarget = "",
    previous: PreviousMessages = (),
    limit: Limit = 12,
) -> SearchResultsView:
    """Cards of the best rows that the caller is cleared to see, best first.

    `scope` says where to look, and `in` at which: a project or record by its handle (with what is linked to it), the
    records of a type, or one conversation. `score` is 1 for the best of this search. `expanded` is what was really
    searched for, when that is not the words themselves; `related`, records that those on the cards are linked to.
    """
    asked = _storable(q)
    if not asked:
        raise InvalidRequest("q: enter a search text")
    before = [_storable(one) for one in previous]
    wanted = expand_query(asked, before)
    with caller.transaction() as tx:
        where = _search_scope(caller, tx, scope, inside)
    vectors = _embed_query(caller, list(dict.fromkeys([wanted, asked])))
    with caller.transaction() as tx:
        found = search(
            caller.principal,
            tx,
            Question(text=asked, vector=vectors.get(wanted), unexpanded_vector=vectors.get(asked), previous=before),
            scope=where,
            limit=limit,
        )
        cards = make_cards(caller.principal, tx, found, wanted)
        related = find_related_records(caller.principal, tx, found)
    return SearchResultsView.model_validate(
        {"query": asked, "expanded": wanted if wanted != asked else None, "cards": cards, "related": related}
    )


def _search_scope(caller: Caller, tx: Transaction, scope: ScopeName, inside: str) -> SearchScope:
    """Where to look; NotFound or InvalidRequest when the caller has no such place."""
    if scope == "workspace":
        return EVERYWHERE
    if not inside:
        raise InvalidRequest(f"in: name the {scope}, or use scope=workspace")
    if scope == "conversation":
        try:
            session_id = UUID(inside)
        except ValueError:
            raise InvalidRequest("in: give the session id of the conversation") from None
        caller.get_session(tx, session_id)
        return SearchScope(session_id=session_id)
    if scope == "type":
        kind = type_registry.get_record_type(tx, inside)
        return SearchScope(type_id=kind.id or _NO_TYPE_ID)
    record = crud.get_record(caller.principal, tx, inside)
    if scope == "record":
        return SearchScope(entity_id=record.id)
    if record.type != "project":
        raise InvalidRequest(f"in: {record.handle} is not a project; use scope=record to search around it")
    return SearchScope(project_id=record.id)


_NO_TYPE_ID = UUID(int=0)
"""The id of no type: of a kind that everybody has and the tenant does not use yet, there is nothing to find."""


def _embed_query(caller: Caller, texts: list[str]) -> Mapping[str, Vector]:
    """Return the question's vectors in the tenant's space, by its wordings.

    None when the service is unavailable: words alone find less, and more than an error does.
    """
    try:
        vectors = embed_texts(caller.embedder(), texts)
    except (ProviderUnavailable, ProviderRejected, Misconfigured) as error:
        log.error("embedding_unavailable", error)
        log.count("EmbeddingUnavailable")
        return {}
    return {text: Vector(vectors.space, values) for text, values in vectors.by_text.items()}


def _storable(text: str) -> str:
    """Return the text without what a database cannot store."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode().strip()
