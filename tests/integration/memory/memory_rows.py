"""Facts and episodes as their writers leave them, put there by hand: what tests of recall begin with."""

from collections.abc import Sequence
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.principal import Principal
from tests.conversation_harness import ConversationHarness, WordEmbedder

_HOLDERS = {
    "user": "user_id, binding_id",
    "human": "human_id",
    "team": "team_id",
}


def add_fact(
    conversation: ConversationHarness,
    session: UUID,
    key: str,
    value: str,
    *,
    scope: str = "user",
    confidence: float = 0.9,
) -> UUID:
    """A fact of the session's user with its binding, or of the binding's persona or team."""
    made = uuid7(conversation.clock())
    holder = {"user": "s.user_id, s.binding_id", "human": "b.human_id", "team": "b.team_id"}[scope]
    conversation.query(
        f"INSERT INTO facts (tenant_id, id, scope, {_HOLDERS[scope]}, key, value, confidence, origin, valid_from,"
        f" last_confirmed_at, created_at) SELECT s.tenant_id, '{made}', '{scope}', {holder}, '{key}', '{value}',"
        f" {confidence},"
        f" 'stated', s.created_at, s.created_at, s.created_at FROM sessions s JOIN bindings b ON b.id = s.binding_id"
        f" WHERE s.id = '{session}' RETURNING id"
    )
    return made


def add_episode(
    conversation: ConversationHarness, session: UUID, text: str, messages: Sequence[UUID] = (), level: int = 0
) -> UUID:
    """What came of a session, with its searchable row and that row's vector."""
    made, row = uuid7(conversation.clock()), uuid7(conversation.clock())
    named = ", ".join(f"'{one}'::uuid" for one in messages)
    (vector,) = WordEmbedder().embed([text])
    conversation.query(
        "INSERT INTO context_rows (tenant_id, id, kind, title, content, content_hash, classification, session_id,"
        " created_at)"
        f" SELECT tenant_id, '{row}', 'episode', 'Earlier', '{text}', '', {level}, id, created_at"
        f" FROM sessions WHERE id = '{session}' RETURNING id"
    )
    conversation.query(
        "INSERT INTO embeddings (tenant_id, row_id, space, vector)"
        f" VALUES (current_tenant(), '{row}', '{embedding_space(conversation)}', '{vector}') RETURNING row_id"
    )
    conversation.query(
        "INSERT INTO episodes (tenant_id, id, user_id, binding_id, session_id, text, from_at, until_at, message_ids,"
        f" row_id, created_at) SELECT tenant_id, '{made}', user_id, binding_id, id, '{text}', created_at, created_at,"
        f" ARRAY[{named}]::uuid[], '{row}', created_at FROM sessions WHERE id = '{session}' RETURNING id"
    )
    return made


def embedding_space(conversation: ConversationHarness) -> str:
    """The space that the tenant's vectors are in."""
    ((found,),) = conversation.query("SELECT space FROM embeddings LIMIT 1")
    return str(found)


def add_session(
    conversation: ConversationHarness, session: UUID, visibility: str = "private", binding: str = ""
) -> UUID:
    """A further session of the same user, with the same binding unless another is named by its slug."""
    made = uuid7(conversation.clock())
    of = f"(SELECT id FROM bindings WHERE slug = '{binding}')" if binding else "binding_id"
    conversation.query(
        "INSERT INTO sessions (tenant_id, id, user_id, binding_id, channel, visibility, created_at, last_active_at)"
        f" SELECT tenant_id, '{made}', user_id, {of}, channel, '{visibility}', now(), now() FROM sessions"
        f" WHERE id = '{session}' RETURNING id"
    )
    return made


def find_visitor(conversation: ConversationHarness) -> tuple[Principal, UUID]:
    """A visitor on the web and their session."""
    visitor = conversation.create_visitor()
    return visitor, conversation.find_session(visitor)


def count_embedder_calls(conversation: ConversationHarness) -> "CountingEmbedder":
    """The desk's embedder, which counts from now on."""
    conversation.embedder = counting = CountingEmbedder(conversation.database)
    return counting


class CountingEmbedder(WordEmbedder):
    """Fails when it is asked while a transaction is open."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.asked = 0

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        self.asked += 1
        with self.database.transaction(None):
            return super().embed(texts)
