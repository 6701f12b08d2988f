"""A visitor's conversation on the web, and what memory made of it, put there by hand as its writers leave it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import canonical_json
from parlour.principal import Principal
from tests.conversation_harness import ConversationHarness, text_answer


class WebConversation:
    """A visitor, and what they say."""

    def __init__(self, conversation: ConversationHarness) -> None:
        self.desk = conversation
        self.visitor: Principal = conversation.create_visitor()
        self.session = conversation.find_session(self.visitor)

    @property
    def user(self) -> UUID:
        assert self.visitor.id
        return self.visitor.id

    def say(self, text: str, *script: list[Any]) -> UUID:
        """A message and its turn, in which the model says this."""
        desk = self.desk
        desk.clock.now += timedelta(seconds=20)
        message = desk.send_web(self.visitor, self.session, text)
        desk.model.script = [*script] or [text_answer("I see.")]
        desk.run_turn()
        return message

    def next_prompt(self, text: str = "And now?") -> str:
        """Their next prompt, whole."""
        self.say(text, text_answer("Well then."))
        request = self.desk.model.requests[-1]
        return canonical_json([*request.system, *request.messages])

    def read_column(self, column: str, message: UUID) -> object:
        ((found,),) = self.desk.query(f"SELECT {column} FROM messages WHERE id = '{message}'")
        return found

    def add_fact(
        self, value: str, *messages: UUID, superseded_by: UUID | None = None, key: str = "city", scope: str = "user"
    ) -> UUID:
        """A fact of the user, or of the team, drawn from these messages."""
        made = uuid7(self.desk.clock())
        ended = f"now(), 'contradicted', '{superseded_by}'" if superseded_by else "NULL, NULL, NULL"
        names, whose = (
            ("user_id, binding_id", "s.user_id, s.binding_id") if scope == "user" else ("team_id", "b.team_id")
        )
        self.desk.query(
            f"INSERT INTO facts (tenant_id, id, scope, {names}, key, value, confidence, origin, message_ids,"
            " valid_from,"
            " last_confirmed_at, created_at, session_id, valid_until, end_reason, superseded_by)"
            f" SELECT s.tenant_id, '{made}', '{scope}', {whose}, '{key}', '{value}', 0.9, 'stated',"
            f" {_array(*messages)},"
            f" now(), now(), now(), s.id, {ended} FROM sessions s JOIN bindings b ON b.id = s.binding_id"
            f" WHERE s.id = '{self.session}' RETURNING id"
        )
        return made

    def add_summary(self, text: str, until_turn: int, version: int) -> None:
        self.desk.query(
            "INSERT INTO summaries (tenant_id, session_id, version, until_turn, text, created_at) VALUES"
            f" (current_tenant(), '{self.session}', {version}, {until_turn}, '{text}', now()) RETURNING 1"
        )

    def add_episode(self, text: str, *messages: UUID) -> UUID:
        """An episode with its row, which has the same id."""
        made = uuid7(self.desk.clock())
        self.add_context_row("episode", text, made)
        self.desk.query(
            "INSERT INTO episodes (tenant_id, id, user_id, binding_id, session_id, text, from_at, until_at,"
            " message_ids,"
            f" row_id, recall_count, created_at) SELECT tenant_id, '{made}', user_id, binding_id, id, '{text}', now(),"
            f" now(), {_array(*messages)}, '{made}', 3, now() FROM sessions WHERE id = '{self.session}' RETURNING 1"
        )
        return made

    def add_context_row(self, kind: str, text: str, row_id: UUID | None = None) -> None:
        """A searchable row of the conversation's."""
        made = row_id or uuid7(self.desk.clock())
        self.desk.query(
            "INSERT INTO context_rows (tenant_id, id, kind, title, content, content_hash, session_id, created_at)"
            f" VALUES (current_tenant(), '{made}', '{kind}', '', '{text}', '', '{self.session}', now()) RETURNING 1"
        )

    def add_archive(self, key: str, *messages: UUID) -> None:
        """Where these messages lie, as far as the database knows."""
        self.desk.query(
            "INSERT INTO archived_messages (tenant_id, id, session_id, object_key, first_position, last_position,"
            f" from_at, until_at, message_count, size_bytes, sha256, created_at) SELECT m.tenant_id,"
            f" '{uuid7(self.desk.clock())}', '{self.session}', '{key}', min(m.position), max(m.position), now(), now(),"
            f" count(*), 1, '', now() FROM messages m WHERE m.id = ANY({_array(*messages)}) GROUP BY m.tenant_id"
            " RETURNING 1"
        )


def _array(*messages: UUID) -> str:
    return f"ARRAY[{', '.join(f"'{one}'::uuid" for one in messages)}]::uuid[]"
