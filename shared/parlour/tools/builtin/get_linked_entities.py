"""The tool that tells what a record is linked to, with descriptions: the full form of what a briefing says in short."""

from uuid import UUID

from parlour.infra.errors import InvalidArguments, NotFound
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.records import linked_records, type_registry
from parlour.records.linked_records import LinkedPage
from parlour.tools.builtin.model_arguments import require_records, text_argument, translate_errors
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

_LONGEST_DESCRIPTION = 2_000
"""Characters; a record whose description is a document is read with get_entity."""

GET_LINKED_ENTITIES = Tool(
    name="get_linked_entities",
    description=(
        "Tell what a record is linked to, one link away. outgoing: the link runs from this record; incoming: to it."
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
    endpoint=f"{BUILTIN_SCHEME}get_linked_entities",
    idempotent=True,
)
"""The definition that a pack gets when it only names the tool."""


def get_linked_entities(context: ToolContext, arguments: JsonObject) -> JsonObject:
    """Run GET_LINKED_ENTITIES: one page of links, as the principal may see them."""
    ref = _record_ref(context, arguments)
    kind = text_argument(arguments, "kind") if "kind" in arguments else None
    asked_page = arguments.get("page", 1)
    number = int(asked_page) if isinstance(asked_page, int | float) else 1

    def look(tx: Transaction) -> LinkedPage:
        try:
            page = linked_records.read_linked_page(
                context.principal, tx, ref, team_id=context.team_id, type_key=kind, page_number=number
            )
        except NotFound:
            require_records(context.principal, tx, [str(ref)], "entity")  # says what there is instead
            raise
        if kind is not None and kind not in [one.key for one in page.linked.types]:
            type_registry.get_record_type(tx, kind)  # InvalidRequest for a type that does not exist
        return page

    with translate_errors():
        page = context.database.run(context.principal, look)
    if number > page.page_count:
        raise InvalidArguments(
            f"page: there {'is one page' if page.page_count == 1 else f'are {page.page_count} pages'}"
        )
    about = page.linked
    records: list[Json] = [_with_short_description(record.to_json()) for record in about.records]
    told: JsonObject = {
        "handle": about.handle,
        "name": about.name,
        "linked": records,
        "kinds": {one.key: one.total for one in about.types},
    }
    if page.page_number < page.page_count:
        told["next_page"] = page.page_number + 1
    if not records:
        told["hint"] = f"It is linked to nothing{f' of kind {kind}' if about.types else ''}."
    return told


def _record_ref(context: ToolContext, arguments: JsonObject) -> UUID | str:
    if named := str(arguments.get("entity", "")).strip():
        return named
    if context.entity_id is None:
        raise InvalidArguments("entity: this conversation is about no record; give a handle, like task/T-112")
    return context.entity_id


def _with_short_description(record: JsonObject) -> JsonObject:
    description = str(record.get("description", ""))
    if len(description) <= _LONGEST_DESCRIPTION:
        return record
    return {**record, "description": description[:_LONGEST_DESCRIPTION] + "… (get_entity has the rest)"}
