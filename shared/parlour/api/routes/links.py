"""What a record is linked to."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.access import Caller, Reader
from parlour.infra.jsonable import Json, JsonObject
from parlour.knowledge.records import linked

router = APIRouter(prefix="/v1/entities", tags=["entities"])

KindKey = Annotated[str | None, Query(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="only records of this type")]
Number = Annotated[int, Query(ge=1, le=10_000)]
Most = Annotated[int, Query(ge=1, le=100)]


@router.get("/{record_id:uuid}/links")
def list_links_by_id(
    record_id: UUID, caller: Reader, kind: KindKey = None, page: Number = 1, most: Most = 50
) -> JsonObject:
    """One page of what a record is linked to, either way, the active first: each with its relations and directions."""
    return _links(caller, record_id, kind, page, most)


@router.get("/{type_key}/{key}/links")
def list_links(
    type_key: str, key: str, caller: Reader, kind: KindKey = None, page: Number = 1, most: Most = 50
) -> JsonObject:
    """The same for a record named by its handle."""
    return _links(caller, f"{type_key}/{key}", kind, page, most)


def _links(caller: Caller, ref: UUID | str, kind: str | None, number: int, most: int) -> JsonObject:
    with caller.transaction() as tx:
        page = linked.page(caller.principal, tx, ref, kind=kind, number=number, most=most)
    kinds: list[Json] = [{"kind": one.key, "name": one.name, "total": one.total} for one in page.linked.kinds]
    links: list[Json] = [one.to_json() | {"kind_name": one.kind_name} for one in page.linked.records]
    return {
        "record": page.linked.handle, "name": page.linked.name, "kinds": kinds, "links": links, "page": page.number,
        "pages": page.of,
    }  # fmt: skip
