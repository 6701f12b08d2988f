"""A tenant's configuration and knowledge as the files of a pack."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from parlour.infra.errors import NotFound
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Database
from parlour.knowledge.documents.documents import DocumentDraft, read_documents
from parlour.knowledge.records.drafts import EntityDraft, read_entities
from parlour.knowledge.records.edges import EdgeDraft, read_edges
from parlour.knowledge.records.entities import EntityKey
from parlour.knowledge.records.properties import SOURCES
from parlour.models import spend
from parlour.packs import explain, front_matter, store
from parlour.packs.drafts import TOOL_HOSTS
from parlour.packs.emit import emit
from parlour.packs.format import Agent, Binding, DocumentHeader, EntityType, Human, Record, Team, Tenant, Tool
from parlour.packs.forms import from_row, said
from parlour.packs.locate import Located
from parlour.packs.part import Part
from parlour.packs.plan import Kind, Stored
from parlour.packs.reading import TENANT
from parlour.principal import Principal
from parlour.tenancy import tenants
from parlour.tenancy.roles import require

_FILES: Mapping[Kind, tuple[str, type[Part]]] = {
    "human": ("humans", Human),
    "team": ("teams", Team),
    "agent": ("agents", Agent),
    "tool": ("tools", Tool),
    "entity_type": ("entity_types", EntityType),
    "binding": ("bindings", Binding),
}


def export(principal: Principal, database: Database) -> dict[str, str]:
    """The pack (path -> text) that the tenant is now. Needs the role admin.

    Applying it changes nothing, and exporting again gives the same bytes: one fixed order and spelling,
    defaults left out, comments lost. Left out are bindings that are switched off, and records and documents
    above the principal's clearance with everything that refers to them; applying a pack removes neither.
    """
    require(principal, "admin")
    with database.transaction(principal) as tx:
        tenant = tenants.get(tx)
        if tenant is None:
            raise NotFound(f"there is no tenant {principal.tenant_id}")
        cap = spend.own_cap(tx)
        configuration = list(store.configuration(tx).values())
        entities, edges = read_entities(principal, tx), read_edges(principal, tx)
        documents = read_documents(principal, tx)
    shown = {one.key for one in entities}
    files = {TENANT: _tenant(tenant, cap, configuration), **_configuration(configuration), **_entities(entities, edges)}
    files |= {f"documents/{one.key}": _document(one) for one in documents if one.entity is None or one.entity in shown}
    return dict(sorted(files.items()))


def _tenant(tenant: tenants.Tenant, cap: Decimal | None, configuration: Sequence[Stored]) -> str:
    secrets = {one.name: one.config["reference"] for one in configuration if one.kind == "secret"}
    row: JsonObject = {"slug": tenant.slug, "display_name": tenant.display_name, "secrets": {**secrets}}
    row["tool_hosts"] = tenant.settings.get(TOOL_HOSTS, [])
    if cap is not None:
        row["daily_cap_usd"] = float(cap)
    return _file(Tenant, TENANT, row)


def _configuration(configuration: Sequence[Stored]) -> dict[str, str]:
    found = [one for one in configuration if one.kind in _FILES and one.config.get("is_active", True)]
    return dict(_configured(one) for one in found)


def _configured(one: Stored) -> tuple[str, str]:
    folder, kind = _FILES[one.kind]
    path = f"{folder}/{one.name}.yaml"
    return path, _file(kind, path, {name: value for name, value in one.config.items() if name != "is_active"})


def _entities(entities: Sequence[EntityDraft], edges: Sequence[EdgeDraft]) -> dict[str, str]:
    ordered = sorted(entities, key=lambda one: (one.key.type, one.key.key))
    files = {}
    for kind, records in groupby(ordered, key=lambda one: one.key.type):
        path = f"entities/{kind}.yaml"
        files[path] = emit([_record(one, edges, path) for one in records])
    return files


def _record(entity: EntityDraft, edges: Sequence[EdgeDraft], path: str) -> JsonObject:
    links = sorted((edge.relation, _reference(edge.target)) for edge in edges if edge.source == entity.key)
    row: JsonObject = {
        "key": entity.key.key,
        "name": entity.name,
        "classification": entity.classification,
        "project": _reference(entity.project) if entity.project else None,
        "properties": {name: value for name, value in entity.properties.items() if name != SOURCES},
        "sources": entity.properties.get(SOURCES, []),
        "links": [{"relation": relation, "to": target} for relation, target in links],
    }
    return _said(Record, path, row)


def _document(document: DocumentDraft) -> str:
    own: JsonObject = {name: document.metadata[name] for name in ("date", "author") if name in document.metadata}
    metadata = {name: value for name, value in document.metadata.items() if name not in own}
    row: JsonObject = {
        "title": document.title,
        "kind": document.kind,
        "classification": document.classification,
        "metadata": metadata,
        **own,
    }
    if document.entity:
        row["entity"] = _reference(document.entity)
    return front_matter.join(_file(DocumentHeader, f"documents/{document.key}", row), document.content)


def _reference(key: EntityKey) -> str:
    return f"{key.type}/{key.key}"


def _file(kind: type[Part], path: str, row: JsonObject) -> str:
    return emit(_said(kind, path, row))


def _said(kind: type[Part], path: str, row: Mapping[str, Json]) -> JsonObject:
    """The row in the form of its file. What no file could say is a problem with that file (InvalidPack)."""
    return said(explain.parse(kind, Located(path, from_row(row), {})))
