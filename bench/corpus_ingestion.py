"""A corpus taken in by the product's own ways, a tenant for each of its scopes: what `bench.retrieval` searches.

A chunk becomes a document, cut and led as documents are; a message one of a conversation, with the row and the vector
that the embedder gives it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import batched, chain
from uuid import UUID

from bench.corpus_format import Text
from parlour.documents.pack_import import DocumentDraft, import_documents, prepare_document_import
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.search.hybrid_search import EVERYWHERE, SearchScope
from parlour.search.index import store
from parlour.search.index.embedders import Embedder, embed_texts, space_name
from parlour.search.index.message_rows import UnindexedMessage, message_text_row
from parlour.search.results import SearchResult
from parlour.tenancy import roles, tenants

_DOCUMENTS, _MESSAGES, _ROWS = 200, 200, 64
_TITLE = "Conversation"


@dataclass
class Shelf:
    """One scope of the corpus: its tenant, where to search in it, and which line a row is from."""

    principal: Principal
    session_id: UUID
    scopes: list[SearchScope] = field(default_factory=list)
    lines: dict[UUID, str] = field(default_factory=dict)

    def line_of(self, row: SearchResult) -> str:
        """The id of the corpus line that a found row was made of."""
        return self.lines[row.message_id] if row.message_id else str(row.document_key)


def fill(
    database: Database, embedder: Embedder, texts: Sequence[Text], tell: Callable[[int], None]
) -> dict[str, Shelf]:
    """Take the texts in, each scope by time and otherwise in the order given; `tell` hears how many are done."""
    done = 0
    shelves: dict[str, Shelf] = {}
    for number, (scope, own) in enumerate(by_scope(texts).items()):
        shelf = shelves[scope] = _open(database, number)
        chunks = [text for text in own if not text.is_message]
        messages = [text for text in own if text.is_message]
        for step in chain(
            _documents(database, embedder, shelf, chunks), _messages(database, embedder, shelf, messages)
        ):
            done += step
            tell(done)
    return shelves


def by_scope(texts: Sequence[Text]) -> dict[str, list[Text]]:
    """The texts of each scope: its chunks, and its messages by time."""
    scopes: dict[str, list[Text]] = defaultdict(list)
    for text in texts:
        scopes[text.scope].append(text)
    return {
        scope: [*(one for one in own if not one.is_message), *_by_time([one for one in own if one.is_message])]
        for scope, own in scopes.items()
    }


def _open(database: Database, number: int) -> Shelf:
    """A new tenant with one conversation."""
    now = datetime.now(UTC)
    operator = roles.operator_principal(uuid7(now))
    session_id = uuid7(now)
    with database.transaction(operator) as tx:
        tenants.create_tenant(operator, tx, slug=f"shelf-{number}", display_name="Shelf", settings={}, now=now)
        tx.run(SESSION, id=session_id, now=now)
    return Shelf(operator, session_id)


def _documents(database: Database, embedder: Embedder, shelf: Shelf, texts: Sequence[Text]) -> Iterator[int]:
    if texts:
        shelf.scopes.append(EVERYWHERE)
    for batch in batched(texts, _DOCUMENTS, strict=False):
        drafts = [DocumentDraft(text.id, text.title, text.text) for text in batch]
        with database.transaction(shelf.principal) as tx:
            plan = prepare_document_import(tx, drafts, space_name(embedder))
        vectors = embed_texts(embedder, plan.texts_to_embed)
        with database.transaction(shelf.principal) as tx:
            import_documents(shelf.principal, tx, plan, vectors, datetime.now(UTC))
        yield len(batch)


def _messages(database: Database, embedder: Embedder, shelf: Shelf, texts: Sequence[Text]) -> Iterator[int]:
    if texts:
        shelf.scopes.append(SearchScope(session_id=shelf.session_id))
    for batch in batched(texts, _MESSAGES, strict=False):
        with database.transaction(shelf.principal) as tx:
            _say(tx, shelf, batch)
        while embed(database, embedder, shelf.principal):
            pass
        yield len(batch)


def _say(tx: Transaction, shelf: Shelf, texts: Sequence[Text]) -> None:
    """Messages and their rows, which wait for their vectors; one without a time of its own is dated nowhere, one
    without words has no row."""
    now = datetime.now(UTC)
    ids = [uuid7(now) for _ in texts]
    shelf.lines.update(zip(ids, (text.id for text in texts), strict=True))
    tx.run_many(
        _MESSAGE,
        [
            {"id": key, "session_id": shelf.session_id, "body": text.text, "sent_at": text.sent_at or now, "now": now}
            for key, text in zip(ids, texts, strict=True)
        ],
    )
    store.add_message_rows(
        tx,
        [
            (
                uuid7(now),
                UnindexedMessage(
                    key, shelf.session_id, _TITLE, text.speaker, text.text, text.sent_at or now, 0, is_searchable=True
                ),
                message_text_row(text.text.strip(), _TITLE, text.speaker, text.sent_at),
            )
            for key, text in zip(ids, texts, strict=True)
            if text.text.strip()
        ],
    )


def _by_time(texts: Sequence[Text]) -> Sequence[Text]:
    dated = [(text.sent_at, place, text) for place, text in enumerate(texts) if text.sent_at]
    return [text for _, _, text in sorted(dated, key=lambda one: one[:2])] if len(dated) == len(texts) else texts


def embed(database: Database, embedder: Embedder, principal: Principal) -> int:
    """One of the embedder's batches; how many rows were in it."""
    with database.transaction(principal) as tx:
        rows = store.find_pending_rows(tx, _ROWS)
    vectors = embed_texts(embedder, [row.content for row in rows])
    with database.transaction(principal) as tx:
        store.store_vectors(tx, vectors.space, {row.id: vectors.by_text[row.content] for row in rows})
    return len(rows)


SESSION = Query(
    "bench.session",
    "A conversation and what it hangs on.",
    """
WITH h AS (
    INSERT INTO humans (tenant_id, id, slug, display_name, created_at, updated_at)
    VALUES (current_tenant(), %(id)s, 'h', 'H', %(now)s, %(now)s)
), t AS (
    INSERT INTO teams (tenant_id, id, slug, display_name, created_at, updated_at)
    VALUES (current_tenant(), %(id)s, 't', 'T', %(now)s, %(now)s)
), a AS (
    INSERT INTO agents (tenant_id, id, slug, display_name, created_at, updated_at)
    VALUES (current_tenant(), %(id)s, 'a', 'A', %(now)s, %(now)s)
), b AS (
    INSERT INTO bindings (tenant_id, id, slug, display_name, human_id, team_id, agent_id, created_at, updated_at)
    VALUES (current_tenant(), %(id)s, 'b', 'B', %(id)s, %(id)s, %(id)s, %(now)s, %(now)s)
), u AS (
    INSERT INTO users (tenant_id, id, created_at) VALUES (current_tenant(), %(id)s, %(now)s)
)
INSERT INTO sessions (tenant_id, id, user_id, binding_id, channel, created_at, last_active_at)
VALUES (current_tenant(), %(id)s, %(id)s, %(id)s, 'web', %(now)s, %(now)s)
""",
)

_MESSAGE = Query(
    "bench.message",
    "A message that has its row.",
    """
INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, sent_at,
                      received_at, indexed)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(session_id)s, 'inbound', 'answered', 'web', 'text', %(body)s,
        %(sent_at)s, %(now)s, true)
""",
)
