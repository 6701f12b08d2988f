"""Records as they go in and out as JSON. A record is named by its handle (`task/T-112`) or its id."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, JsonValue, StringConstraints

from parlour.api.schemas import Clearance, PackText, PublicAgent, RecordReference, RequestModel, ResponseModel
from parlour.principal import LEVEL_NAMES
from parlour.records.crud import Record
from parlour.records.linked_records_text import Direction
from parlour.records.property_text import unit_of
from parlour.records.record_type import RecordType
from parlour.tenancy.persona import Binding

TypeKey = Annotated[PackText, StringConstraints(min_length=1, max_length=100)]
Name = Annotated[PackText, StringConstraints(min_length=1, max_length=300)]
Key = Annotated[PackText, StringConstraints(max_length=100)]
Properties = Annotated[dict[PackText, JsonValue], Field(max_length=200)]
Relation = Annotated[PackText, StringConstraints(min_length=1, max_length=63)]
ContextText = Annotated[PackText, StringConstraints(max_length=100_000)]


class NewRecord(RequestModel):
    """A record to make.

    key             unique among its kind; left out, it is made from the name.
    classification  0 to 3; left out, what its kind says or its project has, whichever is higher.
    context_text    for a project: its purpose, in the words of the person who asks; it becomes the context document.
    """

    type: TypeKey
    name: Name
    key: Key = ""
    properties: Properties = Field(default_factory=dict)
    classification: Clearance | None = None
    project: RecordReference | None = None
    context_text: ContextText = ""


class RecordPatchBody(RequestModel):
    """What to change; what is left out stays, a property set to null is taken away, and so is `project`.

    version  the one that was read; refused when the record is at another by now. If-Match says the same.
    """

    name: Name | None = None
    properties: Properties = Field(default_factory=dict)
    classification: Clearance | None = None
    project: RecordReference | None = None
    version: Annotated[int, Field(ge=1)] | None = None


class RecordView(ResponseModel):
    """A record.

    properties     in the order of its type.
    units          of the numbers among them, where the type names one.
    link           where people look at it. Whether its Pulse is stale is told with that one.
    unverified_by  the user who created it, until a member accepts it.
    """

    id: UUID
    handle: str
    type: str
    type_name: str
    key: str
    name: str
    properties: dict[str, JsonValue]
    units: dict[str, str]
    classification: int
    project: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    created_by: str
    updated_by: str
    unverified_by: str | None
    link: str

    @classmethod
    def from_record(cls, entity: Record, kind: RecordType) -> "RecordView":
        """With the link that its kind gives it."""
        derived: dict[str, Any] = {
            "properties": kind.ordered(entity.properties),
            "units": {name: unit for name, definition in kind.properties.items() if (unit := unit_of(definition))},
            "link": kind.link_to_record(entity.key),
        }
        fields = {name: getattr(entity, name) for name in cls.model_fields if name not in derived}
        return cls(**fields, **derived)


class RecordPageView(ResponseModel):
    """Some records; `next_cursor` reads on, "" when these are the last."""

    entities: list[RecordView]
    next_cursor: str


class RecordTypeView(ResponseModel):
    """A kind of record: its properties, and how its records are shown.

    chat_binding  the web binding of `chat_agent` for conversations about its records; null when the type names no
                  agent, or none of the agent's bindings has a web channel.
    """

    key: str
    name: str
    properties: dict[str, JsonValue]
    icon: str
    colour: str
    has_pulses: bool
    is_searchable: bool
    classification: str
    chat_visibility: str
    chat_agent: str
    chat_binding: PublicAgent | None
    version: int

    @classmethod
    def from_record_type(cls, kind: RecordType, talk: Binding | None) -> "RecordTypeView":
        """As its settings have it."""
        settings = kind.settings
        return cls(
            key=kind.key,
            name=kind.display_name,
            properties=kind.ordered(kind.properties),
            icon=settings.icon,
            colour=settings.colour,
            has_pulses=settings.has_pulses,
            is_searchable=settings.is_searchable,
            classification=LEVEL_NAMES[settings.classification],
            chat_visibility=settings.chat_visibility,
            chat_agent=settings.chat_agent,
            chat_binding=PublicAgent(slug=talk.slug, name=talk.display_name, greeting=talk.greeting) if talk else None,
            version=kind.version,
        )


class NewLink(RequestModel):
    """Two records to link: `source` relation `target`, as in "task/T-1 depends_on task/T-2"."""

    source: RecordReference
    target: RecordReference
    relation: Relation


class LinkView(ResponseModel):
    """A link, by the handles of its ends; `is_new`: it was not there before."""

    source: str
    target: str
    relation: str
    is_new: bool


class RelationView(ResponseModel):
    """A relation, and how it reads from the source (outgoing) and from the target (incoming) of a link."""

    name: str
    outgoing: str
    incoming: str


class RelationPageView(ResponseModel):
    """Relations: the built-in ones, then others that the tenant's links have."""

    relations: list[RelationView]


class RecordTypePageView(ResponseModel):
    """All record types of the tenant."""

    types: list[RecordTypeView]


class DirectedRelationView(ResponseModel):
    """A link, seen from the record that was asked for; `reads`: how it reads from there, as in "threatened by"."""

    relation: str = Field(validation_alias="name")
    direction: Direction
    reads: str


class LinkedRecordView(ResponseModel):
    """A record at the other end of one link or more.

    state       as its type's status properties say; "" without, as are `subtype`, `due` and `description`.
    subtype     which sort of its type it is.
    is_context  whether it is the document in its owner's own words that a project was made with.
    """

    handle: str
    name: str
    type: str
    type_name: str
    relations: list[DirectedRelationView]
    state: str
    subtype: str
    due: str
    description: str
    is_context: bool


class LinkedTypeView(ResponseModel):
    """How many records of a type are linked."""

    type: str = Field(validation_alias="key")
    name: str
    total: int


class LinkPageView(ResponseModel):
    """Some links of a record, active ones first; `next_cursor` reads on, "" when these are the last.

    types  all types of linked records, with their numbers.
    """

    record: str
    name: str
    types: list[LinkedTypeView]
    links: list[LinkedRecordView]
    next_cursor: str
