"""Keys and members: made, changed, ended, and recorded."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.tenancy import api_keys, audit, members
from tests.integration.tenancy.conftest import SampleTenant, execute_sql

ISSUER = "https://id.example.com"


def test_a_key_is_shown_once_and_kept_as_a_hash(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.admin) as tx:
        created = api_keys.create_key(acme.admin, tx, api_keys.NewApiKey(" Import ", ["viewer"], 2), now)
        assert api_keys.list_keys(acme.admin, tx).rows == [created.key]
        presented = api_keys.parse_key(created.text)
        assert presented is not None
        stored = "SELECT FROM api_keys WHERE secret_hash = sha256(%(secret)s)"
        assert execute_sql(tx, stored, secret=presented.secret) == 1
    assert created.key == api_keys.ApiKey(created.key.id, "Import", ["viewer"], 2, now, None, None, None, [])
    assert (presented.tenant_id, presented.key_id) == (acme.tenant_id, created.key.id)


def test_two_keys_differ(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.admin) as tx:
        texts = {api_keys.create_key(acme.admin, tx, api_keys.NewApiKey("k", [], 0), now).text[-64:] for _ in range(3)}
    assert len(texts) == 3


def test_a_key_is_revoked_once(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.admin) as tx:
        key = api_keys.create_key(acme.admin, tx, api_keys.NewApiKey("k", [], 0), now).key
        later = now + timedelta(hours=1)
        assert api_keys.revoke_key(acme.admin, tx, key.id, later).revoked_at == later
        assert api_keys.revoke_key(acme.admin, tx, key.id, later + timedelta(hours=1)).revoked_at == later
        actions = [entry.action for entry in audit.list_entries(acme.admin, tx, 10).rows]
    assert sorted(actions) == ["key.created", "key.revoked", "tenant.created"]


def test_the_audit_trail_knows_the_key_but_not_its_secret(
    database: Database, acme: SampleTenant, now: datetime
) -> None:
    with database.transaction(acme.admin) as tx:
        created = api_keys.create_key(acme.admin, tx, api_keys.NewApiKey("k", ["viewer"], 1), now)
        entry = next(entry for entry in audit.list_entries(acme.admin, tx, 10).rows if entry.action == "key.created")
    assert entry.target == f"key:{created.key.id}"
    assert entry.actor == acme.admin.name
    assert entry.details == {"roles": ["viewer"], "clearance": 1, "scopes": []}


def test_a_key_of_another_tenant_is_not_there(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    with database.transaction(acme.admin) as tx:
        key = api_keys.create_key(acme.admin, tx, api_keys.NewApiKey("k", [], 0), now).key
    with database.transaction(brick.admin) as tx:
        assert api_keys.list_keys(brick.admin, tx).rows == []
        with pytest.raises(NotFound):
            api_keys.revoke_key(brick.admin, tx, key.id, now)


def test_a_member_is_added_once(database: Database, acme: SampleTenant, now: datetime) -> None:
    with database.transaction(acme.admin) as tx:
        member = members.add_member(
            acme.admin,
            tx,
            members.NewMember(
                issuer=ISSUER, subject="asha", display_name="Asha", roles=["viewer", "viewer"], clearance=1
            ),
            now=now,
        )
        assert member == members.Member(member.id, ISSUER, "asha", "Asha", ["viewer"], 1, True, now, None)
        assert members.list_members(acme.admin, tx).rows == [member]
        with pytest.raises(Conflict):
            members.add_member(
                acme.admin,
                tx,
                members.NewMember(issuer=ISSUER, subject="asha", display_name="A", roles=[], clearance=0),
                now=now,
            )


def test_a_member_of_more_clearance_is_changed_by_nobody_of_less(
    database: Database, acme: SampleTenant, now: datetime
) -> None:
    lower = replace(acme.admin, clearance=1)
    with database.transaction(acme.admin) as tx:
        new = members.NewMember(issuer=ISSUER, subject="asha", display_name="Asha", roles=["admin"], clearance=2)
        member = members.add_member(acme.admin, tx, new, now=now)
        with pytest.raises(NotFound, match="at most your clearance"):
            members.update_member(lower, tx, member.id, members.MemberChange(["viewer"], 0, active=True), now)
        assert members.list_members(acme.admin, tx).rows == [member]
        equal = replace(acme.admin, clearance=2)
        assert (
            members.update_member(equal, tx, member.id, members.MemberChange(["viewer"], 1, active=True), now).clearance
            == 1
        )


def test_a_member_is_changed_and_that_is_recorded(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    with database.transaction(acme.admin) as tx:
        member = members.add_member(
            acme.admin,
            tx,
            members.NewMember(issuer=ISSUER, subject="asha", display_name="Asha", roles=[], clearance=1),
            now=now,
        )
        changed = members.update_member(
            acme.admin, tx, member.id, members.MemberChange(["admin"], 2, active=False), now
        )
        entry = next(entry for entry in audit.list_entries(acme.admin, tx, 10).rows if entry.action == "member.changed")
    assert (changed.roles, changed.clearance, changed.active) == (["admin"], 2, False)
    assert entry.details == {"roles": ["admin"], "clearance": 2, "active": False}
    with database.transaction(brick.admin) as tx, pytest.raises(NotFound):
        members.update_member(brick.admin, tx, member.id, members.MemberChange([], 0, active=True), now)


BAD_FIELDS: dict[str, Any] = {
    "issuer": "",
    "subject": "a\x00",
    "display_name": "\ud800",
    "roles": ["owner"],
    "clearance": 9,
}


def test_a_member_needs_proper_fields(database: Database, acme: SampleTenant, now: datetime) -> None:
    good: dict[str, Any] = {"issuer": ISSUER, "subject": "s", "display_name": "S", "roles": [], "clearance": 0}
    for field, value in BAD_FIELDS.items():
        with pytest.raises(InvalidRequest, match=field), database.transaction(acme.admin) as tx:
            members.add_member(acme.admin, tx, members.NewMember(**{**good, field: value}), now)
    with database.transaction(acme.admin) as tx:
        assert members.add_member(acme.admin, tx, members.NewMember(**good), now).subject == "s"


def test_without_the_role_nothing_is_granted_or_listed(database: Database, acme: SampleTenant, now: datetime) -> None:
    viewer = Principal(acme.tenant_id, "member", UUID(int=2), frozenset({"viewer"}), clearance=3)
    with database.transaction(viewer) as tx:
        for act in (
            lambda: api_keys.create_key(viewer, tx, api_keys.NewApiKey("k", [], 0), now),
            lambda: api_keys.revoke_key(viewer, tx, UUID(int=1), now),
            lambda: api_keys.list_keys(viewer, tx),
            lambda: members.list_members(viewer, tx),
            lambda: members.update_member(viewer, tx, UUID(int=1), members.MemberChange([], 0, active=True), now),
        ):
            with pytest.raises(Forbidden):
                act()


def test_nobody_makes_a_key_that_sees_more_than_they_do(database: Database, acme: SampleTenant, now: datetime) -> None:
    with pytest.raises(Forbidden), database.transaction(acme.admin) as tx:
        api_keys.create_key(acme.admin, tx, api_keys.NewApiKey("k", [], 3), now)
