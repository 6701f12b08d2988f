"""`parlour approvals`, against the real API."""

import json
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.queries import Query
from tests.integration.api.attention_items import ARGUMENTS, AttentionItems
from tests.integration.api.conftest import EventFeed
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

type Output = pytest.CaptureFixture[str]

_APPROVAL = """
INSERT INTO approvals (tenant_id, id, session_id, binding_id, user_id, tool_call_id, approver, tool, arguments,
                       question, options, channel, bound, bound_hash, state, created_at, posted_at, expires_at)
SELECT current_tenant(), %(id)s, s.id, s.binding_id, s.user_id, %(call_id)s, %(approver)s, 'book_crane', %(arguments)s,
       'Book crane: TC-2 for 4 hours', '{approve,refuse}', 'web', '{}', '', 'asked', %(now)s, %(now)s,
       %(now)s::timestamptz + interval '1 day'
  FROM sessions s WHERE s.id = %(session_id)s
"""


def add_approval(feed: EventFeed, approver: str = "admin") -> UUID:
    """Ask about a call of a tool that was deleted since."""
    call_id = AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now).add_tool_call("failed")
    approval_id = uuid7(feed.now)
    with feed.database.transaction(feed.tenant_id) as tx:
        tx.run(
            Query("test.approval", "", _APPROVAL),
            id=approval_id,
            call_id=call_id,
            approver=approver,
            session_id=feed.session_id,
            arguments=ARGUMENTS,
            now=feed.now,
        )
    return approval_id


def test_without_questions_that_is_said(parlour: RunCommand, acme: str, capsys: Output) -> None:
    assert parlour("approvals", "list") == 0
    assert capsys.readouterr().out == "Nothing waits for an answer\n"


def test_open_questions_are_listed_and_shown(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    approval_id = add_approval(feed)
    assert parlour("approvals", "list") == 0
    listed = capsys.readouterr().out
    assert "Book crane: TC-2 for 4 hours" in listed
    assert str(approval_id) in listed
    assert parlour("approvals", "show", str(approval_id)[-8:]) == 0
    shown = capsys.readouterr().out
    assert "The question is open." in shown
    assert str(feed.session_id) in shown
    assert parlour("approvals", "list", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["raw_arguments"] == ARGUMENTS


def test_a_no_is_taken_once_with_its_reason(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    approval_id = add_approval(feed)
    assert parlour("approvals", "no", str(approval_id), "--reason", "Not this week") == 0
    assert "Refused" in capsys.readouterr().out
    assert parlour("approvals", "no", str(approval_id)) == 1
    assert "was refused at" in capsys.readouterr().err
    assert parlour("approvals", "show", str(approval_id)) == 0
    assert "Not this week" in capsys.readouterr().out


def test_a_yes_after_the_tool_was_deleted_says_so(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    approval_id = add_approval(feed)
    assert parlour("approvals", "yes", str(approval_id), "--always-days", "7") == 1
    assert "The tool does not exist any more" in capsys.readouterr().err


def test_a_question_to_the_user_is_not_answered_by_others(parlour: RunCommand, feed: EventFeed, capsys: Output) -> None:
    approval_id = add_approval(feed, "user")
    assert parlour("approvals", "yes", str(approval_id)) == 1
    assert "the user of the conversation is asked" in capsys.readouterr().err
