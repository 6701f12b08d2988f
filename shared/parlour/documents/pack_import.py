"""Documents of packs: text that is stored whole and searched row by row.

Writing takes two steps, so that no transaction waits for the embedding service: `prepare_document_import` finds the
texts that need a vector, `import_documents` writes them with their vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from parlour.documents import store
from parlour.documents.store import DocumentWithText, StoredDocument
from parlour.infra import log
from parlour.infra.errors import InvalidRequest
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_digest
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import staleness
from parlour.records.crud import RecordKey, resolve_record_ids
from parlour.records.write_counts import WriteCounts
from parlour.search.index import store as index
from parlour.search.index.context_rows import RowDraft, StoredRow, chunk_row, diff_rows
from parlour.search.index.embedders import Vectors
from parlour.search.index.row_sync import OwnerRows, group_by_owner, reject_duplicate_keys, sync_rows
from parlour.search.index.store import RowOwner
from parlour.text.chunking import chunk_text

_CHUNKING_VERSION = 1
"""Counts the changes to how documents are cut; part of the hash, so that applying again cuts them anew."""


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A document as the pack has it.

    key         names it within the tenant.
    kind        what readers call it: contract, email, site_report, ...
    record_key  the record it is about; its rows are searched with that record.
    metadata    `date` (ISO 8601) and `author` go into every row; the rest is stored as it is.
    """

    key: str
    title: str
    content: str
    kind: str = "document"
    classification: int = 0
    record_key: RecordKey | None = None
    metadata: JsonObject = field(default_factory=dict)

    @property
    def content_hash(self) -> str:
        """Changes with anything that the stored document or its rows are made from."""
        entity = [self.record_key.type, self.record_key.key] if self.record_key else None
        parts = [_CHUNKING_VERSION, self.title, self.kind, self.content, self.classification, entity, self.metadata]
        return canonical_digest(parts)

    def rows(self) -> list[RowDraft]:
        """Return the searchable rows, in order."""
        written = {name: str(self.metadata.get(name) or "") for name in ("date", "author")}
        pieces = chunk_text(self.content, **written)
        return [
            chunk_row(piece, ordinal, self.title, self.kind, self.classification)
            for ordinal, piece in enumerate(pieces)
        ]


@dataclass(frozen=True, slots=True)
class DocumentImportPlan:
    """Documents cut into rows, and the texts among them that have no vector yet."""

    drafts: Sequence[tuple[DocumentDraft, Sequence[RowDraft]]]
    texts_to_embed: Sequence[str]


def prepare_document_import(tx: Transaction, drafts: Sequence[DocumentDraft], space: str) -> DocumentImportPlan:
    """Cut the documents and compare them with what is stored; writes nothing. `space` is the embedder's.

    InvalidRequest when two documents have one key.
    """
    reject_duplicate_keys([draft.key for draft in drafts])
    stored = _stored(tx, drafts)
    rows = group_by_owner(index.list_document_rows(tx, [document.id for document in stored.values()], space))
    cut_drafts = [(draft, draft.rows()) for draft in drafts]
    texts = [
        text
        for draft, wanted in cut_drafts
        for text in diff_rows(rows[stored[draft.key].id] if draft.key in stored else [], wanted).texts_to_embed
    ]
    return DocumentImportPlan(cut_drafts, texts)


def import_documents(
    principal: Principal, tx: Transaction, plan: DocumentImportPlan, vectors: Vectors, now: datetime
) -> WriteCounts:
    """Write what is new or changed, and mark the Pulse of what it is about; a document that is stored as drafted is
    not touched, one that was deleted is made anew.

    InvalidRequest when a document is about an entity that does not exist, or has the key of one that somebody wrote
    here; Conflict when the tenant's documents changed since they were prepared, in a way that leaves a text without
    its vector.
    """
    index.lock_tenant(tx)
    drafts = [draft for draft, _ in plan.drafts]
    store.free_deleted_keys(tx, [draft.key for draft in drafts])
    stored = _stored(tx, drafts)
    rows = group_by_owner(index.list_document_rows(tx, [document.id for document in stored.values()], vectors.space))
    entities = resolve_record_ids(tx, [draft.record_key for draft in drafts if draft.record_key])
    entries: list[tuple[OwnerRows, Sequence[StoredRow]]] = []
    puts: list[Mapping[str, object]] = []
    for draft, wanted in plan.drafts:
        there = _check_not_authored(stored.get(draft.key))
        owner = RowOwner(there.id if there else uuid7(now), entities[draft.record_key] if draft.record_key else None)
        changed = there is None or (there.content_hash, there.entity_id) != (draft.content_hash, owner.entity_id)
        if changed:
            puts.append(_columns(draft, owner, now))
        entries.append((OwnerRows(owner, wanted, changed), rows[there.id] if there else []))
    store.upsert_documents(tx, puts)
    sync_rows(tx, entries, vectors, now)
    about = [entry.owner.entity_id for entry, _ in entries if entry.is_owner_changed and entry.owner.entity_id]
    staleness.mark_many_stale(tx, list(dict.fromkeys(about)), "document_changed", now)
    changes = WriteCounts.from_totals(len(drafts), len(stored), len(puts))
    log.info("documents_imported", principal=principal.name, added=changes.created, changed=changes.changed)
    return changes


def list_pack_documents(tx: Transaction) -> list[str]:
    """Return the keys of the documents that packs brought."""
    return [document.key for document in store.list_pack_documents(tx)]


def mark_documents_not_in_pack(tx: Transaction, keys: Sequence[str], now: datetime) -> None:
    """Note which documents that packs brought are not among these keys: they left the pack."""
    store.mark_documents_left(tx, sorted(keys), now)


def read_documents(tx: Transaction, keys: Sequence[str]) -> list[DocumentDraft]:
    """Return the documents of these keys as they are, whatever their level; deleted ones are left out.

    InvalidRequest for the key of a document that somebody wrote here.
    """
    for there in store.find_stored_documents(tx, keys):
        _check_not_authored(there)
    return [_to_draft(document) for document in store.list_documents_with_text(tx, keys)]


def delete_pack_documents(principal: Principal, tx: Transaction, keys: Sequence[str], now: datetime) -> None:
    """Delete documents that packs brought, with their searchable rows, and mark the Pulses of what they are about."""
    index.lock_tenant(tx)
    about = store.delete_pack_documents(tx, keys, now)
    staleness.mark_many_stale(tx, list(dict.fromkeys(one for one in about if one)), "document_changed", now)
    log.info("pack_documents_deleted", principal=principal.name, deleted=len(about))


def export_documents(principal: Principal, tx: Transaction) -> list[DocumentDraft]:
    """Every document that the principal may see, by key, as it was drafted."""
    return [_to_draft(document) for document in store.list_all_documents(tx, principal.clearance)]


def _to_draft(document: DocumentWithText) -> DocumentDraft:
    is_about_record = document.entity_type and document.entity_key
    return DocumentDraft(
        key=document.key,
        title=document.title,
        content=document.content,
        kind=document.kind,
        classification=document.classification,
        record_key=RecordKey(document.entity_type or "", document.entity_key or "") if is_about_record else None,
        metadata=document.metadata,
    )


def _stored(tx: Transaction, drafts: Sequence[DocumentDraft]) -> dict[str, StoredDocument]:
    return {document.key: document for document in store.find_stored_documents(tx, [draft.key for draft in drafts])}


def _check_not_authored(there: StoredDocument | None) -> StoredDocument | None:
    """Return the stored document; Conflict when people wrote it: a pack does not replace their text."""
    if there is not None and there.is_authored:
        raise InvalidRequest(f"document/{there.key} exists and does not come from a pack; rename the pack's document")
    return there


def _columns(draft: DocumentDraft, owner: RowOwner, now: datetime) -> Mapping[str, object]:
    return {
        "id": owner.document_id,
        "entity_id": owner.entity_id,
        "key": draft.key,
        "title": draft.title,
        "kind": draft.kind,
        "content": draft.content,
        "content_hash": draft.content_hash,
        "classification": draft.classification,
        "metadata": draft.metadata,
        "now": now,
    }
