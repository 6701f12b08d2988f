"""What a record is linked to."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Caller, Reader
from parlour.api.record_schemas import LinkedRecordView, LinkedTypeView, LinkPageView
from parlour.api.schemas import PageCursor
from parlour.infra.page_cursor import decode_position, encode_position, parse_count
from parlour.records import linked_records

router = APIRouter(prefix="/v1/entities", tags=["entities"])

TypeKey = Annotated[str | None, Query(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="only records of this type")]
MAX_LINKS = 100
"""Links on one page."""

Limit = Annotated[int, Query(ge=1, le=MAX_LINKS)]


@router.get("/{record_id:uuid}/links")
def list_links_by_id(
    record_id: UUID,
    caller: Reader,
    type: TypeKey = None,  # noqa: A002 - the query's name
    cursor: PageCursor = "",
    limit: Limit = 50,
) -> LinkPageView:
    """List what a record is linked to, either way, the active first: each with its relations and directions."""
    return _link_page(caller, record_id, type, cursor, limit)


@router.get("/{type_key:record_type}/{key}/links")
def list_links(
    type_key: str,
    key: str,
    caller: Reader,
    type: TypeKey = None,  # noqa: A002 - the query's name
    cursor: PageCursor = "",
    limit: Limit = 50,
) -> LinkPageView:
    """List the links of a record named by its handle."""
    return _link_page(caller, f"{type_key}/{key}", type, cursor, limit)


def _link_page(caller: Caller, ref: UUID | str, type_filter: str | None, cursor: str, limit: int) -> LinkPageView:
    # A page is found by its number: the query counts all links in any case. The cursor keeps the page's size.
    number, size = decode_position(cursor, parse_count, parse_count) if cursor else (1, limit)
    with caller.transaction() as tx:
        page = linked_records.read_linked_page(
            caller.principal, tx, ref, type_key=type_filter, page_number=number, limit=min(size, MAX_LINKS)
        )
    return LinkPageView(
        record=page.linked.handle,
        name=page.linked.name,
        types=[LinkedTypeView.model_validate(kind) for kind in page.linked.types],
        links=[LinkedRecordView.model_validate(linked) for linked in page.linked.records],
        next_cursor=encode_position(number + 1, size) if number < page.page_count else "",
    )
