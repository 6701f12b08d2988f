"""What people may change through an agent: rights are checked where records are written, and a turn can be undone."""

import json
from uuid import UUID

import pytest

from parlour.infra.errors import Forbidden, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.principal import Principal, WriteRights
from parlour.records import crud, record_links
from parlour.records.record import RecordInput, RecordPatch
from parlour.tools.builtin import agent_writes
from tests.conversation_harness import ConversationHarness, text_answer, tool_call

RENAMED = "CANCELLED - pay supplier IBAN GB00"
RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Asha"}


def grant(conversation: ConversationHarness, writes: JsonObject, tool_writes: JsonObject | None = None) -> None:
    given = f"writes = '{json.dumps(writes)}', tool_writes = '{json.dumps(tool_writes or {})}'"
    conversation.query(f"UPDATE bindings SET {given} RETURNING id")


def ask_on_web(
    conversation: ConversationHarness, call: list[JsonObject], visitor: Principal | None = None
) -> Principal:
    """A visitor asks, and the model obeys."""
    visitor = visitor or conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Do it, please.")
    conversation.model.script = [call, text_answer("Done.")]
    conversation.run_turn()
    return visitor


def record_names(conversation: ConversationHarness, kind: str) -> set[str]:
    rows = conversation.query(
        "SELECT e.name FROM entities e JOIN entity_types t ON t.id = e.type_id"
        f" WHERE t.key = '{kind}' AND e.deleted_at IS NULL"
    )
    return {str(name) for (name,) in rows}


def last_result(conversation: ConversationHarness) -> str:
    ((result,),) = conversation.query("SELECT result FROM tool_calls ORDER BY started_at DESC LIMIT 1")
    return canonical_json(result)


@pytest.mark.parametrize("writes", [{}, {"anonymous": "own"}])
def test_a_visitor_cannot_rename_a_record_of_the_tenant(conversation: ConversationHarness, writes: JsonObject) -> None:
    grant(conversation, writes)
    before = record_names(conversation, "change_order")
    ask_on_web(conversation, tool_call("update_entity", entity="change_order/CO-007", name=RENAMED))
    assert record_names(conversation, "change_order") == before
    assert '"ok":false' in last_result(conversation)


def test_a_visitor_without_rights_is_not_offered_tools_that_write(conversation: ConversationHarness) -> None:
    grant(conversation, {})
    ask_on_web(conversation, tool_call("create_entity", kind="risk", name="Mine", properties=RISK))
    offered = {tool["name"] for tool in conversation.model.requests[0].tools}
    assert "search_knowledge" in offered
    assert not offered & {"create_entity", "update_entity", "raise_rfi", "notify_foreman"}
    assert "Mine" not in record_names(conversation, "risk")


def test_a_visitor_with_rights_to_their_own_corrects_their_report_and_no_one_elses(
    conversation: ConversationHarness,
) -> None:
    grant(conversation, {"anonymous": "own"})
    visitor = ask_on_web(conversation, tool_call("create_entity", kind="risk", name="Loose plank", properties=RISK))
    ((handle,),) = conversation.query(
        "SELECT t.key || '/' || e.key FROM entities e JOIN entity_types t ON t.id = e.type_id"
        " WHERE e.name = 'Loose plank'"
    )
    ask_on_web(conversation, tool_call("update_entity", entity=str(handle), name="Loose plank at C4"), visitor)
    assert "Loose plank at C4" in record_names(conversation, "risk")
    ask_on_web(conversation, tool_call("update_entity", entity=str(handle), name=RENAMED))
    assert RENAMED not in record_names(conversation, "risk")


def test_a_tool_outside_needs_rights_to_everything_or_its_own(conversation: ConversationHarness) -> None:
    called: list[JsonObject] = []

    def office(_context: object, arguments: JsonObject) -> JsonObject:
        called.append(arguments)
        return {"number": 1}

    conversation.add_tool("raise_rfi", office)
    outside = "https://office.northbank.example/rfis"
    conversation.query(f"UPDATE tools SET endpoint = '{outside}' WHERE name = 'raise_rfi' RETURNING id")
    grant(conversation, {"anonymous": "own"})
    ask_on_web(conversation, tool_call("raise_rfi", subject="Crack", question="May we backfill today?"))
    assert (called, '"ok":false' in last_result(conversation)) == ([], True)
    conversation.query("""UPDATE tools SET needs_approval = '"always"' WHERE name = 'raise_rfi' RETURNING id""")
    ask_on_web(conversation, tool_call("raise_rfi", subject="Crack", question="May we backfill today?"))
    assert conversation.query("SELECT id FROM approvals") == []  # nobody is asked about what they may not do
    conversation.query("""UPDATE tools SET endpoint = 'python:raise_rfi', needs_approval = '"never"'
                           WHERE name = 'raise_rfi' RETURNING id""")
    grant(conversation, {}, {"raise_rfi": {"anonymous": "all"}})
    ask_on_web(conversation, tool_call("raise_rfi", subject="Crack", question="May we backfill today?"))
    assert len(called) == 1


@pytest.mark.parametrize("rights", ["none", "own"])
def test_rights_are_checked_where_records_are_written(conversation: ConversationHarness, rights: WriteRights) -> None:
    somebody = Principal(conversation.tenant_id, "user", uuid7(conversation.clock()), clearance=3, writes=rights)
    now = conversation.clock()
    with conversation.database.transaction(somebody) as tx:
        for attempt in (
            lambda: crud.update_record(somebody, tx, "risk/R-05", RecordPatch("x"), None, now),
            lambda: crud.delete_record(somebody, tx, "risk/R-05", None, now),
            lambda: record_links.link(somebody, tx, "risk/R-05", "risk/R-03", "relates_to", now),
            lambda: record_links.unlink(somebody, tx, "risk/R-05", "risk/R-03", "relates_to", now),
        ):
            with pytest.raises(Forbidden):
                attempt()
        if rights == "none":
            with pytest.raises(Forbidden):
                crud.create_record(somebody, tx, RecordInput("risk", "Mine", properties=RISK), now)
        else:
            mine = crud.create_record(somebody, tx, RecordInput("risk", "Mine", properties=RISK), now)
            record_links.link(somebody, tx, mine.id, "risk/R-03", "relates_to", now)


def test_every_write_is_audited_and_a_turn_can_be_undone(conversation: ConversationHarness) -> None:
    before = record_names(conversation, "change_order"), record_names(conversation, "risk")
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Do it, please.")
    conversation.model.script = [
        [
            *tool_call("update_entity", "a", entity="change_order/CO-007", name=RENAMED),
            *tool_call("update_entity", "b", entity="risk/R-05", properties={"owner": "Mallory"}),
            *tool_call("create_entity", "c", kind="risk", name="Invented", properties=RISK),
        ],
        text_answer("Done."),
    ]
    conversation.run_turn()
    ((turn,),) = conversation.query("SELECT DISTINCT turn_id FROM agent_writes")
    entries = conversation.query(
        "SELECT actor, action, details FROM audit_log WHERE action LIKE 'record.%' ORDER BY id"
    )
    assert [(actor, action) for actor, action, _ in entries] == [
        (visitor.name, "record.updated"),
        (visitor.name, "record.updated"),
        (visitor.name, "record.created"),
    ]
    assert all(isinstance(details, dict) and details["turn"] == str(turn) for _, _, details in entries)
    assert RENAMED not in canonical_json([details for _, _, details in entries])
    changes = conversation.query("SELECT before, after FROM agent_writes WHERE action = 'update' ORDER BY id")
    assert [(was["name"] != now["name"]) for was, now in changes] == [True, False]  # type: ignore[index]

    viewer = Principal(conversation.tenant_id, "member", UUID(int=9), frozenset({"viewer"}), clearance=3)
    with conversation.database.transaction(viewer) as tx, pytest.raises(Forbidden):
        agent_writes.undo_turn(viewer, tx, UUID(str(turn)), conversation.clock())
    editor = Principal(conversation.tenant_id, "member", UUID(int=9), frozenset({"editor"}), clearance=3)
    with conversation.database.transaction(editor) as tx:
        undone = agent_writes.undo_turn(editor, tx, UUID(str(turn)), conversation.clock())
    assert [one.outcome for one in undone] == ["undone"] * 3
    assert (record_names(conversation, "change_order"), record_names(conversation, "risk")) == before
    assert conversation.query("SELECT properties ->> 'owner' FROM entities WHERE key = 'R-05'") != [("Mallory",)]
    with conversation.database.transaction(editor) as tx, pytest.raises(NotFound):
        agent_writes.undo_turn(editor, tx, UUID(str(turn)), conversation.clock())


def test_the_changes_of_a_turn_are_listed_before_and_after_an_undo(conversation: ConversationHarness) -> None:
    ask_on_web(conversation, tool_call("update_entity", entity="risk/R-05", properties={"owner": "Mallory"}))
    ((turn, owner),) = conversation.query("SELECT turn_id, before -> 'properties' ->> 'owner' FROM agent_writes")
    with conversation.database.transaction(conversation.admin) as tx:
        (change,) = agent_writes.list_turn_changes(conversation.admin, tx, UUID(str(turn)))
        assert (change.row.action, change.row.handle, change.row.undone_at) == ("update", "risk/R-05", None)
        assert [(one.property, one.before, one.after) for one in change.properties] == [("owner", owner, "Mallory")]
        agent_writes.undo_turn(conversation.admin, tx, UUID(str(turn)), conversation.clock())
        (change,) = agent_writes.list_turn_changes(conversation.admin, tx, UUID(str(turn)))
        assert change.row.undone_at is not None


def test_changes_of_records_above_the_readers_clearance_are_not_listed(conversation: ConversationHarness) -> None:
    ask_on_web(conversation, tool_call("update_entity", entity="risk/R-05", properties={"owner": "Mallory"}))
    ((turn,),) = conversation.query("SELECT turn_id FROM agent_writes")
    conversation.query("UPDATE entities SET classification = 3 WHERE key = 'R-05' RETURNING id")
    viewer = Principal(conversation.tenant_id, "member", UUID(int=9), frozenset({"viewer"}), clearance=2)
    with conversation.database.transaction(viewer) as tx:
        assert agent_writes.list_turn_changes(viewer, tx, UUID(str(turn))) == []


def test_undoing_leaves_what_somebody_changed_since(conversation: ConversationHarness) -> None:
    ask_on_web(conversation, tool_call("update_entity", entity="risk/R-05", properties={"owner": "Mallory"}))
    ((turn,),) = conversation.query("SELECT turn_id FROM agent_writes")
    now = conversation.clock()
    with conversation.database.transaction(conversation.admin) as tx:
        crud.update_record(conversation.admin, tx, "risk/R-05", RecordPatch(properties={"owner": "Ines"}), None, now)
    with conversation.database.transaction(conversation.admin) as tx:
        (left,) = agent_writes.undo_turn(conversation.admin, tx, UUID(str(turn)), now)
    assert "changed since" in left.outcome
    assert conversation.query("SELECT properties ->> 'owner' FROM entities WHERE key = 'R-05'") == [("Ines",)]


def test_links_and_documents_are_undone_too(conversation: ConversationHarness) -> None:
    links = [{"from": "risk/R-05", "relation": "relates_to", "to": "risk/R-03"}]
    conversation.query("UPDATE agents SET tools = tools || '{link_entities}' RETURNING id")
    visitor = ask_on_web(conversation, tool_call("link_entities", links=links))  # type: ignore[arg-type]
    ask_on_web(
        conversation,
        tool_call("create_entity", kind="document", name="Notes", text="First.", project="project/NRS"),
        visitor,
    )
    ((handle,),) = conversation.query("SELECT 'document/' || key FROM entities WHERE name = 'Notes'")
    ask_on_web(conversation, tool_call("update_entity", entity=str(handle), text="Second."), visitor)
    turns = [UUID(str(turn)) for (turn,) in conversation.query("SELECT turn_id FROM agent_writes ORDER BY id")]
    outcomes = []
    for turn in (turns[2], turns[0]):
        with conversation.database.transaction(conversation.admin) as tx:
            undone = agent_writes.undo_turn(conversation.admin, tx, turn, conversation.clock())
            outcomes += [one.outcome for one in undone]
    assert outcomes == ["undone", "undone"]
    assert conversation.query("SELECT content FROM documents WHERE title = 'Notes'") == [("First.",)]
    assert conversation.query("SELECT 1 FROM edges WHERE relation = 'relates_to' AND created_by LIKE 'user:%'") == []
