"""The tool that tells what a record is linked to, with descriptions: the full form of what a briefing says in short."""

from uuid import UUID

from parlour.infra.errors import InvalidArguments, NotFound
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import linked
from parlour.knowledge.records.linked import Page
from parlour.knowledge.text.nearest import meant
from parlour.tools.definition import BUILT_IN, Tool
from parlour.tools.run import ToolContext

_LONGEST_DESCRIPTION = 2_000
"""Characters; a record whose description is a document is read with get_entity."""

GET_LINKED_ENTITIES = Tool(
    name="get_linked_entities",
    description=(
        "Tell what a record is linked to, one link away: plans it belongs to, goals it supports, what it depends on, "
        "documents, risks. outgoing: the link runs from this record; incoming: to it."
    ),
    schema={
        "type": "object",
        "properties": {
            "entity": {"type": "string", "description": "Handle; default: the record this conversation is about."},
            "kind": {"type": "string", "description": "Only records of this type."},
            "page": {"type": "integer", "minimum": 1, "maximum": 1000},
        },
        "additionalProperties": False,
    },
    endpoint=f"{BUILT_IN}get_linked_entities",
    idempotent=True,
)
"""The definition that a pack gets when it only names the tool."""


def get_linked_entities(context: ToolContext, arguments: JsonObject) -> JsonObject:
    """The built-in behind GET_LINKED_ENTITIES: one page of links, as the principal may see them."""
    ref = _ref(context, arguments)
    kind, number = _read(arguments)

    def look(tx: Transaction) -> Page:
        return linked.page(context.principal, tx, ref, team_id=context.team_id, kind=kind, number=number)

    try:
        page = context.database.run(context.principal, look)
    except NotFound as missing:
        raise InvalidArguments(f"entity: {missing}") from missing
    if kind is not None:
        _check_kind(page, kind)
    if number > page.of:
        raise InvalidArguments(f"page: there {'is one page' if page.of == 1 else f'are {page.of} pages'}")
    return _told(page, kind)


def _read(arguments: JsonObject) -> tuple[str | None, int]:
    """Kind and page, as far as they are said."""
    kind = str(arguments["kind"]).strip() if "kind" in arguments else None
    if kind is not None and not kind.isidentifier():
        raise InvalidArguments("kind: give the key of a type, like task; leave it out for all")
    number = arguments.get("page", 1)
    return kind, int(number) if isinstance(number, int | float) else 1


def _ref(context: ToolContext, arguments: JsonObject) -> UUID | str:
    if named := str(arguments.get("entity", "")).strip():
        return named
    if context.entity_id is None:
        raise InvalidArguments("entity: this conversation is about no record; give a handle, like task/T-112")
    return context.entity_id


def _check_kind(page: Page, kind: str) -> None:
    """A kind that is almost one of those that are linked is a mistake; any other simply has no links."""
    kinds = [one.key for one in page.linked.kinds]
    if kind not in kinds and (near := meant(kind, kinds)):
        raise InvalidArguments(f"kind: nothing of kind {kind!r} is linked{near}")


def _told(page: Page, kind: str | None) -> JsonObject:
    about = page.linked
    records: list[Json] = [_clipped(record.to_json()) for record in about.records]
    told: JsonObject = {
        "entity": about.handle,
        "name": about.name,
        "linked": records,
        "kinds": {one.key: one.total for one in about.kinds},
    }
    if page.number < page.of:
        told["next_page"] = page.number + 1
    if not records:
        told["hint"] = f"It is linked to nothing{f' of kind {kind}' if about.kinds else ''}."
    return told


def _clipped(record: JsonObject) -> JsonObject:
    description = str(record.get("description", ""))
    if len(description) <= _LONGEST_DESCRIPTION:
        return record
    return {**record, "description": description[:_LONGEST_DESCRIPTION] + "… (get_entity has the rest)"}
