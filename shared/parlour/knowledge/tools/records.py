"""The tools that read records: lists of them, and some of them whole."""

from parlour.infra.errors import InvalidArguments
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import entities, registry
from parlour.knowledge.records.entities import Entity, Page
from parlour.knowledge.records.snapshots import say
from parlour.knowledge.tools import results
from parlour.knowledge.tools.asked import find, full, told, word
from parlour.knowledge.tools.definitions import MOST_LISTED
from parlour.tools.run import ToolContext

_NOTHING = "No record fits. Leave out a filter, or search_knowledge by what it is about."


def list_entities(context: ToolContext, arguments: JsonObject) -> JsonObject:
    """One page of records, last changed first, as the principal may see them."""
    kind, project = word(arguments, "kind"), full(word(arguments, "project"), "project")
    where = _where(arguments)

    def look(tx: Transaction) -> Page:
        if where and not kind:
            raise InvalidArguments("where: say the kind, too; properties differ from kind to kind")
        if project:
            find(context.principal, tx, [project], "project")
        return entities.browse(
            context.principal, tx, type=kind or None, project=project or None, where=where,
            text=word(arguments, "text"), cursor=word(arguments, "cursor"), most=MOST_LISTED,
        )  # fmt: skip

    with told():
        page = context.database.run(context.principal, look)
    listed: list[Json] = [results.summary(entity) for entity in page.entities]
    found: JsonObject = {"entities": listed}
    if page.next_cursor:
        found["next_cursor"] = page.next_cursor
    return found if listed else {**found, "hint": _NOTHING}


def get_entity(context: ToolContext, arguments: JsonObject) -> JsonObject:
    """Records whole, in the order asked for; with the properties that each kind has and nobody filled in."""
    asked = arguments["entities"]
    handles = [str(handle).strip() for handle in asked] if isinstance(asked, list) else []
    if not handles:
        raise InvalidArguments("entities: name at least one record by its handle, like risk/R-03")

    def look(tx: Transaction) -> tuple[list[Entity], dict[str, list[str]]]:
        found = find(context.principal, tx, handles, "entities")
        kinds = {kind: registry.definition(tx, kind) for kind in {entity.type for entity in found}}
        return found, {kind: list(definition.properties) for kind, definition in kinds.items()}

    with told():
        found, known = context.database.run(context.principal, look)
    return {"entities": [results.whole(entity, known[entity.type]) for entity in found]}


def _where(arguments: JsonObject) -> dict[str, str]:
    """The values looked for, as records' texts compare to them."""
    where = arguments.get("where")
    given = where if isinstance(where, dict) else {}
    return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else say(value)
