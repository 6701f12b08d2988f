"""Whoever follows a conversation hears which records its tools made, changed and linked: once, as they are stored."""

from datetime import timedelta
from typing import Any

import pytest

from parlour.infra.json_values import JsonObject
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer, tool_call

WRITERS = ("create_entity", "update_entity", "link_entities")
RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Ida"}


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


@pytest.fixture
def writing(conversation: ConversationHarness) -> ConversationHarness:
    """The site's desk on the web, allowed to write records."""
    own = conversation._builtin_tools()
    for name in WRITERS:
        lookup = {"lookup": f"python:{name}"} if name == "create_entity" else {}
        conversation.add_tool(name, own[name], idempotent=True, **lookup)
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Please note it.")
    return conversation


def told(conversation: ConversationHarness, *kinds: str) -> list[Any]:
    rows = conversation.query("SELECT kind, payload FROM events ORDER BY number")
    return [
        payload
        for kind, payload in rows
        if kind in kinds and payload.get("status") in (None, "success")  # type: ignore[attr-defined]
    ]


def note(call: str = "call_1") -> list[JsonObject]:
    links: list[JsonObject] = [{"relation": "relates_to", "to": "milestone/M1"}]
    return tool_call("create_entity", call, kind="risk", name="Scour at the pier", properties=RISK, links=[*links])


def dying_once(conversation: ConversationHarness, name: str) -> None:
    """The worker dies between what the tool wrote and its being written down."""
    own, deaths = conversation.builtins[name], [Killed()]

    def dying(context: ToolContext, arguments: JsonObject) -> JsonObject:
        made = own(context, arguments)
        if deaths:
            raise deaths.pop()
        return made

    conversation.builtins[name] = dying


def test_a_new_record_is_told_by_its_name_and_as_it_is_stored(writing: ConversationHarness) -> None:
    writing.model.script = [note(), text_answer("Noted.")]
    writing.run_turn()
    made, linked = told(writing, "operation")
    ((stored, version),) = writing.query("SELECT id, version FROM entities WHERE name = 'Scour at the pier'")
    named = {"entity_type": "risk", "entity_name": "Scour at the pier", "entity_id": str(stored)}
    assert {**named, "action": "create", "status": "success"}.items() <= made.items()
    assert {**named, "action": "link", "relation": "relates_to"}.items() <= linked.items()
    assert linked["other_record"]["handle"] == "milestone/M1"
    (patch,) = told(writing, "entity_patch")
    assert patch["properties"] == RISK
    assert (patch["entity_id"], patch["version"]) == (str(stored), version)
    order = [kind for (kind,) in writing.query("SELECT kind FROM events ORDER BY number")]
    at = order.index("tool_result")
    assert order[at : at + 4] == ["tool_result", "operation", "operation", "entity_patch"]


def test_an_address_in_a_records_name_is_no_link_in_events(writing: ConversationHarness) -> None:
    name = "Scour, see https://evil.example/SECRET"
    call = tool_call("create_entity", kind="risk", name=name, properties=RISK)
    writing.model.script = [call, text_answer("Noted.")]
    writing.run_turn()
    payloads = writing.query("SELECT payload FROM events WHERE kind IN ('operation', 'entity_patch')")
    names = [payload["entity_name"] for (payload,) in payloads]  # type: ignore[index]
    assert names == ["Scour, see evil[.]example"] * 3  # begun, done, and as it is stored
    assert writing.query("SELECT name FROM entities WHERE name LIKE 'Scour%'") == [(name,)]


def test_a_change_is_told_and_what_changed_nothing_is_not(writing: ConversationHarness) -> None:
    writing.model.script = [
        tool_call("update_entity", "a", entity="milestone/M1", name="Steel stands"),
        tool_call("update_entity", "b", entity="milestone/M1", name="Steel stands"),
        tool_call("update_entity", "c", entity="milestone/none", name="Nothing"),
        text_answer("Done."),
    ]
    writing.run_turn()
    (changed,) = told(writing, "operation")
    assert (changed["action"], changed["entity_name"]) == ("update", "Steel stands")
    (patch,) = told(writing, "entity_patch")
    assert patch["entity_name"] == "Steel stands"
    assert patch["version"] == 2


def test_links_come_and_go_without_a_patch(writing: ConversationHarness) -> None:
    link: JsonObject = {"from": "milestone/M1", "relation": "relates_to", "to": "milestone/M2"}
    writing.model.script = [
        tool_call("link_entities", "a", links=[link]),
        tool_call("link_entities", "b", links=[link], remove=True),
        text_answer("Done."),
    ]
    writing.run_turn()
    assert [one["action"] for one in told(writing, "operation")] == ["link", "unlink"]
    assert told(writing, "entity_patch") == []


@pytest.mark.parametrize(
    ("name", "asked", "action"),
    [
        ("create_entity", note(), "create"),
        ("update_entity", tool_call("update_entity", entity="milestone/M1", name="Steel stands"), "update"),
    ],
)
def test_what_a_dead_worker_wrote_is_told_once(
    writing: ConversationHarness, name: str, asked: list[JsonObject], action: str
) -> None:
    dying_once(writing, name)
    writing.model.script = [asked]
    with pytest.raises(Killed):
        writing.run_turn()
    assert told(writing, "operation") == []
    writing.clock.now += timedelta(minutes=2)
    writing.model.script = [text_answer("Noted.")]
    writing.run_turn()
    assert [one["action"] for one in told(writing, "operation")].count(action) == 1
    assert len(told(writing, "entity_patch")) == 1


def test_a_turn_that_is_resumed_after_the_call_ended_tells_it_no_second_time(writing: ConversationHarness) -> None:
    writing.model.script = [note()]
    with pytest.raises(AssertionError):  # nothing is left of the script: the worker ends after the call's end
        writing.run_turn()
    before = told(writing, "operation", "entity_patch")
    assert len(before) == 3
    writing.clock.now += timedelta(minutes=2)
    writing.model.script = [text_answer("Noted.")]
    writing.run_turn()
    assert told(writing, "operation", "entity_patch") == before


def test_a_messaging_channel_reads_nothing_for_it(writing: ConversationHarness) -> None:
    writing.send_whatsapp("Please note it.", "m1")
    writing.query("UPDATE agents SET tools = tools || '{create_entity}' WHERE slug <> 'site-adviser' RETURNING id")
    writing.model.script = [note(), text_answer("Noted.")]
    writing.run_turn()
    assert writing.query("SELECT name FROM entities WHERE name = 'Scour at the pier'") != []
    assert told(writing, "operation") == []
