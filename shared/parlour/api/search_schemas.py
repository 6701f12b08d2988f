"""Search results as they go out as JSON."""

from pydantic import Field

from parlour.api.schemas import ResponseModel
from parlour.records.linked_records_text import Direction
from parlour.search.results import RowKind


class SearchCardView(ResponseModel):
    """One result.

    badge         the kind in words.
    handle        the record's, or else the document's; `document` is the document's also where there is a record.
    locator       where in its source the text stands: heading, page, sender and date.
    score         compared with the best result of this search, which has 1.
    link          the result's address in the console; `default_link`: the address that its record type names.
    """

    kind: RowKind
    badge: str
    title: str
    type: str | None
    type_name: str | None
    name: str | None
    handle: str | None
    document: str | None
    icon: str | None
    colour: str | None
    locator: str
    preview: str
    score: float
    link: str | None
    default_link: str | None


class RelatedLinkView(ResponseModel):
    """A link of a related record to a found one: outgoing from the found one, or incoming."""

    relation: str
    direction: Direction
    record: str


class RelatedRecordView(ResponseModel):
    """A record that a found one is linked to, with its closest links."""

    handle: str
    type: str
    type_name: str
    name: str
    icon: str | None
    colour: str | None
    relations: list[RelatedLinkView] = Field(validation_alias="closest_relations")


class SearchResultsView(ResponseModel):
    """The cards of a search, best first. `expanded` is the text that was searched for, where it is not the query."""

    query: str
    expanded: str | None
    cards: list[SearchCardView]
    related: list[RelatedRecordView] = Field(description="records that the found ones are linked to, closest first")
