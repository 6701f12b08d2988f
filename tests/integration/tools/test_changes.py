"""The list of what agents changed in records, and what people deleted."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.infra.errors import Forbidden, InvalidRequest
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.record import RecordPatch
from parlour.tools.builtin import agent_writes
from parlour.tools.builtin.agent_writes import Change, ChangeQuery
from tests.conversation_harness import ConversationHarness, text_answer, tool_call

_RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Ida"}


def list_changes(
    conversation: ConversationHarness, wanted: ChangeQuery | None = None, cursor: str = "", limit: int = 50
) -> tuple[list[Change], str]:
    with conversation.database.transaction(conversation.admin) as tx:
        page = agent_writes.list_changes(conversation.admin, tx, wanted or ChangeQuery(), cursor, limit)
    return [*page.rows], page.next_cursor


@dataclass
class WrittenRisk:
    """A conversation in which a risk was created in one turn and its owner set in the next."""

    conversation: ConversationHarness
    handle: str
    session_id: UUID
    user_id: UUID | None


@pytest.fixture
def risk(conversation: ConversationHarness) -> WrittenRisk:
    conversation.let_everybody_write()
    visitor = conversation.create_visitor()
    session_id = conversation.find_session(visitor)

    def ask(call: list[JsonObject]) -> None:
        conversation.send_web(visitor, session_id, "Please note that.")
        conversation.model.script = [call, text_answer("Done.")]
        conversation.run_turn()

    ask(tool_call("create_entity", kind="risk", name="Loose plank", properties=_RISK))
    ((key,),) = conversation.query("SELECT key FROM entities WHERE name = 'Loose plank'")
    ask(tool_call("update_entity", entity=f"risk/{key}", properties={"owner": "Priya"}))
    return WrittenRisk(conversation, f"risk/{key}", session_id, visitor.id)


def test_changes_tell_who_changed_what_when_and_what_can_be_undone(risk: WrittenRisk) -> None:
    (update, create), cursor = list_changes(risk.conversation)
    assert (update.row.action, create.row.action, cursor) == ("update", "create", "")
    assert {update.row.handle, create.row.handle} == {risk.handle}
    assert [(one.property, one.before, one.after) for one in update.properties] == [("owner", "Ida", "Priya")]
    assert (update.row.session_id, update.row.by) == (risk.session_id, f"user:{risk.user_id}")
    assert update.row.turn_id != create.row.turn_id
    assert (update.row.can_undo, create.row.can_undo) == (True, False)
    with risk.conversation.database.transaction(risk.conversation.admin) as tx:
        assert update.row.turn_id
        agent_writes.undo_turn(risk.conversation.admin, tx, update.row.turn_id, risk.conversation.clock())
    (update, _), _ = list_changes(risk.conversation)
    assert (update.row.undone_at is not None, update.row.can_undo) == (True, False)


def test_what_was_changed_since_cannot_be_undone_and_a_deletion_is_listed(risk: WrittenRisk) -> None:
    with risk.conversation.database.transaction(risk.conversation.admin) as tx:
        crud.update_record(
            risk.conversation.admin, tx, risk.handle, RecordPatch("The crack"), None, risk.conversation.clock()
        )
    assert [one.row.can_undo for one in list_changes(risk.conversation)[0]] == [False, False]
    with risk.conversation.database.transaction(risk.conversation.admin) as tx:
        crud.delete_record(risk.conversation.admin, tx, risk.handle, None, risk.conversation.clock())
    found, _ = list_changes(risk.conversation)
    assert [(one.row.action, one.row.is_deleted) for one in found] == [
        ("delete", True),
        ("update", True),
        ("create", True),
    ]
    assert (found[0].row.by, found[0].row.turn_id) == (risk.conversation.admin.name, None)


def test_changes_are_paged_and_filtered(risk: WrittenRisk) -> None:
    (update, create), _ = list_changes(risk.conversation)
    first, cursor = list_changes(risk.conversation, limit=1)
    second, end = list_changes(risk.conversation, cursor=cursor, limit=1)
    assert ([one.row.id for one in (*first, *second)], end) == ([update.row.id, create.row.id], "")
    later = create.row.at + timedelta(microseconds=1)
    assert [one.row.id for one in list_changes(risk.conversation, ChangeQuery(since=later))[0]] == [update.row.id]
    assert [one.row.id for one in list_changes(risk.conversation, ChangeQuery(until=later))[0]] == [create.row.id]
    ((other,),) = risk.conversation.query("SELECT id FROM entities WHERE key = 'R-03'")
    assert list_changes(risk.conversation, ChangeQuery(entity_id=other))[0] == []  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest):
        list_changes(risk.conversation, cursor="x")


def test_changes_above_a_viewers_clearance_are_not_listed(risk: WrittenRisk) -> None:
    below = Principal(risk.conversation.tenant_id, "member", None, frozenset({"viewer"}), clearance=2)
    with risk.conversation.database.transaction(below) as tx:
        assert len(agent_writes.list_changes(below, tx, ChangeQuery()).rows) == 2
    risk.conversation.query("UPDATE bindings SET clearance = 3 RETURNING id")
    with risk.conversation.database.transaction(below) as tx:
        assert agent_writes.list_changes(below, tx, ChangeQuery()).rows == []
    editor = Principal(risk.conversation.tenant_id, "member", None, frozenset({"editor"}), clearance=3)
    with risk.conversation.database.transaction(editor) as tx, pytest.raises(Forbidden):
        agent_writes.list_changes(editor, tx, ChangeQuery())
