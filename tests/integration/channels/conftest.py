"""A tenant with one WhatsApp binding, and replies of its agent that have to leave."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import pytest

from parlour.channels import outbox
from parlour.channels.buttons import Button
from parlour.channels.outbox import NewDelivery
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.principal import Principal, system_principal

WHATSAPP: JsonObject = {"provider": "gupshup", "app": "ParlourDemo", "source": "+917834811114", "api_key": "gupshup"}
RECIPIENT = "+919800000001"

_SEED = """
WITH tenant AS (INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)
                VALUES (current_tenant(), %(slug)s, 'Test', %(now)s, %(now)s)),
     human AS (INSERT INTO humans (tenant_id, id, slug, display_name, created_at, updated_at)
               VALUES (current_tenant(), %(id)s, 'h', 'H', %(now)s, %(now)s)),
     team AS (INSERT INTO teams (tenant_id, id, slug, display_name, created_at, updated_at)
              VALUES (current_tenant(), %(id)s, 't', 'T', %(now)s, %(now)s)),
     agent AS (INSERT INTO agents (tenant_id, id, slug, display_name, created_at, updated_at)
               VALUES (current_tenant(), %(id)s, 'a', 'A', %(now)s, %(now)s)),
     secret AS (INSERT INTO secrets (tenant_id, id, name, reference)
                VALUES (current_tenant(), %(id)s, 'gupshup', 'parlour/gupshup')),
     binding AS (INSERT INTO bindings (tenant_id, id, slug, display_name, human_id, team_id, agent_id, channels,
                                       created_at, updated_at)
                 VALUES (current_tenant(), %(id)s, 'b', 'B', %(id)s, %(id)s, %(id)s, %(channels)s, %(now)s, %(now)s)),
     person AS (INSERT INTO users (tenant_id, id, created_at) VALUES (current_tenant(), %(id)s, %(now)s))
INSERT INTO sessions (tenant_id, id, user_id, binding_id, channel, created_at, last_active_at)
VALUES (current_tenant(), %(id)s, %(id)s, %(id)s, 'whatsapp', %(now)s, %(now)s)
"""
_MESSAGE = """
INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, sent_at,
                      received_at, metadata)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(session_id)s, 'outbound', 'reply', 'whatsapp', 'text', %(body)s,
        %(now)s, %(now)s, %(metadata)s)
"""
_INBOUND = """
INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, sent_at,
                      received_at)
VALUES (current_tenant(), %(id)s, %(session_id)s, %(session_id)s, 'inbound', 'answered', 'whatsapp', %(kind)s, 'Hello',
        %(at)s, %(at)s)
"""
_CITATION = """
INSERT INTO citations (tenant_id, message_id, number, title, locator)
VALUES (current_tenant(), %(message_id)s, %(number)s, %(title)s, %(locator)s)
"""
_CHANNELS = "UPDATE bindings SET channels = %(channels)s WHERE id = %(id)s"
_DELIVERY = Query(
    "test.delivery",
    "-",
    "SELECT state, attempts, part_count, parts_sent, problem, sent_at, status_at FROM outbox WHERE message_id = %(id)s",
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A row of the outbox: how far a reply got, and when."""

    state: str
    attempts: int
    part_count: int | None
    parts_sent: int
    problem: str | None
    sent_at: datetime | None
    status_at: datetime | None


@dataclass(frozen=True, slots=True)
class OutboxHarness:
    """One tenant's session; everything of it carries the same id as the session, for short."""

    principal: Principal
    session_id: UUID
    database: Database
    now: datetime

    def add_reply(
        self, text: str, citations: Sequence[tuple[int, str, str]] = (), buttons: Sequence[Button] = ()
    ) -> UUID:
        """Store a reply and put it into the outbox; returns the outbox row's id, which is the message's too."""
        message_id = uuid7(self.now)
        metadata: JsonObject = {"buttons": [button.to_json() for button in buttons]} if buttons else {}
        values = {"session_id": self.session_id, "body": text, "metadata": metadata, "now": self.now}
        with self.database.transaction(self.principal) as tx:
            _run(tx, _MESSAGE, id=message_id, **values)
            for number, title, locator in citations:
                _run(tx, _CITATION, message_id=message_id, number=number, title=title, locator=locator)
            self.enqueue(tx, message_id)
        return message_id

    def add_inbound(self, at: datetime, kind: str = "text") -> UUID:
        """The user writes; returns the message's id."""
        message_id = uuid7(at)
        with self.database.transaction(self.principal) as tx:
            _run(tx, _INBOUND, id=message_id, session_id=self.session_id, kind=kind, at=at)
        return message_id

    def enqueue(self, tx: Transaction, message_id: UUID) -> None:
        reply = NewDelivery(message_id, self.session_id, message_id, self.session_id, "whatsapp", RECIPIENT)
        outbox.enqueue(tx, reply, self.now)

    def set_channels(self, channels: JsonObject) -> None:
        """Change the binding's channels."""
        with self.database.transaction(self.principal) as tx:
            _run(tx, _CHANNELS, channels=channels, id=self.session_id)

    def erase_session(self) -> None:
        """The person asked to be forgotten: the session goes, and all that hangs on it."""
        with self.database.transaction(self.principal) as tx:
            _run(tx, "DELETE FROM sessions WHERE id = %(id)s", id=self.session_id)

    def query(self, statement: str) -> list[tuple[object, ...]]:
        """What the tenant's tables hold, read as the app role."""
        with self.database.transaction(self.principal) as tx:
            return tx._connection.execute(statement.encode()).fetchall()

    def find_delivery(self, message_id: UUID) -> Delivery:
        """How far one reply got."""
        with self.database.transaction(self.principal) as tx:
            return tx.one(_DELIVERY, Delivery, id=message_id)


def _run(tx: Transaction, sql: str, **parameters: object) -> None:
    tx.run(Query("test.seed", "", sql), **parameters)


@pytest.fixture
def open_outbox_harness(database: Database, now: datetime) -> Callable[[], OutboxHarness]:
    """A new tenant's desk."""

    def open_one() -> OutboxHarness:
        tenant_id, session_id = uuid7(now), uuid7(now)
        principal = system_principal(tenant_id)
        with database.transaction(principal) as tx:
            slug = f"t-{tenant_id}"
            _run(tx, _SEED, id=session_id, slug=slug, channels={"whatsapp": WHATSAPP}, now=now)
        desk = OutboxHarness(principal, session_id, database, now)
        desk.add_inbound(now)
        return desk

    return open_one


@pytest.fixture
def outbox_harness(open_outbox_harness: Callable[[], OutboxHarness]) -> OutboxHarness:
    return open_outbox_harness()
