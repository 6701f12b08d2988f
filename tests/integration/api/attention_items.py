"""Everything that can need a person, written as the workers leave it behind."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.infra.queries import Query

PHONE = "+919800000001"
ARGUMENTS = {"crane": "TC-2", "hours": 4, "notes": "<b>North gate</b>"}

_TURN = """
INSERT INTO turns (tenant_id, id, session_id, binding_id, number, state, attempt_count, frozen_at, finished_at, problem)
SELECT current_tenant(), %(id)s, s.id, s.binding_id,
       1 + (SELECT COALESCE(max(number), 0) FROM turns t WHERE t.session_id = s.id), %(state)s, 3, %(at)s, %(at)s,
       %(problem)s
  FROM sessions s WHERE s.id = %(session_id)s
"""
_MESSAGE = """
INSERT INTO messages (tenant_id, id, session_id, binding_id, turn_id, direction, state, channel, kind, body, sent_at,
                      received_at)
SELECT current_tenant(), %(id)s, s.id, s.binding_id, %(turn_id)s, %(direction)s, %(state)s, s.channel, 'text',
       %(body)s, %(at)s, %(at)s
  FROM sessions s WHERE s.id = %(session_id)s
"""
_STEP = """
INSERT INTO steps (tenant_id, turn_id, number, provider, model, prompt_hash, requested_at)
VALUES (current_tenant(), %(turn_id)s, 1, 'offline', 'offline', '', %(at)s)
"""
_CALL = """
INSERT INTO tool_calls (tenant_id, id, turn_id, step, call_id, name, arguments, writes, state, idempotency_key, heavy,
                        interim, result, started_at, runs)
VALUES (current_tenant(), %(id)s, %(turn_id)s, 1, %(key)s, 'book_crane', %(arguments)s, true, %(state)s, %(key)s,
        %(heavy)s, '{}', '{"ok": false}', %(at)s, 1)
"""
_DUE_CALL = """
INSERT INTO work_due (tenant_id, kind, id, due_at) VALUES (current_tenant(), 'tool_call', %(id)s, %(at)s)
"""
_OUTBOX = """
INSERT INTO outbox (tenant_id, id, session_id, message_id, binding_id, channel, recipient, state, problem, attempts,
                    part_count, created_at)
SELECT current_tenant(), %(id)s, s.id, %(message_id)s, s.binding_id, 'whatsapp', %(recipient)s, %(state)s,
       %(problem)s, 1, 1, %(at)s
  FROM sessions s WHERE s.id = %(session_id)s
"""

_NOTIFICATION = """
INSERT INTO notifications (tenant_id, id, event_id, event, reason, session_id, medium, recipient, state, problem,
                           created_at, ended_at)
VALUES (current_tenant(), %(id)s, %(id)s, 'opened', '', %(session_id)s, 'email', 'gone@example.com', 'failed',
        'The mail server refused the address or the mail: 550 no such mailbox', %(at)s, %(at)s)
"""


@dataclass
class AttentionItems:
    """Troubles of one session; each takes a minute longer than the one before."""

    database: Database
    tenant_id: UUID
    session_id: UUID
    at: datetime

    def add_tool_call(self, state: str = "unknown", *, heavy: bool = False) -> UUID:
        """A tool call that was begun and whose answer never came; or a heavy one in another state."""
        turn_id, call_id = self._turn("answered", None), self._id()
        self._run(_STEP, turn_id=turn_id)
        self._run(_CALL, id=call_id, turn_id=turn_id, key=str(call_id), arguments=ARGUMENTS, state=state, heavy=heavy)
        if state == "running":
            self._run(_DUE_CALL, id=call_id)
        return call_id

    def add_reply(self, state: str = "unknown") -> UUID:
        """A reply that may have arrived, or that was held back."""
        turn_id, message_id, outbox_id = self._turn("answered", None), self._id(), self._id()
        self._message(message_id, turn_id, "outbound", "reply", "The crane is booked.")
        self._run(
            _OUTBOX,
            id=outbox_id,
            message_id=message_id,
            recipient=PHONE,
            state=state,
            session_id=self.session_id,
            problem="the provider did not answer in time",
        )
        return outbox_id

    def add_waiting_reply(self, problem: str | None) -> UUID:
        """A reply that waits for another attempt."""
        outbox_id = self.add_reply("pending")
        self._run(
            "UPDATE outbox SET problem = %(problem)s, created_at = %(at)s - interval '1 hour' WHERE id = %(id)s",
            id=outbox_id,
            problem=problem,
        )
        self._run(
            "INSERT INTO work_due (tenant_id, kind, id, due_at) VALUES (current_tenant(), 'outbox', %(id)s, %(at)s)",
            id=outbox_id,
        )
        return outbox_id

    def set_secret_name(self, name: str) -> None:
        """Name the secret of every binding's WhatsApp provider."""
        self._run(
            "UPDATE bindings SET updated_at = %(at)s, channels = channels || "
            "jsonb_build_object('whatsapp', jsonb_build_object('api_key', %(name)s::text))",
            name=name,
        )

    def add_failed_turn(self) -> UUID:
        """A turn that failed for good; what was written is parked."""
        turn_id = self._turn("failed", "unexpected_error")
        self._message(self._id(), turn_id, "inbound", "parked", "When is the pour?")
        return turn_id

    def add_notification(self) -> UUID:
        """An e-mail that a mail server refused."""
        notification_id = self._id()
        self._run(_NOTIFICATION, id=notification_id, session_id=self.session_id)
        return notification_id

    def query(self, statement: str) -> list[tuple[object, ...]]:
        with self.database.transaction(self.tenant_id) as tx:
            return tx._connection.execute(statement.encode()).fetchall()

    def _turn(self, state: str, problem: str | None) -> UUID:
        turn_id = self._id()
        self._run(_TURN, id=turn_id, state=state, problem=problem, session_id=self.session_id)
        return turn_id

    def _message(self, message_id: UUID, turn_id: UUID, direction: str, state: str, body: str) -> None:
        self._run(
            _MESSAGE,
            id=message_id,
            turn_id=turn_id,
            direction=direction,
            state=state,
            body=body,
            session_id=self.session_id,
        )

    def _id(self) -> UUID:
        self.at += timedelta(minutes=1)
        return uuid7(self.at)

    def _run(self, statement: str, **parameters: object) -> None:
        with self.database.transaction(self.tenant_id) as tx:
            tx.run(Query("test.trouble", "-", statement), at=self.at, **parameters)
