"""A grant is for the tool that was asked about, and counts while whoever gave it could approve that tool."""

from dataclasses import replace
from datetime import timedelta

import pytest

from local.database import OWNER_ROLE, Cluster, open_connection
from parlour.approvals import grants
from parlour.approvals.rows import Approval, Grant
from parlour.infra.errors import Forbidden
from parlour.infra.ids import uuid7
from parlour.infra.migrator import list_migrations
from parlour.principal import Principal
from parlour.tenancy.members import NewMember, add_member
from parlour.tenancy.roles import operator_principal
from parlour.tenancy.tenants import create_tenant
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.conversations.phone_link_steps import (
    enter_code,
    request_phone_code,
    start_phone_session,
    start_web_session,
)
from tests.integration.inbox import test_threads


@pytest.fixture
def asking(conversation: ConversationHarness) -> ApprovalHarness:
    """A desk with `page`, which asks the user, and `refund`, which asks an administrator."""
    made = ApprovalHarness(conversation)
    made.add_tool()
    conversation.add_tool("refund", made.run_tool, needs_approval='"always"', approver="admin")
    return made


def set_approver(asking: ApprovalHarness, approver: str, tool: str = "page") -> None:
    asking.conversation.query(f"UPDATE tools SET approver = '{approver}' WHERE name = '{tool}' RETURNING id")


def give(asking: ApprovalHarness, giver: Principal, approval: Approval) -> Grant:
    now = asking.conversation.clock()
    with asking.conversation.database.transaction(giver) as tx:
        return grants.grant(giver, tx, approval, now + timedelta(days=89), now)


def plant(asking: ApprovalHarness, approval: Approval, tool: str, granted_by: str) -> None:
    """A permission that is stored already, whoever let it in."""
    asking.conversation.query(
        "INSERT INTO approval_grants (tenant_id, id, user_id, binding_id, tool, granted_by, created_at, expires_at)"
        f" VALUES (current_tenant(), '{uuid7(asking.conversation.clock())}', '{approval.user_id}',"
        f" '{approval.binding_id}', '{tool}', '{granted_by}', now(), '2999-01-01') RETURNING id"
    )


def runs_unasked(asking: ApprovalHarness, tool: str = "page") -> bool:
    """The user writes again, and the model calls the tool; whether it ran without a question."""
    before, conversation = len(asking.runs), asking.conversation
    conversation.query("UPDATE inbox_threads SET state = 'agent' RETURNING session_id")
    conversation.send_whatsapp("Again.", str(uuid7(conversation.clock())))
    conversation.model.script = [tool_call(tool, message="again"), text_answer("Done.")]
    conversation.run_turn()
    return len(asking.runs) > before


def test_a_grant_is_for_the_tool_that_was_asked_about(asking: ApprovalHarness) -> None:
    approval = asking.ask_whatsapp()
    made = give(asking, asking.user_of(approval), approval)
    assert (made.tool, made.granted_by) == ("page", f"user:{approval.user_id}")
    assert runs_unasked(asking)
    assert not runs_unasked(asking, "refund")


def test_whoever_is_not_asked_gives_no_grant(asking: ApprovalHarness) -> None:
    approval = asking.ask_whatsapp()
    stranger = asking.conversation.create_visitor()
    for other in (stranger, asking.conversation.admin, replace(asking.user_of(approval), kind="member")):
        with pytest.raises(Forbidden):
            give(asking, other, approval)


@pytest.mark.parametrize("tool", ["refund", "r*", "*", "refun?", "REFUND", "\uff52efund"])
def test_a_stored_grant_of_a_user_never_runs_what_an_administrator_approves(asking: ApprovalHarness, tool: str) -> None:
    approval = asking.ask_whatsapp()
    plant(asking, approval, tool, f"user:{approval.user_id}")
    assert not runs_unasked(asking, "refund")


@pytest.mark.parametrize("tool", ["p*", "*", "PAGE", "page "])
def test_a_stored_grant_for_another_spelling_does_not_count(asking: ApprovalHarness, tool: str) -> None:
    approval = asking.ask_whatsapp()
    plant(asking, approval, tool, f"user:{approval.user_id}")
    assert not runs_unasked(asking)


def test_a_grant_of_a_user_ends_when_members_are_asked_and_holds_again_after(asking: ApprovalHarness) -> None:
    approval = asking.ask_whatsapp()
    give(asking, asking.user_of(approval), approval)
    for approver in ("viewer", "editor", "admin"):
        set_approver(asking, approver)
        assert not runs_unasked(asking)
    set_approver(asking, "user")
    assert runs_unasked(asking)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ("UPDATE members SET display_name = 'Asha R'", True),
        ("UPDATE members SET roles = '{admin}'", True),
        ("UPDATE members SET active = false", False),
        ("UPDATE members SET roles = '{viewer}'", False),
        ("UPDATE members SET roles = '{editor}'", False),
        ("UPDATE members SET clearance = 0", False),
        ("DELETE FROM members", False),
        ("UPDATE tools SET approver = 'admin' WHERE name = 'page'", False),
        ("UPDATE tools SET approver = 'user' WHERE name = 'page'", False),
        ("UPDATE tools SET approver = 'viewer' WHERE name = 'page'", True),
    ],
)
def test_a_grant_of_a_member_counts_while_they_could_approve(
    asking: ApprovalHarness, change: str, counts: bool
) -> None:
    set_approver(asking, "editor")
    approval = asking.ask_whatsapp()
    asha = test_threads.add_member(asking.conversation, "Asha")
    give(asking, asha, approval)
    assert runs_unasked(asking)
    asking.conversation.query(f"{change} RETURNING 1")
    assert runs_unasked(asking) is counts


@pytest.mark.parametrize(
    "ended", ["revoked_at = now()", "expires_at = '2020-01-01'", "roles = '{viewer}'", "clearance = 0"]
)
def test_a_grant_of_a_key_ends_with_the_key(asking: ApprovalHarness, ended: str) -> None:
    set_approver(asking, "editor")
    approval, key = asking.ask_whatsapp(), uuid7(asking.conversation.clock())
    asking.conversation.query(
        "INSERT INTO api_keys (tenant_id, id, name, secret_hash, roles, clearance, created_at) VALUES"
        f" (current_tenant(), '{key}', 'desk', 'x', '{{viewer,editor}}', 3, now()) RETURNING id"
    )
    holder = Principal(asking.conversation.tenant_id, "key", key, frozenset({"viewer", "editor"}), 3)
    give(asking, holder, approval)
    assert runs_unasked(asking)
    asking.conversation.query(f"UPDATE api_keys SET {ended} RETURNING id")
    assert not runs_unasked(asking)


@pytest.mark.parametrize("label", ["", "ops@example.org"])
def test_a_grant_of_an_operator_counts(asking: ApprovalHarness, label: str) -> None:
    operator = operator_principal(asking.conversation.tenant_id, label)
    set_approver(asking, "admin")
    approval = asking.ask_whatsapp()
    give(asking, operator, approval)
    assert runs_unasked(asking)


def test_a_member_of_another_tenant_gives_no_grant(asking: ApprovalHarness) -> None:
    set_approver(asking, "editor")
    approval, desk = asking.ask_whatsapp(), asking.conversation
    other = operator_principal(uuid7(desk.clock()))
    with desk.database.transaction(other) as tx:
        create_tenant(other, tx, slug="brick", display_name="Brick", settings={}, now=desk.clock())
        new = NewMember("https://id.example.org", "asha", "Asha", ["viewer", "editor"], 3)
        asha = add_member(other, tx, new, desk.clock())
    plant(asking, approval, "page", f"member:{asha.id}")
    assert not runs_unasked(asking)


def test_after_a_phone_was_linked_the_grant_is_its_users(asking: ApprovalHarness) -> None:
    conversation = asking.conversation
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    approval = asking.ask_web(visitor)
    give(asking, visitor, approval)
    joined = enter_code(conversation, visitor, request_phone_code(conversation, visitor, session).link_id)
    found = conversation.query("SELECT user_id, granted_by FROM approval_grants")
    assert found == [(joined.user_id, f"user:{joined.user_id}")]
    assert runs_unasked(asking)


def test_the_upgrade_ends_grants_for_several_tools(
    asking: ApprovalHarness, cluster: Cluster, database_name: str
) -> None:
    approval = asking.ask_whatsapp()
    for tool in ("page", "p*", "*"):
        plant(asking, approval, tool, f"user:{approval.user_id}")
    (upgrade,) = (one for one in list_migrations() if one.name.endswith("_exact_grants"))
    with open_connection(cluster.connection_parameters(database_name, OWNER_ROLE)) as owner:
        owner.execute(upgrade.sql.encode())
    assert asking.conversation.query("SELECT tool FROM approval_grants") == [("page",)]
