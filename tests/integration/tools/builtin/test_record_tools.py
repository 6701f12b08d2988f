"""The tools for records as models call them: "add those to the risk log", and every way to ask for it wrongly."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from parlour.documents.pack_import import DocumentDraft
from parlour.infra.errors import ModelError, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.queues import DelayedQueue
from parlour.principal import Principal
from parlour.records.pack_import import RecordDraft
from parlour.records.record import RecordKey
from parlour.tools.arguments import validate_arguments
from parlour.tools.builtin import builtin_tools
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.result import ToolResult, error_result, success_result
from parlour.tools.run import ToolContext
from tests.integration.knowledge_tenant import LEASE_TOKEN, KnowledgeTenant

CONTRACT = DocumentDraft(
    "c-17",
    "Main works contract",
    "## 11 Delay\n\n<!-- page: 7 -->\n\nDelay damages are GBP 1,200 a day, capped at five per cent.\n\n"
    "## 12 Permit\n\n<!-- page: 8 -->\n\nThe river permit is the Contractor's risk.",
    kind="contract",
    record_key=RecordKey("task", "C-17"),
    classification=1,
)


class Nudges:
    """How often the embedder was nudged."""

    def __init__(self) -> None:
        self.sent: list[JsonObject] = []

    def send(self, body: JsonObject, seconds: float, /) -> None:
        self.sent.append(body)


class Room:
    """One conversation, and the tools in it."""

    def __init__(self, library: KnowledgeTenant, principal: Principal | None = None, about: UUID | None = None) -> None:
        self.nudges = Nudges()
        self.library = library
        self.principal = principal or library.principal
        self.about = about
        self.key = ""
        self.endpoint = PythonEndpoint(
            builtin_tools.builtin_handlers(lambda database, tenant_id: library.embedder, self.nudges),
            builtin_tools.BUILTIN_LOOKUPS,
        )

    def context(self) -> ToolContext:
        return ToolContext(
            self.principal,
            self.library.database,
            self.library.session_id,
            uuid7(self.library.now),
            self.library.now,
            LEASE_TOKEN,
            idempotency_key=self.key or str(uuid7(self.library.now)),
            entity_id=self.about,
        )

    def call(self, tool: str, /, **arguments: Any) -> ToolResult:
        (one,) = (one for one in builtin_tools.BUILTIN_TOOLS if one.name == tool)
        try:
            validate_arguments(one.schema, arguments)
            return success_result(self.endpoint.call(self.context(), one, arguments))
        except ModelError as error:
            return error_result(error)

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = self.call(tool, **arguments)
        assert result.ok, result.content
        told: dict[str, Any] = json.loads(result.text)
        return told

    def refused(self, tool: str, /, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        assert not result.ok, result.content
        return str(result.content["message"])


@pytest.fixture
def room(library: KnowledgeTenant) -> Room:
    library.import_records(RecordDraft(RecordKey("task", "C-17"), "Sign the main works contract", classification=1))
    library.import_documents(CONTRACT)
    return Room(library)


def rows(room: Room, statement: str) -> list[tuple[object, ...]]:
    with room.library.database.transaction(room.principal) as tx:
        return tx._connection.execute(statement.encode()).fetchall()


def test_what_was_found_goes_to_the_risk_log_with_clause_and_page(room: Room) -> None:
    found = [one for one in room.ok("search_knowledge", query="delay damages permit")["documents"] if "about" in one]
    assert {one["about"] for one in found} == {"task/C-17"}
    assert {one["handle"] for one in found} == {"document/c-17"}
    numbers = [one["n"] for one in found]
    made = room.ok(
        "create_entity",
        kind="risk",
        name="Delay damages",
        properties={"severity": "high", "state": "open"},
        sources=numbers[:1],
        more=[{"name": "Permit comes late", "sources": numbers[1:], "links": [{"relation": "relates_to", "to": "#1"}]}],
    )
    first, second = (one["handle"] for one in made["entities_created"])
    assert first.startswith("risk/delay-damages-")
    assert {"from": second, "relation": "relates_to", "to": first} in made["edges_created"]
    assert {"from": first, "relation": "references", "to": "task/C-17"} in made["edges_created"]
    assert {"from": second, "relation": "references", "to": "task/C-17"} in made["edges_created"]
    read = room.ok("get_entity", entities=[first, second])["entities"]
    told = [source for one in read for source in one["properties"]["sources"]]
    assert {(source["title"], source["locator"].split()[0], source["page"]) for source in told} == {
        ("Main works contract", "11", 7),
        ("Main works contract", "12", 8),
    }
    assert len(room.nudges.sent) == 1


def test_a_document_from_a_file_goes_by_one_handle_in_every_tool(room: Room) -> None:
    draft = DocumentDraft("reports/report-1.md", "Site report", "# Report\n\nSleet.\n\n## Wind\n\nNine metres.")
    room.library.import_documents(draft)
    (found, *_) = room.ok("search_knowledge", query="sleet")["documents"]
    handle = found["handle"]
    assert "about" not in found
    assert handle in [entry["handle"] for entry in room.ok("list_entities", kind="document", text="report")["entities"]]
    (read,) = room.ok("get_entity", entities=[handle])["entities"]
    assert (read["handle"], read["name"]) == (handle, "Site report")
    assert read["parts"][0]["n"] == found["n"]
    assert "Nine metres." in read["parts"][-1]["contents"]
    link: JsonObject = {"kind": "risk", "name": "Sleet", "links": [{"relation": "references", "to": handle}]}
    for message in (
        room.refused("create_entity", **link),
        room.refused("update_entity", entity=handle, name="Hail"),
    ):
        assert "name its number [n] under sources" in message
    reader = Room(room.library, replace(room.principal, clearance=0))
    room.library.import_documents(replace(draft, classification=2))
    assert "there is no record" in reader.refused("get_entity", entities=[handle])
    assert reader.ok("list_entities", kind="document", text="report")["entities"] == []


def test_risks_across_everything_are_found_with_where_they_come_from(room: Room) -> None:
    (number,) = (
        one["n"]
        for one in room.ok("search_knowledge", query="delay damages")["documents"]
        if "11 Delay" in one["metadata"]
    )
    room.ok("create_entity", kind="risk", name="Liquidated sums", sources=[number])
    (risk,) = [
        one
        for one in room.ok("search_knowledge", query="liquidated sums", scope="type", of="risk")["documents"]
        if "sources" in one["contents"]
    ]
    assert risk["handle"].startswith("risk/liquidated-sums-")
    assert "Main works contract" in risk["contents"]
    assert "7" in risk["contents"]
    (listed,) = room.ok("list_entities", kind="risk")["entities"]
    assert listed["handle"] == risk["handle"]


def test_what_is_taken_from_a_closed_document_is_as_closed(room: Room) -> None:
    (one, *_) = room.ok("search_knowledge", query="delay damages")["documents"]
    made = room.ok("create_entity", kind="risk", name="Secret", sources=[one["n"]])
    handle = made["entities_created"][0]["handle"]
    reader = Room(room.library, replace(room.principal, clearance=0))
    assert handle not in str(reader.ok("list_entities", kind="risk"))
    assert "there is no" in reader.refused("get_entity", entities=[handle])
    assert reader.ok("search_knowledge", query="Secret", scope="type", of="risk")["documents"] == []


def test_a_call_that_is_made_twice_is_done_once(room: Room) -> None:
    room.key = "turn:1:call"
    ask: JsonObject = {"kind": "task", "name": "Order rebar", "more": [{"name": "Order formwork"}]}
    once = room.ok("create_entity", **ask)
    assert room.ok("create_entity", **ask) == once
    assert rows(room, "SELECT count(*) FROM entities WHERE name LIKE 'Order %'") == [(2,)]
    looked = builtin_tools.BUILTIN_LOOKUPS["create_entity"](room.context())
    assert looked is not None
    assert [one["handle"] for one in looked["entities_created"]] == [one["handle"] for one in once["entities_created"]]  # type: ignore[index,call-overload,union-attr]
    room.key = "turn:1:other"
    assert builtin_tools.BUILTIN_LOOKUPS["create_entity"](room.context()) is None


def test_a_change_that_is_made_twice_does_not_undo_what_came_between(room: Room) -> None:
    note = room.ok("create_entity", kind="document", name="Note", text="First.")["entities_created"][0]["handle"]
    room.key = "turn:1:change"
    asks: tuple[JsonObject, ...] = (
        {"entity": "task/C-17", "name": "Sign it today"},
        {"entity": note, "text": "Second."},
    )
    for ask in asks:
        room.ok("update_entity", **ask)
    room.key = "turn:2:change"
    room.ok("update_entity", entity="task/C-17", name="Sign it tomorrow")
    room.ok("update_entity", entity=note, text="Third.")
    room.key = "turn:1:change"
    for ask in asks:
        room.ok("update_entity", **ask)
    assert room.ok("get_entity", entities=["task/C-17"])["entities"][0]["name"] == "Sign it tomorrow"
    assert room.ok("get_document", document=note)["parts"][0]["contents"] == "Third."


def test_text_is_added_to_a_document_once_however_often_it_is_asked_for(room: Room) -> None:
    note = room.ok("create_entity", kind="document", name="Note", text="First.")["entities_created"][0]["handle"]
    room.key = "turn:1:change"
    assert room.ok("update_entity", entity=note, append="Second.")["changed"] == {"text": "written"}
    room.ok("update_entity", entity=note, append="Second.")
    (read,) = room.ok("get_entity", entities=[note])["entities"]
    assert [part["contents"] for part in read["parts"]] == ["First.\n\nSecond."]
    assert "give one of the two" in room.refused("update_entity", entity=note, text="A", append="B")
    assert "append: only a document" in room.refused("update_entity", entity="task/C-17", append="B")


def test_half_characters_are_no_names(room: Room) -> None:
    assert "unknown type" in room.refused("create_entity", kind="\ud800", name="A")
    assert room.ok("get_document_metadata", documents=["\ud800"])["documents"] == []


def test_nothing_is_made_when_part_of_it_is_wrong(room: Room) -> None:
    said = room.refused(
        "create_entity", kind="task", name="A", more=[{"name": "B", "properties": {"dew": "2026-01-01"}}]
    )
    assert "more[0].dew" in said
    assert "is not a property" in said
    assert rows(room, "SELECT count(*) FROM entities WHERE name IN ('A', 'B')") == [(0,)]
    assert room.nudges.sent == []


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("create_entity", {"kind": "riks", "name": "A"}, "did you mean 'risk'"),
        ("create_entity", {"kind": "risk"}, "missing: name"),
        ("create_entity", {"kind": "risk", "name": "A", "properties": {"severity": "huge"}}, "low, medium, high"),
        ("create_entity", {"kind": "risk", "name": "A", "properties": {"sevrity": "low"}}, "did you mean 'severity'"),
        ("create_entity", {"kind": "risk", "name": "A", "properties": {"pulse_text": "x"}}, "reserved by Parlour"),
        ("create_entity", {"kind": "risk", "name": "A", "project": "project/NRS"}, "there is no project/NRS"),
        ("create_entity", {"kind": "risk", "name": "A", "project": "task/C-17"}, "is not a project"),
        ("create_entity", {"kind": "risk", "name": "A", "sources": [9]}, "9: no document of this conversation has"),
        (
            "create_entity",
            {"kind": "risk", "name": "A", "links": [{"relation": "relates_to", "to": "task/C17"}]},
            "there is no task/C17; did you mean 'task/C-17'?",
        ),
        (
            "create_entity",
            {"kind": "risk", "name": "A", "links": [{"relation": "depend_on", "to": "task/C-17"}]},
            "did you mean 'depends_on'",
        ),
        ("get_entity", {"entities": ["C-17"]}, "'C-17' is not a handle"),
        ("get_entity", {"entities": ["tusk/C-17"]}, "did you mean 'task'"),
        ("get_entity", {"entities": ["task/quite-another"]}, "the newest: task/C-17"),
        ("list_entities", {"kind": "tasks"}, "did you mean 'task'"),
        ("list_entities", {"where": {"state": "open"}}, "say the kind, too"),
        ("list_entities", {"kind": "risk", "where": {"state": "opn"}}, "did you mean 'open'"),
        ("list_entities", {"project": "task/C-17"}, "is not a project"),
        ("list_entities", {"cursor": "rubbish"}, "cursor"),
        ("update_entity", {"entity": "task/C-17"}, "say what changes"),
        ("update_entity", {"entity": "task/C-17", "kind": "risk", "name": "A"}, "is not of kind risk"),
        ("update_entity", {"entity": "task/C-17", "text": "# A"}, "only a document has one"),
        ("update_entity", {"entity": "task/C-17", "properties": {"version": 3}}, "reserved by Parlour"),
        ("update_entity", {"entity": "task/C-17", "properties": {"sources": []}}, "is not changed afterwards"),
        ("link_entities", {"links": [{"from": "task/C-17", "relation": "needs", "to": "task/C-17"}]}, "itself"),
        ("link_entities", {"links": [{"from": "task/C-17", "to": "task/C-17"}]}, "missing: relation"),
        ("search_knowledge", {"query": "x", "scope": "record"}, "about no record"),
        ("search_knowledge", {"query": "x", "scope": "project", "of": "task/C-17"}, "is not a project"),
        ("search_knowledge", {"query": "x", "scope": "type", "of": "taks"}, "did you mean 'task'"),
        ("search_knowledge", {"query": "x", "scope": "all"}, "is not one of"),
    ],
)
def test_a_wrong_argument_is_told_with_what_would_be_right(
    room: Room, tool: str, arguments: JsonObject, told: str
) -> None:
    assert told in room.refused(tool, **arguments)


def test_a_record_is_changed_and_the_change_is_told(room: Room) -> None:
    made = room.ok("create_entity", kind="risk", name="Wind", properties={"state": "open", "owner": "Ida"})
    handle = made["entities_created"][0]["handle"]
    changed = room.ok("update_entity", entity=handle, properties={"state": "closed", "owner": None})
    assert changed["changed"] == {
        "state": {"was": "open", "is": "closed"},
        "owner": {"was": "Ida", "is": None},
    }
    again = room.ok("update_entity", entity=handle, properties={"state": "closed"})
    assert again["note"] == "It was so already."
    assert again["version"] == changed["version"] == 2
    assert room.ok("update_entity", entity=handle.partition("/")[2], kind="risk", name="Storm")["name"] == "Storm"
    assert "state: closed (was open)" in str(rows(room, "SELECT content FROM context_rows WHERE kind = 'delta'"))


def test_records_are_linked_and_unlinked(room: Room) -> None:
    handle = room.ok("create_entity", kind="task", name="Crane")["entities_created"][0]["handle"]
    link = {"from": handle, "relation": "depends_on", "to": "task/C-17"}
    assert room.ok("link_entities", links=[link])["edges_created"] == [link]
    assert room.ok("get_linked_entities", entity=handle)["kinds"] == {"task": 1}
    assert room.ok("link_entities", links=[link], remove=True) == {"edges_removed": [link]}
    assert room.ok("link_entities", links=[link], remove=True) == {"edges_removed": [], "not_there": [link]}


def test_a_project_comes_with_the_users_words_and_a_document_with_its_place(room: Room) -> None:
    words = "We want a new wharf before the floods."
    made = room.ok("create_entity", kind="project", name="Wharf", text=words)
    project, context = (one["handle"] for one in made["entities_created"])
    assert made["edges_created"] == [{"from": project, "relation": "contains", "to": context}]
    assert words in str(room.ok("get_document", document=context)["parts"])
    document = room.ok(
        "create_entity", kind="document", name="Method", project=project, parent=context, text="# Piling\n\nDrive them."
    )["entities_created"][0]["handle"]
    listed = room.ok("list_documents", project=project)["documents"]
    assert [one["title"] for one in listed][-1] == "Method"
    assert room.ok("update_entity", entity=document, text="# Piling\n\nBore them.")["changed"] == {"text": "written"}
    assert "Bore them" in str(room.ok("get_document", document=document)["parts"])
    assert room.ok("search_knowledge", query="bore piling", scope="project", of=project)["documents"]


def test_what_is_made_in_a_conversation_about_a_record_belongs_to_its_project(room: Room) -> None:
    project = room.ok("create_entity", kind="project", name="Wharf", text="A wharf.")["entities_created"][0]["handle"]
    task = room.ok("create_entity", kind="task", name="Piles", project=project)["entities_created"][0]["handle"]
    ((about,),) = rows(room, "SELECT id FROM entities WHERE name = 'Piles'")
    here = Room(room.library, about=UUID(str(about)))
    risk = here.ok("create_entity", kind="risk", name="Scour")["entities_created"][0]["handle"]
    (read,) = here.ok("get_entity", entities=[risk])["entities"]
    assert read["project"] == project
    assert {one["handle"] for one in here.ok("list_entities", project=project)["entities"]} >= {task, risk}
    assert here.ok("search_knowledge", query="Piles", scope="record")["documents"]
    assert here.ok("search_knowledge", query="Scour", scope="project")["documents"]
    assert here.ok("search_knowledge", query="Scour", scope="conversation")["documents"] == []


def test_lists_go_on_behind_a_cursor(room: Room) -> None:
    room.ok("create_entity", kind="risk", name="R 0", more=[{"name": f"R {n}"} for n in range(1, 15)])
    room.ok("create_entity", kind="risk", name="S 0", more=[{"name": f"S {n}"} for n in range(1, 15)])
    first = room.ok("list_entities", kind="risk")
    second = room.ok("list_entities", kind="risk", cursor=first["next_cursor"])
    names = [one["name"] for one in (*first["entities"], *second["entities"])]
    assert len(set(names)) == len(names) == 30
    assert "next_cursor" not in second
    assert room.ok("list_entities", kind="risk", text="R 14")["entities"][0]["name"] == "R 14"


def test_a_vague_question_is_searched_for_with_what_the_user_said(room: Room) -> None:
    (tool,) = (tool for tool in builtin_tools.BUILTIN_TOOLS if tool.name == "search_knowledge")
    context = replace(room.context(), user_messages=["What about the river permit?", "And who bears it?"])
    told = room.endpoint.call(context, tool, {"query": "is that so"})
    assert "river permit" in str(told["searched_for"])
    assert "Contractor's risk" in str(told["documents"])
    assert "searched_for" not in room.endpoint.call(context, tool, {"query": "this river permit"})


def test_a_queue_that_is_away_does_not_undo_what_was_written(room: Room) -> None:
    class Away:
        def send(self, body: JsonObject, seconds: float, /) -> None:
            raise QueueUnavailable

    away: DelayedQueue = Away()
    builtins = builtin_tools.builtin_handlers(lambda database, tenant_id: room.library.embedder, away)
    assert builtins["create_entity"](room.context(), {"kind": "risk", "name": "Kept"})["entities_created"]
    assert rows(room, "SELECT count(*) FROM work_due WHERE kind = 'embedding'") == [(1,)]


def test_a_filter_that_finds_nothing_names_the_values_there_are(room: Room) -> None:
    for number in range(3):
        state = "watched" if number else "closed"
        room.ok("create_entity", kind="risk", name=f"Flood {number}", properties={"state": state})
    result = room.ok("list_entities", kind="risk", where={"state": "open"})
    assert (result["entities"], result["hint"]) == (
        [],
        "No risk has state open. There are, of the last changed: watched 2, closed 1.",
    )
