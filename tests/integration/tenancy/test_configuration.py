"""Tenants, routes, bindings, versions and the audit trail."""

from datetime import datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from parlour.infra.errors import Conflict, Forbidden, InvalidRequest
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.tenancy import audit, bindings, config_versions, roles, routing_keys, tenants
from tests.integration.config_versions import history
from tests.integration.tenancy.conftest import SampleTenant, add_binding, execute_sql


def test_a_new_tenant_is_found_by_its_slug(database: Database, acme: SampleTenant, brick: SampleTenant) -> None:
    tenant = tenants.find_tenant_by_slug(database, "acme")
    assert tenant is not None
    assert (tenant.tenant_id, tenant.status, tenant.version) == (acme.tenant_id, "active", 1)


def test_any_other_text_finds_none(database: Database, acme: SampleTenant) -> None:
    for slug in ("nobody", "", "ACME", "acme\x00", "a\ud800", "'; DROP TABLE tenants; --"):
        assert tenants.find_tenant_by_slug(database, slug) is None


def test_making_a_tenant_is_recorded(database: Database, acme: SampleTenant) -> None:
    with database.transaction(acme.operator) as tx:
        assert [version.version for version in history(tx, acme.tenant_id)] == [1]
        acts = [(entry.actor, entry.action) for entry in audit.list_entries(acme.operator, tx, 10).rows]
    assert acts == [("operator", "tenant.created")]


def test_a_slug_is_taken_once(database: Database, acme: SampleTenant, now: datetime) -> None:
    late = roles.operator_principal(uuid7(now))
    with pytest.raises(Conflict, match="tenant:acme"), database.transaction(late) as tx:
        tenants.create_tenant(late, tx, slug="acme", display_name="Acme", settings={}, now=now)
    with database.transaction(late) as tx:
        assert tenants.find_own_tenant(tx) is None


def test_an_id_is_taken_once(database: Database, acme: SampleTenant, now: datetime) -> None:
    with pytest.raises(Conflict), database.transaction(acme.operator) as tx:
        tenants.create_tenant(acme.operator, tx, slug="other", display_name="O", settings={}, now=now)


def test_only_the_operator_makes_tenants(database: Database, now: datetime) -> None:
    somebody = Principal(uuid7(now), "member", uuid7(now), frozenset({"admin"}), clearance=3)
    with pytest.raises(Forbidden), database.transaction(somebody) as tx:
        tenants.create_tenant(somebody, tx, slug="new", display_name="New", settings={}, now=now)


def test_a_tenant_needs_a_proper_name(database: Database, now: datetime) -> None:
    somebody = roles.operator_principal(uuid7(now))
    for slug, name in (("New", "New"), ("", "New"), ("new", ""), ("new", "a\x00")):
        with pytest.raises(InvalidRequest), database.transaction(somebody) as tx:
            tenants.create_tenant(somebody, tx, slug=slug, display_name=name, settings={}, now=now)


def test_a_changed_tenant_gets_a_version_and_an_unchanged_one_none(
    database: Database, acme: SampleTenant, now: datetime
) -> None:
    with database.transaction(acme.admin) as tx:
        for expected in (True, False):
            changed = tenants.update_tenant(acme.admin, tx, display_name="Acme", settings={"locale": "en-IN"}, now=now)
            assert changed is expected
        kept = history(tx, acme.tenant_id)
    assert [(version.version, version.created_by) for version in kept] == [(2, acme.admin.name), (1, "operator")]
    assert kept[0].config["settings"] == {"locale": "en-IN"}


def test_a_tenant_is_paused_and_opened_again(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.admin) as tx:
        first, second = now + timedelta(hours=1), now + timedelta(hours=2)
        assert tenants.set_tenant_status(acme.admin, tx, "paused", first).status == "paused"
        assert tenants.set_tenant_status(acme.admin, tx, "active", second).status == "active"
        acts = audit.list_entries(acme.admin, tx, 2).rows
    assert [(entry.action, entry.details) for entry in acts] == [
        ("tenant.active", {"from": "paused"}),
        ("tenant.paused", {"from": "active"}),
    ]


def test_only_the_operator_archives_and_brings_back(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.tenant_id) as tx:
        with pytest.raises(Forbidden):
            tenants.set_tenant_status(acme.admin, tx, "archived", now)
        tenants.set_tenant_status(acme.operator, tx, "archived", now)
        with pytest.raises(Forbidden):
            tenants.set_tenant_status(acme.admin, tx, "active", now)
        assert tenants.set_tenant_status(acme.operator, tx, "active", now).status == "active"


def test_a_viewer_changes_no_status(database: Database, acme: SampleTenant, now: datetime) -> None:
    viewer = Principal(acme.tenant_id, "member", UUID(int=2), frozenset({"viewer"}))
    with pytest.raises(Forbidden), database.transaction(viewer) as tx:
        tenants.set_tenant_status(viewer, tx, "paused", now)


def test_a_route_is_found_with_and_without_a_tenant(
    database: Database, acme: SampleTenant, brick: SampleTenant
) -> None:
    for tenant_id in (None, acme.tenant_id, brick.tenant_id):
        with database.transaction(tenant_id) as tx:
            route = routing_keys.find_routing_key(tx, "gupshup:acme")
            assert routing_keys.find_routing_key(tx, "gupshup:nobody") is None
            assert routing_keys.find_routing_key(tx, "gupshup:a\x00") is None
        assert route == routing_keys.RoutingKey("gupshup:acme", acme.tenant_id, acme.binding_id)


def test_a_key_of_another_tenant_cannot_be_claimed(database: Database, acme: SampleTenant, brick: SampleTenant) -> None:
    for key in ("gupshup:acme", "tenant:acme", "web:acme.example.com"):
        with pytest.raises(Conflict, match=key), database.transaction(brick.tenant_id) as tx:
            routing_keys.claim_key(tx, key, brick.binding_id)
    with database.transaction(None) as tx:
        route = routing_keys.find_routing_key(tx, "gupshup:acme")
    assert route is not None
    assert route.tenant_id == acme.tenant_id


def test_claiming_again_points_the_key_elsewhere_in_the_tenant(
    database: Database, acme: SampleTenant, now: datetime
) -> None:
    second = uuid7(now)
    with database.transaction(acme.tenant_id) as tx:
        add_binding(tx, "office-adviser", acme.tier_ids, second, now)
        routing_keys.claim_key(tx, "gupshup:acme", second)
        route = routing_keys.find_routing_key(tx, "gupshup:acme")
    assert route is not None
    assert route.binding_id == second


def test_a_text_that_cannot_be_a_key_is_refused(database: Database, acme: SampleTenant) -> None:
    for key in ("gupshup:a\x00", "gupshup:" + "a" * 300, "web:\ud800", ""):
        with pytest.raises(InvalidRequest), database.transaction(acme.tenant_id) as tx:
            routing_keys.claim_key(tx, key, acme.binding_id)


def test_releasing_keeps_what_is_kept_and_the_tenants_own_key(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    with database.transaction(acme.tenant_id) as tx:
        assert routing_keys.release_keys_except(tx, ["gupshup:acme"], now) == ["web:acme.example.com"]
        assert [route.key for route in routing_keys.list_own_keys(tx)] == ["gupshup:acme", "tenant:acme"]
        assert routing_keys.release_keys_except(tx, [], now) == ["gupshup:acme"]
    with database.transaction(brick.tenant_id) as tx:
        assert [route.key for route in routing_keys.list_own_keys(tx)] == [
            "gupshup:brick",
            "tenant:brick",
            "web:brick.example.com",
        ]


STEAL = (
    "UPDATE routing_keys SET binding_id = NULL WHERE key = 'gupshup:acme'",
    "UPDATE routing_keys SET tenant_id = current_tenant(), binding_id = NULL WHERE key = 'gupshup:acme'",
    "DELETE FROM routing_keys WHERE key = 'gupshup:acme'",
)


def test_the_database_itself_lets_nobody_write_anothers_route(
    database: Database, acme: SampleTenant, brick: SampleTenant
) -> None:
    for statement in STEAL:
        with database.transaction(brick.tenant_id) as tx:
            assert execute_sql(tx, statement) == 0
    with database.transaction(acme.tenant_id) as tx:
        assert [route.binding_id for route in routing_keys.list_own_keys(tx)] == [
            acme.binding_id,
            None,
            acme.binding_id,
        ]
        assert [execute_sql(tx, statement) for statement in STEAL] == [1, 1, 1]


def test_the_database_lets_nobody_make_a_route_to_another(
    database: Database, acme: SampleTenant, brick: SampleTenant
) -> None:
    insert = "INSERT INTO routing_keys (key, tenant_id) VALUES ('web:new.example.com', %(tenant)s)"
    with pytest.raises(psycopg.errors.InsufficientPrivilege), database.transaction(brick.tenant_id) as tx:
        execute_sql(tx, insert, tenant=acme.tenant_id)


def test_a_route_goes_with_its_binding(database: Database, acme: SampleTenant) -> None:
    with database.transaction(acme.tenant_id) as tx:
        execute_sql(tx, "DELETE FROM bindings")
        assert [route.key for route in routing_keys.list_own_keys(tx)] == ["tenant:acme"]


def test_a_persona_is_loaded_whole(database: Database, acme: SampleTenant, brick: SampleTenant) -> None:
    with database.transaction(acme.tenant_id) as tx:
        persona = bindings.load_persona(tx, acme.binding_id)
    assert persona is not None
    assert (persona.tenant.slug, persona.tenant.status) == ("acme", "active")
    assert persona.tenant == tenants.find_tenant_by_slug(database, "acme")
    assert (persona.binding.greeting, persona.binding.clearance) == ("Namaste", 1)
    assert (persona.human.languages, persona.human.voice) == (("en", "hi"), {"tone": "calm"})
    assert persona.human.guardrails == ("Never promise a date.",)
    assert persona.team.sops == ({"name": "Delay"},)
    assert (persona.agent.tools, persona.agent.max_tool_iterations) == (("search_knowledge",), 4)
    assert persona.versions == {"tenant": 1, "binding": 1, "human": 1, "team": 3, "agent": 1}


def test_a_binding_reads_the_same_alone_and_in_its_persona(database: Database, acme: SampleTenant) -> None:
    with database.transaction(acme.tenant_id) as tx:
        persona = bindings.load_persona(tx, acme.binding_id)
        assert persona is not None
        assert bindings.find_binding(tx, acme.binding_id) == persona.binding
        assert bindings.find_binding_by_slug(tx, "site-adviser") == persona.binding
        assert bindings.list_active_bindings(tx) == [persona.binding]
        assert bindings.find_binding_by_slug(tx, "a\x00") is None


def test_a_binding_that_is_off_is_not_listed_but_still_loads(database: Database, acme: SampleTenant) -> None:
    with database.transaction(acme.tenant_id) as tx:
        execute_sql(tx, "UPDATE bindings SET is_active = false")
        assert bindings.list_active_bindings(tx) == []
        persona = bindings.load_persona(tx, acme.binding_id)
    assert persona is not None
    assert not persona.binding.is_open_to_visitors


def test_visitors_enter_by_public_doors_on_the_web(database: Database, acme: SampleTenant) -> None:
    seen = {}
    with database.transaction(acme.tenant_id) as tx:
        for change in ("door = 'public'", "door = 'private'", "door = 'public', channels = '{\"whatsapp\": {}}'"):
            execute_sql(tx, f"UPDATE bindings SET {change}")
            binding = bindings.find_binding(tx, acme.binding_id)
            seen[change] = binding and binding.is_open_to_visitors
    assert list(seen.values()) == [True, False, False]


def test_a_version_is_written_once(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.operator) as tx:
        config_versions.record_version(acme.operator, tx, "human", acme.tier_ids["human"], 1, {"slug": "meera"}, now)
        with pytest.raises(Conflict, match="version 1"):
            config_versions.record_version(acme.operator, tx, "human", acme.tier_ids["human"], 1, {"slug": "m"}, now)
        assert [version.config for version in history(tx, acme.tier_ids["human"])] == [{"slug": "meera"}]


def test_the_past_is_not_rewritten(database: Database, acme: SampleTenant) -> None:
    for table in ("config_versions", "audit_log"):
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET id = id"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), database.transaction(acme.tenant_id) as tx:
                execute_sql(tx, statement)


def test_the_audit_trail_is_read_backwards_without_gaps(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.operator) as tx:
        for number in range(7):
            at = now + timedelta(seconds=number // 3)
            audit.add_entry(acme.operator, tx, "test.done", f"test:{number}", {"number": number}, at)
        page = audit.list_entries(acme.operator, tx, 2)
        pages = [*page.rows]
        while page.next_cursor:
            page = audit.list_entries(acme.operator, tx, 2, page.next_cursor)
            pages.extend(page.rows)
    assert len(pages) == 8
    assert len({entry.id for entry in pages}) == 8
    assert [entry.at for entry in pages] == sorted((entry.at for entry in pages), reverse=True)


def test_a_visitor_reads_no_audit_trail(database: Database, acme: SampleTenant) -> None:
    visitor = Principal(acme.tenant_id, "user", UUID(int=5))
    with pytest.raises(Forbidden), database.transaction(visitor) as tx:
        audit.list_entries(visitor, tx, 10)
