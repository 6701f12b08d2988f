"""A conversation about a record begins with it, with what it is linked to, and its tools know which one it is."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from parlour.conversations.turn_runner import run_session
from parlour.documents import authored_documents
from parlour.documents.authored_documents import NewDocument
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.prompts.assembly import budget
from parlour.prompts.assembly.segment import Layer
from parlour.records import crud
from parlour.records.linked_records import LinkedRecordsCache
from parlour.records.linked_records_text import HINT
from parlour.records.record import RecordPatch
from parlour.tenancy import bindings
from parlour.tools.builtin.get_linked_entities import GET_LINKED_ENTITIES, get_linked_entities
from tests.conversation_harness import ConversationHarness, text_answer, tool_call


def about(conversation: ConversationHarness, handle: str | None) -> tuple[Principal, UUID]:
    """A visitor of the site desk and their session about the record, whoever may see that."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    if handle:
        kind, key = handle.split("/")
        conversation.query(
            "UPDATE sessions SET entity_id = (SELECT e.id FROM entities e JOIN entity_types t ON t.id = e.type_id"
            f" WHERE t.key = '{kind}' AND e.key = '{key}') WHERE id = '{session}' RETURNING id"
        )
    return visitor, session


def ask(conversation: ConversationHarness, handle: str | None, *script: list[JsonObject]) -> None:
    visitor, session = about(conversation, handle)
    conversation.send_web(visitor, session, "Where do we stand?")
    conversation.model.script = [*script] or [text_answer("Nowhere yet.")]
    conversation.database.statements.by_name.clear()
    conversation.run_turn()


def system(conversation: ConversationHarness) -> list[str]:
    return [str(block["text"]) for block in conversation.model.requests[-1].system]


def give_tool(conversation: ConversationHarness) -> None:
    conversation.add_tool("get_linked_entities", get_linked_entities, writes=False)
    schema = json.dumps(GET_LINKED_ENTITIES.schema)
    conversation.query(f"UPDATE tools SET schema = '{schema}' WHERE name = 'get_linked_entities' RETURNING id")


def test_it_begins_with_the_record_and_what_it_is_linked_to(conversation: ConversationHarness) -> None:
    ask(conversation, "project/NRS")
    _, briefing = system(conversation)
    assert "This conversation is about project/NRS." in briefing
    ((name,),) = conversation.query("SELECT name FROM entities WHERE key = 'NRS'")
    assert str(name) in briefing.split("# Linked records")[0]
    assert "[milestone/M" in briefing
    assert "← milestone_of" in briefing


def test_the_layer_is_counted_and_keeps_to_its_caps(conversation: ConversationHarness) -> None:
    ask(conversation, "project/NRS")
    ((layers,),) = conversation.query("SELECT tokens_by_layer FROM llm_calls")
    assert isinstance(layers, dict)
    assert 100 < layers["briefing"] <= budget.MESSAGING_PROFILE.limits_of(Layer.BRIEFING).cap


def test_without_a_record_it_names_the_projects(conversation: ConversationHarness) -> None:
    ask(conversation, None)
    assert "This conversation is about" not in system(conversation)[1]
    assert "project/NRS" in system(conversation)[1]


def test_a_second_turn_within_the_minute_reads_it_without_a_statement_unless_records_were_written(
    conversation: ConversationHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    links, made = LinkedRecordsCache(), conversation.make_dependencies
    monkeypatch.setattr(
        conversation, "make_dependencies", lambda *given: replace(made(*given), linked_records_cache=links)
    )

    def read() -> tuple[int, int]:
        ask(conversation, "task/T-121")
        names = conversation.database.statements.by_name
        return names.get("records.read_linked_records", 0), names.get("records.read_last_write", 0)

    assert [read(), read()] == [(1, 0), (0, 0)]
    conversation.query("UPDATE entities SET name = 'Renamed' WHERE key = 'T-121' RETURNING id")
    assert read() == (1, 0)


def test_a_transaction_that_wrote_itself_has_no_mark_of_the_records(conversation: ConversationHarness) -> None:
    with conversation.database.transaction(conversation.tenant_id) as tx:
        binding = bindings.find_binding_by_slug(tx, "site-desk")
        assert binding
        read = bindings.load_persona(tx, binding.id)
        tx.run(Query("test.write", "Any write.", "UPDATE tenants SET display_name = 'Other'"))
        written = bindings.load_persona(tx, binding.id)
    assert read
    assert written
    ((mark,),) = conversation.query("SELECT transaction_id::text FROM record_writes")
    assert (read.last_record_write, written.last_record_write) == (mark, None)


def test_what_the_user_may_not_see_is_not_there(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE entities SET classification = 3 WHERE key IN ('NRS', 'M2') RETURNING id")
    ask(conversation, "project/NRS")
    assert len(system(conversation)) == 1
    ask(conversation, "milestone/M1")
    said = canonical_json([list(conversation.model.requests[-1].system)])
    assert "milestone/M1" in said
    assert "M2" not in said
    assert "NRS" not in said


def test_a_record_that_was_deleted_is_no_subject_any_more(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE entities SET deleted_at = now() WHERE key = 'NRS' RETURNING id")
    ask(conversation, "project/NRS")
    assert len(system(conversation)) == 1


def test_its_bytes_stay_and_what_was_written_since_follows_the_users_words(conversation: ConversationHarness) -> None:
    visitor, session = about(conversation, "project/NRS")
    services, said, asked = conversation.make_dependencies(), [], []
    for number in range(3):
        if number == 2:
            with conversation.database.transaction(conversation.admin) as tx:
                crud.update_record(
                    conversation.admin,
                    tx,
                    "milestone/M1",
                    RecordPatch(name="Steel ready"),
                    None,
                    conversation.clock(),
                )
        conversation.send_web(visitor, session, f"Question {number}?")
        conversation.model.script = [text_answer("As I said.")]
        run_session(services, conversation.list_wakes()[-1], lambda: 60.0)
        said.append(system(conversation)[1])
        asked.append(canonical_json(conversation.model.requests[-1].messages[-1]))
    assert said[0] == said[1] == said[2]
    assert ["name: Steel ready" in one for one in asked] == [False, False, True]


def test_a_project_comes_with_its_tree_of_documents(conversation: ConversationHarness) -> None:
    ask(conversation, "project/NRS")
    assert "Method of the pour" not in system(conversation)[1]
    with conversation.database.transaction(conversation.admin) as tx:
        authored_documents.create_document(
            conversation.admin,
            tx,
            NewDocument(project="project/NRS", title="Method of the pour", content="First the south."),
            now=conversation.clock(),
        )
    ask(conversation, "project/NRS")
    assert "Method of the pour" in system(conversation)[1].split("# Documents")[1]
    ask(conversation, "milestone/M1")
    assert "# Documents" not in system(conversation)[1]


def test_the_hint_is_for_agents_that_have_the_tool(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE agents SET tools = array_remove(tools, 'get_linked_entities') RETURNING id")
    ask(conversation, "project/NRS")
    assert HINT not in system(conversation)[1]
    give_tool(conversation)
    ask(conversation, "project/NRS")
    assert HINT in system(conversation)[1]


def told(conversation: ConversationHarness) -> dict[str, Any]:
    (*_, (result,)) = conversation.query("SELECT result FROM tool_calls ORDER BY started_at")
    assert isinstance(result, dict)
    return result


def test_the_tool_tells_of_the_record_that_it_is_about(conversation: ConversationHarness) -> None:
    give_tool(conversation)
    ask(conversation, "task/T-121", tool_call("get_linked_entities"), text_answer("The permit [1]."))
    found = told(conversation)
    assert found["handle"] == "task/T-121"
    assert found["kinds"] == {"risk": 1, "permit": 1}
    assert [one["handle"] for one in found["linked"]] == ["risk/R-05", "permit/P-22"]


def test_the_tool_tells_of_any_record_by_kind(conversation: ConversationHarness) -> None:
    give_tool(conversation)
    ask(conversation, None, tool_call("get_linked_entities", entity="task/T-121", kind="permit"), text_answer("Yes."))
    assert [one["handle"] for one in told(conversation)["linked"]] == ["permit/P-22"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({}, "about no record; give a handle"),
        ({"entity": "task/T-999"}, "entity: there is no task/T-999; did you mean 'task/T-"),
        ({"entity": "T-121"}, "entity: 'T-121' is not a handle; write type/key"),
        ({"entity": "task/T-121", "kind": "permits"}, "did you mean 'permit'?"),
        ({"entity": "task/T-121", "kind": "no kind"}, "kind: unknown type 'no kind' (available: "),
        ({"entity": "task/T-121", "page": 3}, "there is one page"),
        ({"entity": "task/T-121", "page": 0}, "less than the minimum of 1"),
        ({"handle": "task/T-121"}, "handle"),
    ],
)
def test_a_wrong_argument_is_answered_with_what_to_do(
    conversation: ConversationHarness, arguments: JsonObject, hint: str
) -> None:
    give_tool(conversation)
    asked: JsonObject = {"type": "tool_use", "id": "call_1", "name": "get_linked_entities", "input": arguments}
    ask(conversation, None, [asked], text_answer("Sorry."))
    assert told(conversation)["ok"] is False
    assert hint in str(told(conversation)["message"])


def test_a_kind_that_has_no_links_is_no_mistake(conversation: ConversationHarness) -> None:
    give_tool(conversation)
    ask(conversation, "task/T-121", tool_call("get_linked_entities", kind="goal"), text_answer("None."))
    assert told(conversation)["linked"] == []
    assert told(conversation)["hint"] == "It is linked to nothing of kind goal."


def test_pages_follow_each_other(conversation: ConversationHarness) -> None:
    ((focus,),) = conversation.query("SELECT id FROM entities WHERE key = 'T-121'")
    conversation.query(
        "INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_at) SELECT current_tenant(),"
        f" gen_random_uuid(), '{focus}', id, 'relates_to', now() FROM entities WHERE id <> '{focus}' RETURNING id"
    )
    give_tool(conversation)
    seen: list[str] = []
    page = 1
    while page:
        ask(conversation, "task/T-121", tool_call("get_linked_entities", page=page), text_answer("And on."))
        found = told(conversation)
        seen += [one["handle"] for one in found["linked"]]
        page = int(str(found.get("next_page", 0)))
    assert len(seen) == len(set(seen)) == sum(found["kinds"].values())
    assert len(seen) > 16
