""" "Add those to the risk log": written once, whatever breaks, and never more than may be seen. The story itself, from
the contract's file to the risks of all contracts, is tests/end_to_end/test_risk_log.py."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


@pytest.fixture
def asked(conversation: ConversationHarness) -> ConversationHarness:
    """The contract's damages were found, and it is asked to note them."""
    conversation.send_whatsapp("What do we owe if we finish late?", "m1")
    conversation.model.script = [search_call("delay damages per day"), text_answer("A sum per day [1].")]
    conversation.run_turn()
    conversation.send_whatsapp("Add that to the risk log.", "m2")
    return conversation


def note(conversation: ConversationHarness, call: str = "call_1") -> list[JsonObject]:
    """What a model asks for after reading its results: numbers as the search gave them."""
    properties: JsonObject = {"severity": "high", "state": "open", "owner": "Daniel Achterberg"}
    return tool_call("create_entity", call, kind="risk", name="Delay damages", properties=properties, sources=[1])


def risks(conversation: ConversationHarness) -> list[tuple[object, ...]]:
    return conversation.query("SELECT id, properties FROM entities WHERE name = 'Delay damages'")


def results(conversation: ConversationHarness, name: str) -> list[Any]:
    return [
        result for (result,) in conversation.query(f"SELECT result FROM tool_calls WHERE name = '{name}' ORDER BY id")
    ]


def test_a_worker_that_dies_after_it_wrote_writes_nothing_twice(asked: ConversationHarness) -> None:
    own = asked._builtin_tools()["create_entity"]
    deaths = [Killed()]

    def dying(context: ToolContext, arguments: JsonObject) -> JsonObject:
        made = own(context, arguments)
        if deaths:
            raise deaths.pop()
        return made

    asked.builtins["create_entity"] = dying
    asked.model.script = [note(asked)]
    with pytest.raises(Killed):
        asked.run_turn()
    asked.clock.now += timedelta(minutes=2)
    asked.model.script = [text_answer("Noted.")]
    asked.run_turn()
    assert len(risks(asked)) == 1
    assert asked.query("SELECT state FROM tool_calls WHERE name = 'create_entity'") == [("done",)]
    (made,) = results(asked, "create_entity")
    assert [UUID(str(id_)) for id_, _ in risks(asked)]
    assert made["entities_created"][0]["name"] == "Delay damages"


def test_what_a_desk_may_not_see_cannot_be_linked_or_counted(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE entities SET classification = 3 WHERE key = 'C-2025-017' RETURNING 1")
    conversation.send_whatsapp("Note it against the main contract.", "m1")
    links: list[JsonObject] = [{"relation": "references", "to": "contract/C-2025-017"}]
    risk: JsonObject = {"severity": "low", "state": "open", "owner": "Ida"}
    conversation.model.script = [
        tool_call("create_entity", "a", kind="risk", name="Blind", properties=risk, links=[*links]),
        tool_call("list_entities", "b", kind="contract"),
        text_answer("There is no such contract."),
    ]
    conversation.run_turn()
    (refused,) = results(conversation, "create_entity")
    assert refused["code"] == "invalid_arguments"
    assert "there is no contract/C-2025-017" in refused["message"]
    assert refused["message"].count("C-2025-017") == 1
    (listed,) = results(conversation, "list_entities")
    assert "C-2025-017" not in json.dumps(listed)
    assert conversation.query("SELECT count(*) FROM entities WHERE name = 'Blind'") == [(0,)]
