"""The tools by which models find their way through documents."""

import json
from dataclasses import replace
from typing import Any

import pytest

from parlour.documents import authored_documents
from parlour.documents.authored_documents import NewDocument
from parlour.documents.catalogue import Document
from parlour.documents.pack_import import DocumentDraft
from parlour.documents.projects import create_project
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json
from parlour.infra.queries import Query
from parlour.records.record import RecordInput
from parlour.tools.builtin.document_tools import DOCUMENT_TOOLS, PAGE_CHARS, document_tools
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.result import ToolResult
from parlour.tools.run import ToolContext, run_tool
from tests.integration.knowledge_tenant import LEASE_TOKEN, KnowledgeTenant, execute

LONG = "# Method\n\nIntroduction.\n\n" + "".join(
    f"## Part {number}\n\n{'The slab is poured in bays. ' * 30}\n\n" for number in range(12)
)


@pytest.fixture
def tower(library: KnowledgeTenant) -> KnowledgeTenant:
    """A library with a project and three documents in its tree."""
    with library.database.transaction(library.principal) as tx:
        new = RecordInput("project", "Tower", key="tower")
        create_project(library.principal, tx, new, "Twelve floors by March.", library.now)
    method = write(library, "Method", LONG, key="method", description="How the slab is poured")
    write(library, "Curing", "## Duration\n\nSeven days under wet hessian.", key="curing", parent=method.handle)
    write(library, "Margin", "The margin is nine per cent.", key="margin", classification=3)
    return library


def write(library: KnowledgeTenant, title: str, content: str, **more: object) -> Document:
    with library.database.transaction(library.principal) as tx:
        new = NewDocument("project/tower", title, content=content, **more)  # type: ignore[arg-type]
        return authored_documents.create_document(library.principal, tx, new, library.now)


def call(library: KnowledgeTenant, name: str, about: Document | None = None, **arguments: Json) -> ToolResult:
    context = ToolContext(
        library.principal,
        library.database,
        library.session_id,
        uuid7(library.now),
        library.now,
        LEASE_TOKEN,
        entity_id=about.own_entity_id if about else None,
    )
    (tool,) = [tool for tool in DOCUMENT_TOOLS if tool.name == name]
    return run_tool(context, tool, {**arguments}, {"python": PythonEndpoint(document_tools(library.embedder))})


def told(library: KnowledgeTenant, name: str, about: Document | None = None, **arguments: Json) -> Any:
    result = call(library, name, about, **arguments)
    assert result.ok, result.text
    return json.loads(result.text)


def read_text(page: Any) -> str:
    return "".join(part["contents"] for part in page["parts"])


def below(library: KnowledgeTenant) -> KnowledgeTenant:
    return replace(library, principal=replace(library.principal, clearance=1))


def test_a_projects_documents_are_listed_as_a_tree(tower: KnowledgeTenant) -> None:
    listed = told(below(tower), "list_documents", project="project/tower")
    assert listed["project"] == "project/tower"
    context, method, curing = listed["documents"]
    assert context["is_context"]
    assert method == {
        "handle": "document/method",
        "title": "Method",
        "description": "How the slab is poured",
        "length": len(LONG),
    }
    assert curing["under"] == "document/method"


def test_without_a_project_the_conversations_own_is_listed_else_the_newest(tower: KnowledgeTenant) -> None:
    note = write(tower, "Note", "x")
    assert told(tower, "list_documents", note)["project"] == "project/tower"
    assert len(told(tower, "list_documents")["documents"]) == 5
    assert "margin" not in str(told(below(tower), "list_documents"))


def test_a_long_list_is_read_on(tower: KnowledgeTenant) -> None:
    for number in range(45):
        write(tower, f"Note {number}", "x")
    first = told(tower, "list_documents", project="project/tower")
    rest = told(tower, "list_documents", project="project/tower", cursor=first["next_cursor"])
    assert len(first["documents"]) + len(rest["documents"]) == 49
    newest = told(tower, "list_documents")
    assert len(told(tower, "list_documents", cursor=newest["next_cursor"])["documents"]) == 9


_MARK_CURING = Query(
    "test.mark",
    "Others wrote it.",
    """UPDATE documents SET metadata = '{"written_by_others": true}' WHERE key = 'curing'""",
)


def test_the_text_of_others_is_marked_where_it_is_read(tower: KnowledgeTenant) -> None:
    assert "written_by_others" not in told(tower, "get_document", document="document/curing")
    with tower.database.transaction(tower.principal) as tx:
        tx.run(_MARK_CURING)
    assert told(tower, "get_document", document="document/curing")["written_by_others"] is True
    assert "written_by_others" not in told(tower, "get_document", document="document/method")


def test_a_document_is_read_page_by_page_without_a_gap(tower: KnowledgeTenant) -> None:
    first = told(tower, "get_document", document="document/method")
    assert first["sections"][:3] == ["Method", "Part 0", "Part 1"]
    assert told(tower, "get_document", document="document/method", at=-5)["parts"] == first["parts"]
    text, page = read_text(first), first
    while "next" in page:
        page = told(tower, "get_document", document="document/method", at=page["next"])
        assert len(read_text(page)) <= PAGE_CHARS
        text += read_text(page)
    assert text == LONG
    assert page["parts"][-1]["metadata"] == "Part 11"


def test_each_section_of_a_page_has_the_number_that_it_is_cited_by(tower: KnowledgeTenant) -> None:
    one = told(tower, "get_document", document="document/curing")["parts"]
    again = told(tower, "get_document", document="document/curing")["parts"]
    other = told(tower, "get_document", document="document/method", section="Part 7")["parts"]
    assert [[part["n"] for part in parts] for parts in (one, again, other)] == [[1], [1], [2]]
    page = told(tower, "get_document", document="document/method")["parts"]
    assert [(part["n"], part.get("metadata", "")) for part in page] == [
        (3, ""),
        *((4 + number, f"Part {number}") for number in range(len(page) - 1)),
    ]
    with tower.database.transaction(tower.principal) as tx:
        assert execute(tx, "SELECT FROM citation_numbers WHERE number = 2 AND locator LIKE '%%Part 7%%'") == 1


def test_a_section_over_two_pages_has_a_number_for_each(tower: KnowledgeTenant) -> None:
    pages = ["# 8. Payment\n\n## 8.5\n\nBy the tenth.", "Of the next month.\n\n## 9. Ground\n\nThe risk is shared.\n"]
    text = "\n<!-- page: 2 -->\n".join(pages)
    tower.import_documents(DocumentDraft("terms.md", "Main works contract", text))
    parts = told(tower, "get_document", document="document/terms.md")["parts"]
    assert "".join(part["contents"] for part in parts) == text
    assert [part["metadata"] for part in parts] == [
        "8. Payment > 8.5",
        "8. Payment > 8.5 · page 2",
        "8. Payment > 9. Ground · page 2",
    ]
    assert len({part["n"] for part in parts}) == 3


def test_one_section_is_read_alone(tower: KnowledgeTenant) -> None:
    section = told(tower, "get_document", document="document/method", section="part 7")
    assert read_text(section).startswith("## Part 7")
    assert "Part 8" not in read_text(section)
    assert "next" not in section
    missing = call(tower, "get_document", document="document/curing", section="Liability")
    assert "it has: Duration" in str(missing.content["message"])


def test_metadata_of_several_comes_in_one_call_without_any_text(tower: KnowledgeTenant) -> None:
    wanted: list[Json] = ["document/curing", "document/none", "document/method"]
    known = told(tower, "get_document_metadata", documents=wanted)
    assert [one["title"] for one in known["documents"]] == ["Curing", "Method"]
    assert known["documents"][0]["project"] == "project/tower"
    assert known["not_found"] == ["document/none"]
    assert "hessian" not in str(known)


def test_documents_are_found_by_what_they_say_and_named_once(tower: KnowledgeTenant) -> None:
    tower.import_documents(DocumentDraft("other.md", "Other", "Hessian is a kind of cloth."))
    found = told(tower, "search_documents", query="wet hessian", project="project/tower")
    first = found["documents"][0]
    assert (first["handle"], first["section"]) == ("document/curing", "Duration")
    named = [one["handle"] for one in found["documents"]]
    assert len(named) == len(set(named))
    assert "document/other.md" not in named
    everywhere = told(tower, "search_documents", query="hessian")
    assert {"document/other.md", "document/curing"} <= {one["handle"] for one in everywhere["documents"]}


def test_what_is_above_the_reader_is_not_there(tower: KnowledgeTenant) -> None:
    reader = below(tower)
    assert "document/margin" not in str(told(reader, "search_documents", query="margin nine per cent"))
    assert told(reader, "get_document_metadata", documents=["document/margin"]) == {
        "documents": [],
        "not_found": ["document/margin"],
    }
    assert "no document document/margin" in str(call(reader, "get_document", document="document/margin").content)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("list_documents", {"project": "project/none"}, "project: there is no project/none"),
        ("list_documents", {"project": "task/none"}, "project: there is no task/none"),
        ("list_documents", {"cursor": "nonsense!"}, "next_cursor"),
        ("get_document", {"document": "method2"}, "document: there is no document method2"),
        ("get_document", {}, "missing: document"),
        ("get_document", {"document": "document/method", "at": "next"}, "is not of type integer"),
        ("get_document_metadata", {"documents": []}, "documents"),
        ("search_documents", {"query": " "}, "say what to look for"),
        ("search_documents", {"query": "x" * 1_001}, "1,001 characters"),
        ("search_documents", {"query": "x", "project": "document/method"}, "is a document"),
    ],
)
def test_wrong_arguments_are_answered_with_what_to_do(
    tower: KnowledgeTenant, name: str, arguments: dict[str, Json], message: str
) -> None:
    result = call(tower, name, None, **arguments)
    assert result.code == "invalid_arguments"
    assert message in str(result.content["message"])
