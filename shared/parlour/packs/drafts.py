"""A pack's records and documents as the knowledge room takes them, and its routing keys."""

from parlour.documents.pack_import import DocumentDraft
from parlour.infra.json_values import Json, JsonObject
from parlour.models.demo_scenes import DEMO_SETTING
from parlour.packs.format import Binding, Document, Pack, Record, RecordSource
from parlour.packs.serialization import to_json_value, to_row
from parlour.records.crud import RecordKey
from parlour.records.pack_import import RecordDraft
from parlour.records.properties import SOURCES_PROPERTY
from parlour.records.record_links import LinkDraft
from parlour.records.snapshots import SnapshotTemplate
from parlour.tenancy import routing_keys
from parlour.tools.tool_definition import host_of

TOOL_HOSTS_SETTING = "tool_hosts"
"""The tenant's setting that says which hosts its tools may reach."""

LINK_HOSTS_SETTING = "link_hosts"
"""The tenant's setting that says which hosts links in replies may lead to."""

OWN_HOSTS_SETTING = "own_hosts"
"""Further such hosts, which follow from the rest of the pack."""


def snapshot_templates(pack: Pack) -> list[SnapshotTemplate]:
    """Return the entity types, as snapshots are made from them."""
    rows = {key: to_row(kind) for key, kind in pack.entity_types.items()}
    return [
        SnapshotTemplate(key, str(row["display_name"]), _as_object(row["properties"]), _as_object(row["rag"]))
        for key, row in rows.items()
    ]


def record_drafts(pack: Pack) -> list[RecordDraft]:
    """Return the records, without their links."""
    return [
        RecordDraft(
            parse_record_key(reference),
            record.name,
            _record_properties(record),
            record.classification,
            parse_record_key(record.project) if record.project else None,
        )
        for reference, record in pack.records.items()
    ]


def _record_properties(record: Record) -> JsonObject:
    sources: list[Json] = [_source_json(source) for source in record.sources]
    return {**record.properties, SOURCES_PROPERTY: sources} if sources else {**record.properties}


def _source_json(source: RecordSource) -> JsonObject:
    return {name: value for name, value in to_row(source).items() if value not in {"", None}}


def link_drafts(pack: Pack) -> list[LinkDraft]:
    """Return the links between records."""
    return [
        LinkDraft(parse_record_key(reference), parse_record_key(link.to), link.relation)
        for reference, record in pack.records.items()
        for link in record.links
    ]


def document_drafts(pack: Pack) -> list[DocumentDraft]:
    """Return the documents with their texts."""
    return [_document_draft(key, document) for key, document in pack.documents.items()]


def binding_routing_keys(binding: Binding) -> list[str]:
    """Return the routing keys of a binding: what in the outside world leads to it."""
    whatsapp, web = binding.channels.whatsapp, binding.channels.web
    keys = [routing_keys.gupshup_key(whatsapp.app)] if whatsapp and whatsapp.app else []
    keys += [routing_keys.whatsapp_key(whatsapp.phone_number_id)] if whatsapp and whatsapp.phone_number_id else []
    return [*keys, routing_keys.web_key(web.host)] if web else keys


def parse_record_key(reference: str) -> RecordKey:
    """`type/key` as the knowledge room has it."""
    kind, _, key = reference.partition("/")
    return RecordKey(kind, key)


def _document_draft(key: str, document: Document) -> DocumentDraft:
    header = document.header
    own = {"date": header.date, "author": header.author}
    metadata: JsonObject = {**header.metadata, **{name: text for name, text in own.items() if text}}
    return DocumentDraft(
        key=key,
        title=header.title,
        content=document.content,
        kind=header.kind,
        classification=header.classification,
        record_key=parse_record_key(header.entity) if header.entity else None,
        metadata=metadata,
    )


def _as_object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def merge_tenant_settings(pack: Pack, before: JsonObject) -> JsonObject:
    """Return the tenant's settings with the pack's values; all others stay."""
    given: JsonObject = {
        TOOL_HOSTS_SETTING: [*pack.tenant.tool_hosts],
        LINK_HOSTS_SETTING: [*pack.tenant.link_hosts],
        OWN_HOSTS_SETTING: [*_own_hosts(pack)],
        DEMO_SETTING: to_json_value(pack.scenes),
    }
    kept = {name: value for name, value in before.items() if name not in given}
    return {**kept, **{name: value for name, value in given.items() if value}}


def _own_hosts(pack: Pack) -> list[str]:
    """Return the hosts of the tenant's chat pages, and those where its records are looked at."""
    pages = [binding.channels.web.host for binding in pack.bindings.values() if binding.channels.web]
    records = [host_of(kind.rag.link) for kind in pack.entity_types.values() if kind.rag.link.startswith("https://")]
    return sorted({*pages, *records})
