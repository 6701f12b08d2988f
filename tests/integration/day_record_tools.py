"""The part of the working day in which somebody has the desk write records, by the tools that its model calls."""

from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.record import RecordInput, RecordQuery
from parlour.tools.builtin import agent_writes, builtin_tools
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call

_RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Joanna Pryce"}


def write_records_by_tools(conversation: ConversationHarness) -> None:
    """A risk that was found is noted with its source; the note is looked up as after a crash; a name is spelt wrong."""
    conversation.send_whatsapp("Note the crack as a risk.", "day-risk")
    conversation.model.script = [
        search_call("crack width C4"),
        [
            *tool_call("create_entity", "a", kind="risk", name="Crack at C4", properties=_RISK, sources=[1, 2]),
            *tool_call("get_entity", "b", entities=["risk/R03"]),
        ],
        text_answer("Noted."),
    ]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM entities WHERE name = 'Crack at C4'") == [(1,)]
    ((turn_id, session_id, key),) = conversation.query(
        "SELECT c.turn_id, t.session_id, c.idempotency_key FROM tool_calls c JOIN turns t ON t.id = c.turn_id"
        " WHERE c.name = 'create_entity'"
    )
    context = ToolContext(
        conversation.admin,
        conversation.database,
        UUID(str(session_id)),
        UUID(str(turn_id)),
        conversation.clock(),
        0,
        idempotency_key=str(key),
    )
    assert builtin_tools.BUILTIN_LOOKUPS["create_entity"](context)
    visitor = conversation.create_visitor()  # in a conversation without files, which asks nobody first
    conversation.send_web(visitor, conversation.find_session(visitor), "Who owns it now? Set it to me.")
    change = tool_call("update_entity", entity="risk/R-03", properties={"owner": "Priya"})
    conversation.model.script = [change, text_answer("Set.")]
    conversation.run_turn()
    somebody = Principal(conversation.tenant_id, "user", uuid7(conversation.clock()), clearance=1, writes="own")
    with conversation.database.transaction(somebody) as tx:
        crud.create_record(somebody, tx, RecordInput("risk", "Reported", properties=_RISK), conversation.clock(), "day")
    with conversation.database.transaction(conversation.admin) as tx:
        unverified = crud.list_records(conversation.admin, tx, RecordQuery(only_unverified=True)).records
        (reported,) = (record for record in unverified if record.name == "Reported")
        crud.accept_record(conversation.admin, tx, reported.id, conversation.clock())
    ((updated,),) = conversation.query("SELECT turn_id FROM agent_writes WHERE action = 'update'")
    with conversation.database.transaction(conversation.admin) as tx:
        assert agent_writes.list_turn_changes(conversation.admin, tx, UUID(str(updated)))
        assert agent_writes.list_changes(conversation.admin, tx, agent_writes.ChangeQuery()).rows
        assert agent_writes.undo_turn(conversation.admin, tx, UUID(str(updated)), conversation.clock())
