"""What a record is linked to."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Caller, Reader
from parlour.infra.json_values import Json, JsonObject
from parlour.records import linked_records
from parlour.records.linked_records_text import LinkedRecord

router = APIRouter(prefix="/v1/entities", tags=["entities"])

TypeKey = Annotated[str | None, Query(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="only records of this type")]
PageNumber = Annotated[int, Query(ge=1, le=10_000)]
Limit = Annotated[int, Query(ge=1, le=100)]


@router.get("/{record_id:uuid}/links")
def list_links_by_id(
    record_id: UUID,
    caller: Reader,
    type: TypeKey = None,  # noqa: A002 - the query's name
    page: PageNumber = 1,
    limit: Limit = 50,
) -> JsonObject:
    """One page of what a record is linked to, either way, the active first: each with its relations and directions."""
    return _links_json(caller, record_id, type, page, limit)


@router.get("/{type_key}/{key}/links")
def list_links(
    type_key: str,
    key: str,
    caller: Reader,
    type: TypeKey = None,  # noqa: A002 - the query's name
    page: PageNumber = 1,
    limit: Limit = 50,
) -> JsonObject:
    """List the links of a record named by its handle."""
    return _links_json(caller, f"{type_key}/{key}", type, page, limit)


def _links_json(caller: Caller, ref: UUID | str, type_filter: str | None, page_number: int, limit: int) -> JsonObject:
    with caller.transaction() as tx:
        page = linked_records.read_linked_page(
            caller.principal, tx, ref, type_key=type_filter, page_number=page_number, limit=limit
        )
    types: list[Json] = [{"type": one.key, "name": one.name, "total": one.total} for one in page.linked.types]
    links: list[Json] = [_link_json(one) for one in page.linked.records]
    return {
        "record": page.linked.handle,
        "name": page.linked.name,
        "types": types,
        "links": links,
        "page": page.page_number,
        "pages": page.page_count,
    }


def _link_json(linked: LinkedRecord) -> JsonObject:
    """Tools say `kind` to models; the API says type and subtype, as everywhere else."""
    names = {"kind": "type", "type_key": "subtype"}
    return {names.get(name, name): value for name, value in linked.to_json().items()} | {"type_name": linked.type_name}
