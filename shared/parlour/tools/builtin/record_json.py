"""Records and links as models read them: by handle, without what only the machinery needs. Pure."""

from collections.abc import Sequence

from parlour.documents.catalogue import Document
from parlour.infra.json_values import Json, JsonObject
from parlour.principal import LEVEL_NAMES
from parlour.records.property_text import unit_of
from parlour.records.record import Record
from parlour.records.record_links import Link

UNVERIFIED_NOTE = "written by the user; nobody has checked it"
"""What a model reads of a record that no member has accepted."""

UNVERIFIED_VISIBILITY = "this user only, until a member of the team accepts it"
"""Who sees a record that no member has accepted, as the result of a write says it."""

_LONGEST_VALUE = 80
"""Characters of a property in a list; a record that is read whole has all of them."""


def record_summary(entity: Record) -> JsonObject:
    """Return a record for a list: its name, and its properties shortened."""
    return _record_header(entity) | _properties({name: _shortened(value) for name, value in entity.properties.items()})


def document_summary(document: Document) -> JsonObject:
    """Return a document for a list."""
    summary: JsonObject = {"handle": document.handle, "name": document.title, "kind": document.kind}
    summary |= {"project": document.project} if document.project else {}
    summary |= {"about": document.about} if document.about else {}
    summary |= {"properties": {"description": _shortened(document.description)}} if document.description else {}
    return summary | {"updated": _day(document.updated_at.isoformat())}


def full_record(entity: Record, defined: JsonObject | None = None) -> JsonObject:
    """Return a record with everything in it; `defined` are the properties of its type, whose units are named."""
    property_names = defined or {}
    content = _record_header(entity) | _properties(entity.properties)
    units: JsonObject = {
        name: unit
        for name, definition in property_names.items()
        if name in entity.properties and (unit := unit_of(definition))
    }
    if units:
        content["units"] = units
    content |= {"classification": LEVEL_NAMES[entity.classification], "version": entity.version}
    content |= {"created": _day(entity.created_at.isoformat())}
    if empty := [name for name in property_names if name not in entity.properties]:
        content["not_filled_in"] = [*empty]
    if entity.stale_since is not None:
        content["changed_since_pulse"] = [*entity.stale_causes]
    return content


def record_reference(entity: Record) -> JsonObject:
    """Return a new record as later calls and the reply need it."""
    return {"handle": entity.handle, "name": entity.name} | visibility(entity)


def visibility(entity: Record) -> JsonObject:
    """Return who sees a record that was written just now, where that is not everybody with its clearance."""
    return {"visible_to": UNVERIFIED_VISIBILITY} if entity.unverified_by else {}


def link_json(edge: Link) -> JsonObject:
    """Return a link, read from its source to its target."""
    return {"from": edge.source, "relation": edge.relation, "to": edge.target}


def links_json(found: Sequence[Link]) -> list[Json]:
    """Several links, each once."""
    return [link_json(one) for one in dict.fromkeys(found)]


def _record_header(entity: Record) -> JsonObject:
    header: JsonObject = {"handle": entity.handle, "name": entity.name, "kind": entity.type_name}
    if entity.project:
        header["project"] = entity.project
    if entity.unverified_by:
        header["unverified"] = UNVERIFIED_NOTE
    return header | {"updated": _day(entity.updated_at.isoformat())}


def _properties(properties: JsonObject) -> JsonObject:
    return {"properties": properties} if properties else {}


def _shortened(value: Json) -> Json:
    match value:
        case str() if len(value) > _LONGEST_VALUE:
            return f"{value[: _LONGEST_VALUE - 1]}…"
        case list() | dict():
            return f"({len(value)}; read it whole with get_entity)"
        case _:
            return value


def _day(moment: str) -> str:
    return moment[:10]
