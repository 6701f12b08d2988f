"""A tenant's configuration and knowledge as the files of a pack."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from parlour.conversations.canned_replies import REPLIES_SETTING
from parlour.documents.pack_import import DocumentDraft, export_documents
from parlour.inbox.service_hours import TIME_ZONE_SETTING
from parlour.inbox.threads import SAVED_REPLIES_SETTING
from parlour.infra.errors import NotFound
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.infra.postgres import Database
from parlour.models import spend
from parlour.models.demo_scenes import DEMO_SETTING
from parlour.packs import built_in_tools, front_matter, model_validation, store
from parlour.packs.drafts import LINK_HOSTS_SETTING, PLAYS_ON_SETTING, TOOL_HOSTS_SETTING
from parlour.packs.file_order import restore_file_order
from parlour.packs.format import (
    HEADER_FIELDS,
    Agent,
    Binding,
    DocumentHeader,
    EntityType,
    Human,
    Record,
    Team,
    Tenant,
    Tool,
)
from parlour.packs.items import ConfigKind
from parlour.packs.pack_model import PackModel
from parlour.packs.pack_parser import SCENES_FOLDER, TENANT_FILE
from parlour.packs.plan import ConfigItem
from parlour.packs.scene_format import Scene
from parlour.packs.serialization import levels_to_words, to_file_fields
from parlour.packs.source_positions import ParsedYaml
from parlour.packs.yaml_writer import to_yaml
from parlour.principal import Principal
from parlour.records import type_registry
from parlour.records.crud import RecordKey
from parlour.records.pack_import import RecordDraft, export_records
from parlour.records.properties import SOURCES_PROPERTY
from parlour.records.record_links import LinkDraft, export_links
from parlour.tenancy import tenants
from parlour.tenancy.access import DEFAULT_PHONE_ROLES, PHONE_ROLES_SETTING
from parlour.tenancy.roles import require_role

_FOLDERS: Mapping[ConfigKind, tuple[str, type[PackModel]]] = {
    "human": ("humans", Human),
    "team": ("teams", Team),
    "agent": ("agents", Agent),
    "tool": ("tools", Tool),
    "entity_type": ("entity_types", EntityType),
    "binding": ("bindings", Binding),
}


def export(principal: Principal, database: Database) -> dict[str, str]:
    """Return the tenant's current pack (path -> text). Needs the role admin.

    Applying it changes nothing, and exporting again gives the same bytes: one fixed order and spelling, defaults left
    out, comments lost. Left out are built-in tools and record types as Parlour defines them, bindings that are switched
    off, and records and documents above the principal's clearance with everything that refers to them; applying a pack
    removes none of these.
    """
    require_role(principal, "admin")
    with database.transaction(principal) as tx:
        tenant = tenants.find_own_tenant(tx)
        if tenant is None:
            raise NotFound(f"tenant {principal.tenant_id} not found")
        cap = spend.read_own_cap(tx)
        configuration = _own_configuration(
            store.read_configuration(tx).values(), type_registry.list_pack_record_types(tx)
        )
        entities, edges = export_records(principal, tx), export_links(principal, tx)
        documents = export_documents(principal, tx)
    shown = {one.key for one in entities}
    secrets = {one.name: one.config["reference"] for one in configuration if one.kind == "secret"}
    row: JsonObject = {"slug": tenant.slug, "display_name": tenant.display_name, "secrets": {**secrets}}
    row["plays_on"] = tenant.settings.get(PLAYS_ON_SETTING, "")
    row["time_zone"] = tenant.settings.get(TIME_ZONE_SETTING, "UTC")
    row["tool_hosts"] = tenant.settings.get(TOOL_HOSTS_SETTING, [])
    row["link_hosts"] = tenant.settings.get(LINK_HOSTS_SETTING, [])
    row["phone_roles"] = tenant.settings.get(PHONE_ROLES_SETTING, [*DEFAULT_PHONE_ROLES])
    row["replies"] = tenant.settings.get(REPLIES_SETTING, {})
    row["saved_replies"] = tenant.settings.get(SAVED_REPLIES_SETTING, {})
    if cap is not None:
        row["daily_cap_usd"] = float(cap)
    files = {
        TENANT_FILE: _file_text(Tenant, TENANT_FILE, row),
        **_configuration_files(configuration),
        **_record_files(entities, edges),
        **_scene_files(tenant.settings),
    }
    files |= {
        f"documents/{one.key}": _document_file(one)
        for one in documents
        if one.record_key is None or one.record_key in shown
    }
    return dict(sorted(files.items()))


def _own_configuration(configuration: Iterable[ConfigItem], own_types: Collection[str]) -> list[ConfigItem]:
    """Return the configuration without what Parlour adds to a pack when it is applied."""
    built_in = built_in_tools.list_definitions()
    return [
        one
        for one in configuration
        if not (one.kind == "tool" and canonical_json(one.config) == canonical_json(built_in.get(one.name)))
        and not (one.kind == "entity_type" and one.name not in own_types)
    ]


def _configuration_files(configuration: Sequence[ConfigItem]) -> dict[str, str]:
    files = {}
    for one in configuration:
        if one.kind in _FOLDERS and one.config.get("is_active", True):
            folder, kind = _FOLDERS[one.kind]
            path = f"{folder}/{one.name}.yaml"
            row = {name: value for name, value in one.config.items() if name != "is_active"}
            row = restore_file_order(one.kind, row)
            files[path] = _file_text(kind, path, row)
    return files


def _scene_files(settings: JsonObject) -> dict[str, str]:
    scenes = settings.get(DEMO_SETTING)
    named = scenes.items() if isinstance(scenes, dict) else ()
    paths = {f"{SCENES_FOLDER}/{name}.yaml": row for name, row in named if isinstance(row, dict)}
    return {path: _file_text(Scene, path, row) for path, row in paths.items()}


def _record_files(entities: Sequence[RecordDraft], edges: Sequence[LinkDraft]) -> dict[str, str]:
    ordered = sorted(entities, key=lambda one: (one.key.type, one.key.key))
    files = {}
    for kind, records in groupby(ordered, key=lambda one: one.key.type):
        path = f"entities/{kind}.yaml"
        files[path] = to_yaml([_record_fields(one, edges, path) for one in records])
    return files


def _record_fields(entity: RecordDraft, edges: Sequence[LinkDraft], path: str) -> JsonObject:
    links = sorted((edge.relation, _record_reference(edge.target)) for edge in edges if edge.source == entity.key)
    row: JsonObject = {
        "key": entity.key.key,
        "name": entity.name,
        "classification": entity.classification,
        "project": _record_reference(entity.project) if entity.project else None,
        "properties": {name: value for name, value in entity.properties.items() if name != SOURCES_PROPERTY},
        "sources": entity.properties.get(SOURCES_PROPERTY, []),
        "links": [{"relation": relation, "to": target} for relation, target in links],
    }
    return _file_fields(Record, path, row)


def _document_file(document: DocumentDraft) -> str:
    own: JsonObject = {name: document.metadata[name] for name in HEADER_FIELDS if name in document.metadata}
    metadata = {name: value for name, value in document.metadata.items() if name not in own}
    row: JsonObject = {
        "title": document.title,
        "kind": document.kind,
        "classification": document.classification,
        "metadata": metadata,
        **own,
    }
    if document.record_key:
        row["entity"] = _record_reference(document.record_key)
    return front_matter.join(_file_text(DocumentHeader, f"documents/{document.key}", row), document.content)


def _record_reference(key: RecordKey) -> str:
    return f"{key.type}/{key.key}"


def _file_text(kind: type[PackModel], path: str, row: JsonObject) -> str:
    return to_yaml(_file_fields(kind, path, row))


def _file_fields(kind: type[PackModel], path: str, row: Mapping[str, Json]) -> JsonObject:
    """Return the row as the fields of its file. InvalidPack for what no file could say."""
    return to_file_fields(model_validation.validate_model(kind, ParsedYaml(path, levels_to_words(row), {})))
