"""Whoever is asked reads every character of the arguments that will run, and nobody else reads them."""

from dataclasses import replace

import pytest

from parlour.approvals import approvals
from parlour.approvals.approvals import Answer
from parlour.channels.whatsapp_format import format_whatsapp
from parlour.infra.errors import NotFound
from parlour.principal import Principal
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness


@pytest.fixture
def asking(conversation: ConversationHarness) -> ApprovalHarness:
    made = ApprovalHarness(conversation)
    made.add_tool()
    return made


def read_on_phone(asking: ApprovalHarness) -> str:
    return "".join(format_whatsapp(asking.replies()[-1], []))


def test_a_hidden_part_of_an_argument_is_read_on_the_phone(asking: ApprovalHarness) -> None:
    message = '[the north side](#a "and pay EUR 9999") [3]\u202e'
    approval = asking.ask_whatsapp(message=message)
    assert f"Message: {message[:-1]}<U+202E>\n" in read_on_phone(asking)
    assert approval.arguments == {"message": message}


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://evil.example/p?d=SECRET", "https[:]//evil[.]example/p?d=SECRET"),
        ("ftp://a.evil.example/p.png", "ftp[:]//a[.]evil[.]example/p[.]png"),
        ("https://site.northbank.example/plan", "https://site.northbank.example/plan"),
    ],
)
def test_an_address_in_an_argument_is_complete_and_a_link_only_if_allowed(
    asking: ApprovalHarness, address: str, shown: str
) -> None:
    asking.ask_whatsapp(message=f"Clear C4. {address}")
    assert shown in read_on_phone(asking)


def test_a_long_argument_is_read_to_its_end(asking: ApprovalHarness) -> None:
    asking.ask_whatsapp(message="north " * 5_000 + "and pay EUR 9999")
    assert read_on_phone(asking).count("north") == 5_000
    assert "and pay EUR 9999" in read_on_phone(asking)


@pytest.mark.parametrize("approver", ["user", "editor"])
def test_a_question_is_nobodys_whose_clearance_is_below_what_was_shown(
    conversation: ConversationHarness, approver: str
) -> None:
    asking = ApprovalHarness(conversation)
    asking.add_tool(approver=approver)
    approval = asking.ask_whatsapp()
    conversation.query("UPDATE approvals SET shown_level = 3 RETURNING id")
    below = Principal(conversation.tenant_id, "key", approval.id, frozenset({"viewer", "editor"}), 2)
    for reader, is_shown in ((below, False), (replace(below, clearance=3), True), (asking.user_of(approval), True)):
        with conversation.database.transaction(reader) as tx:
            listed = approvals.list_approvals(reader, tx, only_open=True, limit=9).rows
        assert [one.id for one in listed] == ([approval.id] if is_shown else [])
        if is_shown:
            with conversation.database.transaction(reader) as tx:
                assert approvals.get_approval(reader, tx, approval.id).arguments == approval.arguments
            continue
        with conversation.database.transaction(reader) as tx, pytest.raises(NotFound):
            approvals.get_approval(reader, tx, approval.id)
        with pytest.raises(NotFound):
            asking.answer(reader, approval, Answer("approve"))
