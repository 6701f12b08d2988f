"""Whatever a model gets wrong, it is told which argument is wrong and what would be right: mistakes made from every
tool's schema, and those that only the records know."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.documents.pack_import import DocumentDraft
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Database, connector
from parlour.records.pack_import import RecordDraft
from parlour.records.record import RecordKey
from parlour.records.record_links import LinkDraft
from parlour.tools.builtin import builtin_tools
from parlour.tools.tool_definition import Tool
from tests.conftest import NOW
from tests.integration.knowledge_tenant import open_knowledge_tenant
from tests.integration.tools.builtin.test_record_tools import Room

RIGHT: dict[str, JsonObject] = {
    "search_knowledge": {"query": "delay"},
    "list_entities": {},
    "get_entity": {"entities": ["task/T-1"]},
    "create_entity": {"kind": "task", "name": "A"},
    "update_entity": {"entity": "task/T-1", "name": "A"},
    "link_entities": {"links": [{"from": "task/T-1", "relation": "depends_on", "to": "task/T-2"}]},
    "get_linked_entities": {"entity": "task/T-1"},
    "list_documents": {},
    "search_documents": {"query": "delay"},
    "get_document": {"document": "document/plan"},
    "get_document_metadata": {"documents": ["document/plan"]},
    "ask_a_person": {"reason": "They ask for the site manager."},
}
"""A call of each tool that is right."""

WRONG: dict[str, Json] = {"string": 7, "integer": "three", "array": "one", "object": "one", "boolean": "yes"}
"""By the type that is wanted, a value of another."""

LINK = {"from": "task/T-1", "relation": "depends_on", "to": "task/T-2"}
TOLD: list[tuple[str, JsonObject, tuple[str, ...]]] = [
    ("ask_a_person", {"reason": "x" * 301}, ("reason:", "300")),
    ("search_knowledge", {"scope": "workspce"}, ("scope:", "did you mean 'workspace'?")),
    ("search_knowledge", {"scope": "record"}, ("of:", "this conversation is about no record", "task/...")),
    ("search_knowledge", {"scope": "record", "of": "task/T1"}, ("of:", "did you mean 'task/T-1'?")),
    ("search_knowledge", {"scope": "record", "of": "tusk/T-1"}, ("of:", "did you mean 'task'?")),
    ("search_knowledge", {"scope": "record", "of": "T-1"}, ("of:", "write type/key")),
    ("search_knowledge", {"scope": "type", "of": "taks"}, ("of:", "did you mean 'task'?")),
    ("search_knowledge", {"scope": "project", "of": "project/sit"}, ("of:", "did you mean 'project/site'?")),
    ("search_knowledge", {"scope": "project", "of": "task/T-1"}, ("of:", "is not a project")),
    ("list_entities", {"kind": "tasks"}, ("kind:", "did you mean 'task'?", "available:")),
    ("list_entities", {"kind": "zzz"}, ("kind:", "available:", "risk")),
    ("list_entities", {"project": "project/sit"}, ("project:", "did you mean 'project/site'?")),
    ("list_entities", {"project": "task/T-1"}, ("project:", "is not a project")),
    ("list_entities", {"cursor": "rubbish"}, ("cursor:", "next_cursor")),
    ("list_entities", {"where": {"state": "open"}}, ("where:", "kind")),
    ("list_entities", {"kind": "risk", "where": {"sevrity": "low"}}, ("sevrity", "did you mean 'severity'?")),
    ("list_entities", {"kind": "risk", "where": {"severity": "hihg"}}, ("severity", "did you mean 'high'?")),
    ("get_entity", {"entities": []}, ("entities:", "at least one")),
    ("get_entity", {"entities": ["T-1"]}, ("entities:", "write type/key")),
    ("get_entity", {"entities": ["task/T1"]}, ("entities:", "did you mean 'task/T-1'?")),
    ("get_entity", {"entities": ["tusk/T-1"]}, ("entities:", "did you mean 'task'?")),
    ("get_entity", {"entities": ["task/quite-another"]}, ("entities:", "the newest: task/T-", "list_entities")),
    ("create_entity", {"kind": "taks"}, ("kind:", "did you mean 'task'?")),
    ("create_entity", {"name": " "}, ("name:", "300")),
    ("create_entity", {"properties": {"dew": "x"}}, ("dew", "available:")),
    ("create_entity", {"kind": "risk", "properties": {"severity": "hgh"}}, ("severity", "did you mean 'high'?")),
    ("create_entity", {"kind": "risk", "properties": {"owner": 7}}, ("owner", "must be text")),
    ("create_entity", {"properties": {"sources": []}}, ("properties.sources:", "argument sources")),
    ("create_entity", {"project": "project/sit"}, ("project:", "did you mean 'project/site'?")),
    ("create_entity", {"parent": "document/plan"}, ("parent:", "a task has none")),
    (
        "create_entity",
        {"kind": "document", "project": "project/site", "parent": "document/pln"},
        ("parent:", "did you mean 'document/plan'?"),
    ),
    ("create_entity", {"text": "x"}, ("text:", "properties")),
    ("create_entity", {"sources": [9]}, ("sources:", "9", "found: none")),
    ("create_entity", {"links": [{"relation": "depend_on", "to": "task/T-1"}]}, ("did you mean 'depends_on'?",)),
    ("create_entity", {"links": [{"relation": "depends_on", "to": "task/T1"}]}, ("links:", "did you mean 'task/T-1'?")),
    ("create_entity", {"links": [{"relation": "depends_on", "to": "#3"}]}, ("links[0].to:", "#1 to #1")),
    ("create_entity", {"links": [{**LINK, "to": "task/T-1"}]}, ("links[0]", "unknown: from", "known: relation, to")),
    ("create_entity", {"more": [{"nam": "B"}]}, ("more[0].nam:", "did you mean 'name'?")),
    ("create_entity", {"more": [{"name": "B", "kind": "taks"}]}, ("more[0].kind:", "did you mean 'task'?")),
    ("update_entity", {"entity": "task/T1"}, ("entity:", "did you mean 'task/T-1'?")),
    ("update_entity", {"kind": "risk"}, ("kind:", "leave kind out")),
    ("update_entity", {"name": ""}, ("properties:", "name, properties, text or append")),
    ("update_entity", {"properties": {"dew": "x"}}, ("dew", "available:")),
    ("update_entity", {"text": "# A"}, ("text:", "only a document")),
    ("link_entities", {"links": []}, ("links:", "at least one")),
    ("link_entities", {"links": [{**LINK, "relation": "depend_on"}]}, ("relation:", "did you mean 'depends_on'?")),
    ("link_entities", {"links": [{**LINK, "relation": "depends on"}]}, ("relation:", "did you mean 'depends_on'?")),
    ("link_entities", {"links": [{**LINK, "to": "task/T1"}]}, ("links:", "did you mean 'task/T-1'?")),
    ("link_entities", {"links": [{**LINK, "to": "task/T-1"}]}, ("links:", "itself")),
    ("link_entities", {"links": [{**LINK, "kind": "x"}]}, ("links[0]", "unknown: kind", "known: from, relation, to")),
    ("get_linked_entities", {"entity": "task/T1"}, ("entity:", "did you mean 'task/T-1'?")),
    ("get_linked_entities", {"entity": "tusk/T-1"}, ("entity:", "did you mean 'task'?")),
    ("get_linked_entities", {"kind": "taks"}, ("kind:", "did you mean 'task'?")),
    ("get_linked_entities", {"kind": "a task"}, ("kind:", "did you mean 'task'?")),
    ("get_linked_entities", {"page": 2}, ("page:", "one page")),
    ("list_documents", {"project": "project/sit"}, ("project:", "did you mean 'project/site'?")),
    ("list_documents", {"project": "task/T-1"}, ("project:", "task/T-1 is a task")),
    ("list_documents", {"cursor": "rubbish"}, ("cursor:", "next_cursor")),
    ("list_documents", {"project": "project/site", "cursor": "rubbish"}, ("cursor:", "next_cursor")),
    ("list_documents", {"project": "project/site", "cursor": "4000"}, ("cursor:", "next_cursor")),
    ("search_documents", {"query": " "}, ("query:", "say what to look for")),
    ("search_documents", {"query": "x" * 1_001}, ("query:", "1,001", "1,000")),
    ("search_documents", {"project": "project/sit"}, ("project:", "did you mean 'project/site'?")),
    ("get_document", {"document": "document/pln"}, ("document:", "did you mean 'document/plan'?")),
    ("get_document", {"document": "zzz"}, ("document:", "list_documents")),
    ("get_document", {"section": "Delya"}, ("section:", "did you mean 'Delay'?", "it has: Delay")),
    ("get_document", {"at": 99_999}, ("at:", "characters", "next")),
    ("get_document_metadata", {"documents": []}, ("documents:", "minimum of 1")),
]
"""What only the records know: the tool, what is wrong beside a right call, and what is told of it."""


@pytest.fixture(scope="module")
def room(cluster: Cluster, template: str) -> Iterator[Room]:
    """One for all mistakes: none of them changes anything."""
    name = f"test_{uuid.uuid4().hex}"
    cluster.create(name, template)
    database = Database(connector(cluster.connection_parameters(name, APP_ROLE, APP_PASSWORD)))
    library = open_knowledge_tenant(database, "acme", NOW)
    site, first, second = RecordKey("project", "site"), RecordKey("task", "T-1"), RecordKey("task", "T-2")
    library.import_records(*(RecordDraft(key, key.key) for key in (site, first, second)))
    library.import_links(LinkDraft(first, second, "depends_on"))
    library.import_documents(DocumentDraft("plan", "Plan", "## Delay\n\nDelay damages are GBP 1,200 a day."))
    yield Room(library)
    database.close()
    cluster.drop(name)


def mistakes() -> Iterator[tuple[str, JsonObject, tuple[str, ...]]]:
    """Every mistake that a tool's schema tells of: its arguments, and what has to be said."""
    for tool in builtin_tools.BUILTIN_TOOLS:
        right = RIGHT.get(tool.name, {})
        for name in _required(tool):
            rest = {given: value for given, value in right.items() if given != name}
            yield tool.name, rest, ("arguments:", "missing:", name)
        for name, schema in _properties(tool).items():
            yield tool.name, {**right, f"{name}s": "x"}, (f"unknown: {name}s", f"did you mean '{name}'?")
            yield from ((tool.name, {**right, name: value}, (f"{name}:", *told)) for value, told in _misfits(schema))


def _required(tool: Tool) -> list[str]:
    found = tool.schema.get("required")
    return [str(name) for name in found] if isinstance(found, list) else []


def _properties(tool: Tool) -> dict[str, Any]:
    found = tool.schema["properties"]
    return found if isinstance(found, dict) else {}


def _misfits(schema: dict[str, Any]) -> Iterator[tuple[Json, tuple[str, ...]]]:
    """Values that do not fit one argument, and what is to be said of each."""
    if "type" in schema:
        yield WRONG[schema["type"]], (f"not of type {schema['type']}",)
    if "enum" in schema:
        yield "nonsense", tuple(schema["enum"])
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1), (f"maximum of {schema['maxLength']}",)
    if "maximum" in schema:
        yield schema["maximum"] + 1, (f"maximum of {schema['maximum']}",)
    if "minimum" in schema:
        yield schema["minimum"] - 1, (f"minimum of {schema['minimum']}",)
    if "maxItems" in schema:
        yield [{}] * (schema["maxItems"] + 1), (f"maximum of {schema['maxItems']}",)
    if schema.get("type") == "array" and "type" in schema["items"]:
        yield [WRONG[schema["items"]["type"]]], (f"not of type {schema['items']['type']}",)


def _refused(room: Room, tool: str, arguments: JsonObject, told: tuple[str, ...]) -> None:
    content = room.call(tool, **arguments).content
    message = str(content.get("message"))
    assert {**content, "message": ""} == {"ok": False, "code": "invalid_arguments", "retryable": False, "message": ""}
    said = f"{message} {message.replace('[0]:', ':')}"
    assert [words for words in told if words not in said] == [], message
    assert len(message) < 1_500


@pytest.mark.parametrize(("tool", "arguments", "told"), list(mistakes()))
def test_a_mistake_against_the_schema_is_told(
    room: Room, tool: str, arguments: JsonObject, told: tuple[str, ...]
) -> None:
    _refused(room, tool, arguments, told)


@pytest.mark.parametrize(("tool", "wrong", "told"), TOLD)
def test_a_mistake_against_the_records_is_told(room: Room, tool: str, wrong: JsonObject, told: tuple[str, ...]) -> None:
    _refused(room, tool, {**RIGHT[tool], **wrong}, told)


@pytest.mark.parametrize("tool", [tool.name for tool in builtin_tools.BUILTIN_TOOLS])
def test_the_call_is_right_without_the_mistake(room: Room, tool: str) -> None:
    assert room.call(tool, **RIGHT[tool]).ok
    assert [name for name, *_ in TOLD if name == tool]
