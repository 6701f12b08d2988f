"""Two tenants, each with everything that a binding needs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction, jsonb
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.tenancy import roles, routing_keys, tenants

_HUMAN = """
INSERT INTO humans (tenant_id, id, slug, display_name, identity, voice, languages, guardrails, created_at, updated_at)
VALUES (current_tenant(), %(id)s, 'meera', 'Meera', 'A site engineer.', %(voice)s, '{en,hi}', %(rules)s, %(now)s,
        %(now)s)
"""
_TEAM = """
INSERT INTO teams (tenant_id, id, slug, display_name, role, sops, version, created_at, updated_at)
VALUES (current_tenant(), %(id)s, 'site', 'Site', 'Answers.', %(sops)s, 3, %(now)s, %(now)s)
"""
_AGENT = """
INSERT INTO agents (tenant_id, id, slug, display_name, model_routing, tools, created_at, updated_at)
VALUES (current_tenant(), %(id)s, 'adviser', 'Adviser', %(routing)s, '{search_knowledge}', %(now)s, %(now)s)
"""
_BINDING = """
INSERT INTO bindings (tenant_id, id, slug, display_name, human_id, team_id, agent_id, channels, clearance, greeting,
                      created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(slug)s, 'Site adviser', %(human)s, %(team)s, %(agent)s, %(channels)s, 1, 'Namaste',
        %(now)s, %(now)s)
"""


@dataclass(frozen=True)
class SampleTenant:
    """A tenant as tests see it. `operator` and `admin` may act in it."""

    slug: str
    binding_id: UUID
    operator: Principal
    tier_ids: dict[str, UUID] = field(default_factory=dict)

    @property
    def tenant_id(self) -> UUID:
        return self.operator.tenant_id

    @property
    def admin(self) -> Principal:
        return Principal(self.tenant_id, "member", UUID(int=1), frozenset({"admin"}), clearance=2)


def execute_sql(tx: Transaction, sql: str, /, **values: object) -> int:
    """A statement that only a test needs."""
    return tx.run(Query("test.statement", "-", sql), **values)


@pytest.fixture
def add_sample_tenant(database: Database, now: datetime) -> Callable[[str], SampleTenant]:
    """Found a firm: its tenant, one persona, one binding reachable by WhatsApp and by a web host."""

    def make(slug: str) -> SampleTenant:
        operator = roles.operator_principal(uuid7(now))
        tiers = {name: uuid7(now) for name in ("human", "team", "agent", "binding")}
        with database.transaction(operator) as tx:
            tenants.create_tenant(operator, tx, slug=slug, display_name=slug.title(), settings={}, now=now)
            rules = jsonb(["Never promise a date."])
            execute_sql(tx, _HUMAN, id=tiers["human"], voice={"tone": "calm"}, rules=rules, now=now)
            execute_sql(tx, _TEAM, id=tiers["team"], sops=jsonb([{"name": "Delay"}]), now=now)
            execute_sql(tx, _AGENT, id=tiers["agent"], routing={"default": {"provider": "offline"}}, now=now)
            add_binding(tx, "site-adviser", tiers, tiers["binding"], now)
            routing_keys.claim_key(tx, routing_keys.gupshup_key(slug), tiers["binding"])
            routing_keys.claim_key(tx, routing_keys.web_key(f"{slug}.example.com"), tiers["binding"])
        return SampleTenant(slug, tiers["binding"], operator, tiers)

    return make


def add_binding(tx: Transaction, slug: str, tiers: dict[str, UUID], binding_id: UUID, now: datetime) -> None:
    """One more binding of the firm's only persona."""
    parts = {name: tiers[name] for name in ("human", "team", "agent")}
    execute_sql(tx, _BINDING, id=binding_id, slug=slug, channels={"web": {}, "whatsapp": {}}, now=now, **parts)


@pytest.fixture
def acme(add_sample_tenant: Callable[[str], SampleTenant]) -> SampleTenant:
    return add_sample_tenant("acme")


@pytest.fixture
def brick(add_sample_tenant: Callable[[str], SampleTenant]) -> SampleTenant:
    """The other tenant."""
    return add_sample_tenant("brick")
