"""A pack's records and documents as the knowledge room takes them, and its routing keys."""

from parlour.infra.jsonable import Json, JsonObject
from parlour.knowledge.documents.documents import DocumentDraft
from parlour.knowledge.records.drafts import EntityDraft
from parlour.knowledge.records.edges import EdgeDraft
from parlour.knowledge.records.entities import EntityKey
from parlour.knowledge.records.properties import SOURCES
from parlour.knowledge.records.snapshots import RecordType
from parlour.packs.format import Binding, Document, Pack, Record, Source
from parlour.packs.forms import stored
from parlour.tenancy import routes

TOOL_HOSTS = "tool_hosts"
"""The tenant's setting that says which hosts its tools may reach."""


def record_types(pack: Pack) -> list[RecordType]:
    """The entity types, as snapshots are made from them."""
    rows = {key: stored(kind) for key, kind in pack.entity_types.items()}
    return [
        RecordType(key, str(row["display_name"]), _object(row["properties"]), _object(row["rag"]))
        for key, row in rows.items()
    ]


def entities(pack: Pack) -> list[EntityDraft]:
    """The records, without their links."""
    return [
        EntityDraft(
            entity_key(reference),
            record.name,
            _properties(record),
            record.classification,
            entity_key(record.project) if record.project else None,
        )
        for reference, record in pack.records.items()
    ]


def _properties(record: Record) -> JsonObject:
    sources: list[Json] = [_said(source) for source in record.sources]
    return {**record.properties, SOURCES: sources} if sources else {**record.properties}


def _said(source: Source) -> JsonObject:
    return {name: value for name, value in stored(source).items() if value not in {"", None}}


def edges(pack: Pack) -> list[EdgeDraft]:
    """The links between records."""
    return [
        EdgeDraft(entity_key(reference), entity_key(link.to), link.relation)
        for reference, record in pack.records.items()
        for link in record.links
    ]


def documents(pack: Pack) -> list[DocumentDraft]:
    """The documents with their texts."""
    return [_document(key, document) for key, document in pack.documents.items()]


def routing_keys(binding: Binding) -> list[str]:
    """What of the outside world leads to a binding."""
    whatsapp, web = binding.channels.whatsapp, binding.channels.web
    keys = [routes.gupshup_key(whatsapp.app)] if whatsapp and whatsapp.app else []
    keys += [routes.whatsapp_key(whatsapp.phone_number_id)] if whatsapp and whatsapp.phone_number_id else []
    return [*keys, routes.web_key(web.host)] if web else keys


def entity_key(reference: str) -> EntityKey:
    """`type/key` as the knowledge room has it."""
    kind, _, key = reference.partition("/")
    return EntityKey(kind, key)


def _document(key: str, document: Document) -> DocumentDraft:
    header = document.header
    own = {"date": header.date, "author": header.author}
    metadata: JsonObject = {**header.metadata, **{name: text for name, text in own.items() if text}}
    return DocumentDraft(
        key=key,
        title=header.title,
        content=document.content,
        kind=header.kind,
        classification=header.classification,
        entity=entity_key(header.entity) if header.entity else None,
        metadata=metadata,
    )


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def settings(pack: Pack, before: JsonObject) -> JsonObject:
    """The tenant's settings with what its pack says about them; the rest stays."""
    kept = {name: value for name, value in before.items() if name != TOOL_HOSTS}
    return {**kept, TOOL_HOSTS: [*pack.tenant.tool_hosts]} if pack.tenant.tool_hosts else kept
