"""What a pack says as items, records, links and documents, and its routing keys."""

from collections.abc import Mapping

from parlour.conversations.canned_replies import REPLIES_SETTING
from parlour.documents.pack_import import DocumentDraft
from parlour.inbox.service_hours import TIME_ZONE_SETTING
from parlour.inbox.threads import SAVED_REPLIES_SETTING
from parlour.infra.json_values import Json, JsonObject
from parlour.models.demo_scenes import DEMO_SETTING
from parlour.packs import plan
from parlour.packs.format import Document, Pack, Record
from parlour.packs.items import ItemId, document_item, link_item, parse_record_key, record_item
from parlour.packs.serialization import to_json_value, to_row
from parlour.records.pack_import import RecordDraft
from parlour.records.properties import SOURCES_PROPERTY
from parlour.records.record_links import LinkDraft
from parlour.tenancy import routing_keys
from parlour.tenancy.access import DEFAULT_PHONE_ROLES, PHONE_ROLES_SETTING
from parlour.tools.tool_definition import host_of

TOOL_HOSTS_SETTING = "tool_hosts"
"""The tenant's setting that says which hosts its tools may reach."""

LINK_HOSTS_SETTING = "link_hosts"
"""The tenant's setting that says which hosts links in replies may lead to."""

OWN_HOSTS_SETTING = "own_hosts"
"""Further such hosts, which follow from the rest of the pack."""

RELATIONS_SETTING = "pack_relations"
"""The relations of links between records that are public in the files: every user may see them in prompts."""

PLAYS_ON_SETTING = "plays_on"
"""The tenant's setting that says which day is today in its pack, as the last apply moved it."""

#: The tenant's settings that a pack says, with the value of a pack that says nothing.
TENANT_SETTINGS: Mapping[str, Json] = {
    PLAYS_ON_SETTING: "",
    TOOL_HOSTS_SETTING: [],
    LINK_HOSTS_SETTING: [],
    TIME_ZONE_SETTING: "UTC",
    PHONE_ROLES_SETTING: [*DEFAULT_PHONE_ROLES],
    OWN_HOSTS_SETTING: [],
    RELATIONS_SETTING: [],
    REPLIES_SETTING: {},
    SAVED_REPLIES_SETTING: {},
    DEMO_SETTING: {},
}
DAILY_CAP_FIELD = "daily_cap_usd"


def wanted_items(pack: Pack) -> dict[ItemId, JsonObject]:
    """Return everything that the pack says, as items."""
    items = {ItemId("tenant", "tenant"): _tenant_fields(pack), **plan.configuration_items(pack)}
    items |= dict(record_item(draft) for draft in record_drafts(pack))
    items |= {link_item(draft): {} for draft in link_drafts(pack)}
    items |= dict(document_item(draft) for draft in document_drafts(pack))
    return items


def _tenant_fields(pack: Pack) -> JsonObject:
    """Return the tenant's fields; a pack without a daily cap says nothing of it."""
    tenant = pack.tenant
    chat_pages = [binding.channels.web.host for binding in pack.bindings.values() if binding.channels.web]
    record_pages = [
        host_of(kind.rag.link) for kind in pack.entity_types.values() if kind.rag.link.startswith("https://")
    ]
    fields: JsonObject = {
        "slug": tenant.slug,
        "display_name": tenant.display_name,
        PLAYS_ON_SETTING: tenant.plays_on,
        TOOL_HOSTS_SETTING: [*tenant.tool_hosts],
        LINK_HOSTS_SETTING: [*tenant.link_hosts],
        TIME_ZONE_SETTING: tenant.time_zone,
        PHONE_ROLES_SETTING: [*tenant.phone_roles],
        REPLIES_SETTING: {cause: {**texts} for cause, texts in tenant.replies.items()},
        SAVED_REPLIES_SETTING: {name: {**texts} for name, texts in tenant.saved_replies.items()},
        OWN_HOSTS_SETTING: [*sorted({*chat_pages, *record_pages})],
        RELATIONS_SETTING: [*_public_relations(pack)],
        DEMO_SETTING: to_json_value(pack.scenes),
    }
    return fields if tenant.daily_cap_usd is None else {**fields, DAILY_CAP_FIELD: tenant.daily_cap_usd}


def _public_relations(pack: Pack) -> list[str]:
    """Return the relations of links whose ends are both public in the files, in alphabetical order."""
    public = {reference: record for reference, record in pack.records.items() if not record.classification}
    return sorted({link.relation for record in public.values() for link in record.links if link.to in public})


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
    sources: list[Json] = [
        {name: value for name, value in to_row(source).items() if value not in {"", None}} for source in record.sources
    ]
    return {**record.properties, SOURCES_PROPERTY: sources} if sources else {**record.properties}


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


def binding_routing_keys(config: JsonObject) -> list[str]:
    """Return the routing keys of a binding as it is stored: what in the outside world leads to it."""
    channels = _as_object(config["channels"])
    whatsapp, web = _as_object(channels.get("whatsapp")), _as_object(channels.get("web"))
    keys = [routing_keys.gupshup_key(str(app))] if (app := whatsapp.get("app")) else []
    keys += [routing_keys.whatsapp_key(str(number))] if (number := whatsapp.get("phone_number_id")) else []
    return [*keys, routing_keys.web_key(str(web["host"]))] if web.get("host") else keys


def _document_draft(key: str, document: Document) -> DocumentDraft:
    header = document.header
    own: JsonObject = {"date": header.date, "author": header.author, "written_by_others": header.written_by_others}
    metadata: JsonObject = {**header.metadata, **{name: value for name, value in own.items() if value}}
    return DocumentDraft(
        key=key,
        title=header.title,
        content=document.content,
        kind=header.kind,
        classification=header.classification,
        record_key=parse_record_key(header.entity) if header.entity else None,
        metadata=metadata,
    )


def _as_object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def tenant_settings(fields: JsonObject, before: JsonObject) -> JsonObject:
    """Return the tenant's settings with those that a pack says; all others stay.

    An empty setting is none, but for the roles on a phone: without any, a member's phone is a stranger's.
    """
    given = {name: fields[name] for name in TENANT_SETTINGS if name in fields}
    others = {name: value for name, value in before.items() if name not in given}
    return {**others, **{name: value for name, value in given.items() if value or name == PHONE_ROLES_SETTING}}
