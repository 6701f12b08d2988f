"""The tools by which models find their way through documents: which there are, what is known of them, their text."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from parlour.documents import catalogue, pages
from parlour.documents.catalogue import Document
from parlour.documents.pages import TextPage
from parlour.infra import log
from parlour.infra.errors import InvalidArguments, ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.records import crud
from parlour.records.record import Record, printable_reference
from parlour.search.citation_numbers import assign_numbers
from parlour.search.hybrid_search import EVERYWHERE, Question, SearchScope, search
from parlour.search.index.embedders import Embedder, Vector, embed_query
from parlour.search.results import SearchResult
from parlour.search.text_of_others import mark_text_of_others
from parlour.text.spelling_suggestions import did_you_mean
from parlour.tools.builtin.model_arguments import require_records, text_argument, translate_errors
from parlour.tools.run import BuiltinTool, ToolContext
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

PAGE_CHARS = 4_000
"""Characters of a page: about 1,300 tokens as they are budgeted, which the results of a turn may always take."""

_MOST_LISTED = 40
_MOST_NAMED = 20
_MOST_FOUND = 8
_MOST_SECTIONS = 40
_MOST_KNOWN = 200
"""Documents among which one of almost that name is looked for."""

_SEARCH_DEPTH = 30
"""Pieces looked at to find so many documents."""

_BEGINNING_NOTE = "This is the beginning; search_knowledge finds the rest, get_document reads it."
_NONE = "There are no documents here."
_NOT_FOUND = "Nothing was found. Search again with other words, or list the documents."


_TEXT: JsonObject = {"type": "string"}
_LONGEST_QUERY = 1_000


def _tool(name: str, description: str, properties: JsonObject, *required: str) -> Tool:
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }
    return Tool(name, description, schema, f"{BUILTIN_SCHEME}{name}", idempotent=True)


LIST_DOCUMENTS = _tool(
    "list_documents",
    "List a project's documents as a tree; default: this conversation's project, else the newest of all.",
    {"project": _TEXT, "cursor": _TEXT},
)

SEARCH_DOCUMENTS = _tool(
    "search_documents", "Find which documents are about something.", {"query": _TEXT, "project": _TEXT}, "query"
)

GET_DOCUMENT = _tool(
    "get_document",
    "Read a document, or the section under a heading, page by page.",
    {
        "document": {**_TEXT, "description": "Handle."},
        "section": _TEXT,
        "at": {"type": "integer", "description": "`next` of the page before."},
    },
    "document",
)

GET_DOCUMENT_METADATA = _tool(
    "get_document_metadata",
    "Titles, descriptions and lengths.",
    {"documents": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": _MOST_NAMED}},
    "documents",
)

DOCUMENT_TOOLS = (GET_DOCUMENT, GET_DOCUMENT_METADATA, LIST_DOCUMENTS, SEARCH_DOCUMENTS)


def document_tools(embedder: Embedder) -> Mapping[str, BuiltinTool]:
    """Return the functions behind DOCUMENT_TOOLS, by name."""
    return {
        LIST_DOCUMENTS.name: _with_translated_errors(_list_documents),
        SEARCH_DOCUMENTS.name: _with_translated_errors(_search_documents(embedder)),
        GET_DOCUMENT.name: _with_translated_errors(_get_document),
        GET_DOCUMENT_METADATA.name: _with_translated_errors(_get_document_metadata),
    }


def _with_translated_errors(builtin: BuiltinTool) -> BuiltinTool:
    """Return the tool with caller errors translated for the model, which can correct them."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        with translate_errors():
            return builtin(context, arguments)

    return run


def _list_documents(context: ToolContext, arguments: JsonObject) -> JsonObject:
    cursor = text_argument(arguments, "cursor")

    def look(tx: Transaction) -> JsonObject:
        project = _conversation_project(context, tx, text_argument(arguments, "project"))
        if project is None:
            listed = catalogue.list_newest_documents(context.principal, tx, cursor, _MOST_LISTED, context.team_id)
            return _document_list_json([_document_json(document) for document in listed.documents], listed.next_cursor)
        seen = catalogue.read_tree(context.principal, tx, project, context.team_id)
        placed = [
            _document_json(seen.by_id[one.document_id], seen.by_id[one.parent_id] if one.parent_id else None)
            for one in seen.entries
        ]
        whole = [*placed, *(_document_json(document) for document in seen.unplaced)]
        start = int(cursor) if cursor.isdecimal() and len(cursor) < 7 else -bool(cursor)
        if start < 0 or start > len(whole):
            raise InvalidArguments("cursor: use the `next_cursor` of the previous page unchanged, or none")
        rest = str(start + _MOST_LISTED) if len(whole) > start + _MOST_LISTED else ""
        return {"project": project.handle, **_document_list_json(whole[start : start + _MOST_LISTED], rest)}

    return context.database.run(context.principal, look)


def _search_documents(embedder: Embedder) -> BuiltinTool:
    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        query = text_argument(arguments, "query")
        if not query:
            raise InvalidArguments("query: say what to look for, in words")
        if len(query) > _LONGEST_QUERY:
            raise InvalidArguments(f"query: {len(query):,} characters are more than the {_LONGEST_QUERY:,} allowed")
        vector = _embed(embedder, query, context)

        def look(tx: Transaction) -> JsonObject:
            scope = EVERYWHERE
            if named := text_argument(arguments, "project"):
                scope = SearchScope(project_id=_require_project(context, tx, named).id)
            rows = search(
                context.principal,
                tx,
                Question(text=query, vector=vector),
                scope=scope,
                limit=_SEARCH_DEPTH,
                team_id=context.team_id,
            )
            best = _best_by_document(rows)
            found, _ = catalogue.find_documents(context.principal, tx, [*best], context.team_id)
            documents: list[Json] = [{**_document_json(one), **_section(best[one.key])} for one in found[:_MOST_FOUND]]
            return {"documents": documents} if documents else {"documents": [], "hint": _NOT_FOUND}

        return context.database.run(context.principal, look)

    return run


def _get_document(context: ToolContext, arguments: JsonObject) -> JsonObject:
    at = arguments.get("at")
    start = int(at) if isinstance(at, int | float) else 0
    section = text_argument(arguments, "section")

    def look(tx: Transaction) -> JsonObject:
        document = require_document(context, tx, text_argument(arguments, "document"), "document")
        content = catalogue.read_text(tx, document)
        begin, end = _section_span(document, content, section)
        if start > len(content):
            raise InvalidArguments(f"at: the document has {len(content):,} characters; use `next` of the page before")
        page, parts, sources = _read_page(context, tx, document, content, (max(start, begin), end))
        said: JsonObject = {"handle": document.handle, "title": document.title, "length": document.length}
        said |= {"parts": parts}
        said |= {} if page.next_start is None else {"next": page.next_start}
        said = mark_text_of_others(tx, sources, said)
        return said if start or section or page.next_start is None else {**said, "sections": _sections(content)}

    return context.database.run(context.principal, look)


def read_beginning(
    context: ToolContext, tx: Transaction, document: Document
) -> tuple[JsonObject, Sequence[SearchResult]]:
    """Return the first page of a document in numbered parts, and its rows."""
    page, parts, sources = _read_page(context, tx, document, catalogue.read_text(tx, document), (0, None))
    content: JsonObject = {"length": document.length, "parts": parts}
    return (content if page.next_start is None else {**content, "note": _BEGINNING_NOTE}), sources


def _read_page(
    context: ToolContext, tx: Transaction, document: Document, content: str, span: tuple[int, int | None]
) -> tuple[TextPage, list[Json], Sequence[SearchResult]]:
    page = pages.cut_page(content, span[0], PAGE_CHARS, span[1])
    read = catalogue.find_rows_on_page(context.principal, tx, document, content, page)
    sources = list({row.row_id: row for _, row in read if row}.values())
    numbers = assign_numbers(tx, context.session_id, sources, context.fencing_token)
    return page, [_part_json(text, row, numbers) for text, row in read], sources


def _part_json(text: str, row: SearchResult | None, numbers: Mapping[UUID, int]) -> JsonObject:
    """Return a part of a page with the number that it is cited by and where it stands, as far as known."""
    number = numbers.get(row.row_id) if row else None
    locator = row.locator if row else ""
    known: JsonObject = {"n": number, "metadata": locator or None, "contents": text}
    return {name: value for name, value in known.items() if value is not None}


def _get_document_metadata(context: ToolContext, arguments: JsonObject) -> JsonObject:
    named = arguments["documents"]
    refs = [str(one) for one in named] if isinstance(named, list) else []

    def look(tx: Transaction) -> JsonObject:
        found, missing = catalogue.find_documents(context.principal, tx, refs, context.team_id)
        said: JsonObject = {"documents": [_document_metadata_json(document) for document in found]}
        return {**said, "not_found": [*missing]} if missing else said

    return context.database.run(context.principal, look)


def _conversation_project(context: ToolContext, tx: Transaction, named: str) -> Record | None:
    """Return the named project, else that of the record that the conversation is about."""
    if named:
        return _require_project(context, tx, named)
    about = crud.find_records(context.principal, tx, [context.entity_id]) if context.entity_id else []
    for record in about:
        if record.type == catalogue.PROJECT_TYPE:
            return record
        if record.project is not None:
            return catalogue.get_project(context.principal, tx, record.project)
    return None


def _require_project(context: ToolContext, tx: Transaction, named: str) -> Record:
    (record,) = require_records(context.principal, tx, [named], "project")
    return catalogue.get_project(context.principal, tx, record.id)


def require_document(context: ToolContext, tx: Transaction, named: str, argument: str) -> Document:
    """Return the named document; else InvalidArguments suggests which one the argument may mean."""
    found, missing = catalogue.find_documents(context.principal, tx, [named], context.team_id)
    if not missing:
        return found[0]
    newest = catalogue.list_newest_documents(context.principal, tx, "", _MOST_KNOWN, context.team_id).documents
    near = did_you_mean(named, [document.handle for document in newest])
    raise InvalidArguments(
        f"{argument}: there is no document {printable_reference(named)}{near}; list_documents has all"
    )


def _section_span(document: Document, content: str, section: str) -> tuple[int, int]:
    """Which part of the text is asked for: all of it, or a section."""
    if not section:
        return 0, len(content)
    if (found := pages.find_section(content, section)) is None:
        there = [heading.text for heading in pages.find_headings(content)]
        known = "; ".join(there[:_MOST_SECTIONS]) or "none"
        raise InvalidArguments(
            f"section: {document.handle} has no such heading{did_you_mean(section, there)}; it has: {known}"
        )
    return found


def _best_by_document(rows: Sequence[SearchResult]) -> dict[str, SearchResult]:
    """Return the best row of each document, by its key; a row about a document's record counts as its own."""
    best: dict[str, SearchResult] = {}
    for row in rows:
        key = row.document_key or (row.entity_key if row.entity_type == "document" else None)
        if key:
            best.setdefault(key, row)
    return best


def _section(row: SearchResult) -> JsonObject:
    """Return the heading under which the best piece is, as get_document takes it."""
    heading = str(row.metadata.get("heading") or "").rpartition(" > ")[2]
    return {"section": heading} if row.document_key and heading else {}


def _document_json(document: Document, parent: Document | None = None) -> JsonObject:
    content: JsonObject = {"handle": document.handle, "title": document.title, "length": document.length}
    content |= {"description": document.description} if document.description else {}
    content |= {"under": parent.handle} if parent else {}
    return content | ({"is_context": True} if document.is_context else {})


def _document_metadata_json(document: Document) -> JsonObject:
    said = {**_document_json(document), "updated_at": document.updated_at.isoformat(timespec="minutes")}
    known = {"state": document.state, "project": document.project}
    return {**said, **{name: value for name, value in known.items() if value}}


def _document_list_json(documents: Sequence[JsonObject], cursor: str) -> JsonObject:
    said: JsonObject = {"documents": [*documents]} if documents else {"documents": [], "hint": _NONE}
    return {**said, "next_cursor": cursor} if cursor else said


def _sections(content: str) -> list[Json]:
    found = pages.find_headings(content)
    more: list[Json] = [f"... and {len(found) - _MOST_SECTIONS} more"] if len(found) > _MOST_SECTIONS else []
    return [*(heading.text for heading in found[:_MOST_SECTIONS]), *more]


def _embed(embedder: Embedder, query: str, context: ToolContext) -> Vector | None:
    """Return the question's vector, or None: words alone find less, and more than an error does."""
    try:
        return embed_query(embedder, query)
    except (ProviderUnavailable, ProviderRejected) as error:
        log.error("embedding_unavailable", error, turn_id=context.turn_id)
        log.count("EmbeddingUnavailable")
        return None
