"""A pack and a tenant as items with fields: the form in which they are compared. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from parlour.documents.pack_import import DocumentDraft
from parlour.infra.json_values import Json, JsonObject, canonical_digest
from parlour.records.crud import RecordKey
from parlour.records.pack_import import RecordDraft
from parlour.records.record_links import LinkDraft
from parlour.records.snapshots import SnapshotTemplate

type ConfigKind = Literal["human", "team", "agent", "tool", "entity_type", "binding", "secret"]
type ItemKind = Literal[ConfigKind, "tenant", "entity", "edge", "document"]
type Items = Mapping[ItemId, JsonObject]
type Digests = dict[str, str]

_PROPERTY, _METADATA = "properties.", "metadata."


@dataclass(frozen=True, slots=True, order=True)
class ItemId:
    """Names one thing that a pack says: `name` is a slug, a record's handle, a document's key or a link in words."""

    kind: ItemKind
    name: str

    @property
    def handle(self) -> str:
        """How people name it: `risk/R-03`, `document/rules.md`, `agent/helper`."""
        return self.name if self.kind in {"entity", "edge", "tenant"} else f"{self.kind}/{self.name}"


def digest_fields(fields: Mapping[str, Json]) -> Digests:
    """Return the digest of each field."""
    return {name: canonical_digest(value) for name, value in fields.items()}


def record_item(draft: RecordDraft) -> tuple[ItemId, JsonObject]:
    """Return a record as an item; each property is a field of its own."""
    fields: JsonObject = {
        "name": draft.name,
        "classification": draft.classification,
        "project": str(draft.project) if draft.project else None,
    }
    return ItemId("entity", str(draft.key)), {**fields, **_prefixed(_PROPERTY, draft.properties)}


def to_record_draft(item: ItemId, fields: JsonObject) -> RecordDraft:
    """Return the record of `record_item`."""
    project = fields["project"]
    return RecordDraft(
        parse_record_key(item.name),
        str(fields["name"]),
        _unprefixed(_PROPERTY, fields),
        level_of(fields),
        parse_record_key(project) if isinstance(project, str) else None,
    )


def document_item(draft: DocumentDraft) -> tuple[ItemId, JsonObject]:
    """Return a document as an item."""
    fields: JsonObject = {
        "title": draft.title,
        "content": draft.content,
        "kind": draft.kind,
        "classification": draft.classification,
        "entity": str(draft.record_key) if draft.record_key else None,
    }
    return ItemId("document", draft.key), {**fields, **_prefixed(_METADATA, draft.metadata)}


def to_document_draft(item: ItemId, fields: JsonObject) -> DocumentDraft:
    """Return the document of `document_item`."""
    entity = fields["entity"]
    return DocumentDraft(
        key=item.name,
        title=str(fields["title"]),
        content=str(fields["content"]),
        kind=str(fields["kind"]),
        classification=level_of(fields),
        record_key=parse_record_key(entity) if isinstance(entity, str) else None,
        metadata=_unprefixed(_METADATA, fields),
    )


def link_item(draft: LinkDraft) -> ItemId:
    """Return a link as an item; it has no fields."""
    return ItemId("edge", f"{draft.source} {draft.relation} {draft.target}")


def to_link_draft(item: ItemId) -> LinkDraft:
    """Return the link of `link_item`."""
    source, relation, target = item.name.split(" ")
    return LinkDraft(parse_record_key(source), parse_record_key(target), relation)


def snapshot_templates(items: Items) -> list[SnapshotTemplate]:
    """Return the record types among the items, as snapshots are made from them."""
    return [
        SnapshotTemplate(item.name, str(row["display_name"]), _as_object(row["properties"]), _as_object(row["rag"]))
        for item, row in items.items()
        if item.kind == "entity_type"
    ]


def parse_record_key(reference: str) -> RecordKey:
    """Return `type/key` as the records room has it."""
    kind, _, key = reference.partition("/")
    return RecordKey(kind, key)


def level_of(fields: JsonObject) -> int:
    """Return the item's classification; 0 for what has none."""
    level = fields.get("classification", 0)
    return level if isinstance(level, int) else 0


def of_kind(items: Iterable[ItemId], kind: ItemKind) -> list[ItemId]:
    """Return the items of one kind, in order."""
    return [item for item in items if item.kind == kind]


def _prefixed(prefix: str, values: Mapping[str, Json]) -> JsonObject:
    return {prefix + name: value for name, value in values.items()}


def _unprefixed(prefix: str, fields: JsonObject) -> JsonObject:
    return {name.removeprefix(prefix): value for name, value in fields.items() if name.startswith(prefix)}


def _as_object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
