"""The tools by which models find their way through documents: which there are, what is known of them, their text."""

from collections.abc import Mapping, Sequence

from parlour.infra import log
from parlour.infra.errors import InvalidArguments, ProviderRejected, ProviderUnavailable
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.documents import catalogue, pages
from parlour.knowledge.documents.catalogue import Document
from parlour.knowledge.index.embed import Embedder, Vector, embed_question
from parlour.knowledge.records import entities
from parlour.knowledge.records.record import Entity, shown
from parlour.knowledge.search.found import Found
from parlour.knowledge.search.search import EVERYWHERE, Scope, search
from parlour.knowledge.search.sources import number_rows
from parlour.knowledge.tools.asked import find, told, word
from parlour.text.suggestions import meant
from parlour.tools.definition import BUILT_IN, Tool
from parlour.tools.run import Builtin, ToolContext

PAGE = 4_000
"""Characters of a page: about 1,300 tokens as they are budgeted, which the results of a turn may always take."""

_MOST_LISTED = 40
_MOST_NAMED = 20
_MOST_FOUND = 8
_MOST_SECTIONS = 40
_MOST_KNOWN = 200
"""Documents among which one of almost that name is looked for."""

_DEPTH = 30
"""Pieces looked at to find so many documents."""

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
    return Tool(name, description, schema, f"{BUILT_IN}{name}", idempotent=True)


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


def document_tools(embedder: Embedder) -> Mapping[str, Builtin]:
    """What is behind DOCUMENT_TOOLS, by name."""
    return {
        LIST_DOCUMENTS.name: _told(_list),
        SEARCH_DOCUMENTS.name: _told(_searching(embedder)),
        GET_DOCUMENT.name: _told(_get),
        GET_DOCUMENT_METADATA.name: _told(_metadata),
    }


def _told(builtin: Builtin) -> Builtin:
    """A mistake of the caller's is the model's, who can correct it."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        with told():
            return builtin(context, arguments)

    return run


def _list(context: ToolContext, arguments: JsonObject) -> JsonObject:
    cursor = word(arguments, "cursor")

    def look(tx: Transaction) -> JsonObject:
        project = _project(context, tx, word(arguments, "project"))
        if project is None:
            listed = catalogue.newest(context.principal, tx, cursor, _MOST_LISTED, context.team_id)
            return _listed([_known(document) for document in listed.documents], listed.next_cursor)
        seen = catalogue.tree_of(context.principal, tx, project, context.team_id)
        placed = [
            _known(seen.by_id[one.document_id], seen.by_id[one.parent_id] if one.parent_id else None)
            for one in seen.placed
        ]
        whole = [*placed, *(_known(document) for document in seen.others)]
        start = int(cursor) if cursor.isdecimal() and len(cursor) < 7 else -bool(cursor)
        if start < 0 or start > len(whole):
            raise InvalidArguments("cursor: use the `next_cursor` of the page before as it is, or none")
        rest = str(start + _MOST_LISTED) if len(whole) > start + _MOST_LISTED else ""
        return {"project": project.handle, **_listed(whole[start : start + _MOST_LISTED], rest)}

    return context.database.run(context.principal, look)


def _searching(embedder: Embedder) -> Builtin:
    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        query = word(arguments, "query")
        if not query:
            raise InvalidArguments("query: say what to look for, in words")
        if len(query) > _LONGEST_QUERY:
            raise InvalidArguments(f"query: {len(query):,} characters are more than the {_LONGEST_QUERY:,} allowed")
        vector = _embed(embedder, query, context)

        def look(tx: Transaction) -> JsonObject:
            scope = EVERYWHERE
            if named := word(arguments, "project"):
                scope = Scope(project_id=_named_project(context, tx, named).id)
            rows = search(
                context.principal, tx, query=query, vector=vector, scope=scope, most=_DEPTH, team_id=context.team_id
            )
            best = _best_by_document(rows)
            found, _ = catalogue.find_many(context.principal, tx, [*best], context.team_id)
            documents: list[Json] = [{**_known(one), **_section(best[one.key])} for one in found[:_MOST_FOUND]]
            return {"documents": documents} if documents else {"documents": [], "hint": _NOT_FOUND}

        return context.database.run(context.principal, look)

    return run


def _get(context: ToolContext, arguments: JsonObject) -> JsonObject:
    at = arguments.get("at")
    start = int(at) if isinstance(at, int | float) else 0
    section = word(arguments, "section")

    def look(tx: Transaction) -> JsonObject:
        document = document_named(context, tx, word(arguments, "document"), "document")
        content = catalogue.text(tx, document)
        begin, end = _span(document, content, section)
        if start > len(content):
            raise InvalidArguments(f"at: the document has {len(content):,} characters; use `next` of the page before")
        page = pages.page(content, max(start, begin), PAGE, end)
        source = catalogue.piece_of(context.principal, tx, document, page)
        numbers = number_rows(tx, context.session_id, [source] if source else [], context.fence)
        said: JsonObject = {"document": numbers[source.row_id]} if source and source.row_id in numbers else {}
        said |= {"handle": document.handle, "title": document.title, "length": document.length}
        said |= {"heading": " > ".join(page.heading)} if page.heading else {}
        said |= {"contents": page.contents}
        said |= {} if page.next is None else {"next": page.next}
        return said if start or section or page.next is None else {**said, "sections": _sections(content)}

    return context.database.run(context.principal, look)


def _metadata(context: ToolContext, arguments: JsonObject) -> JsonObject:
    named = arguments["documents"]
    refs = [str(one) for one in named] if isinstance(named, list) else []

    def look(tx: Transaction) -> JsonObject:
        found, missing = catalogue.find_many(context.principal, tx, refs, context.team_id)
        said: JsonObject = {"documents": [_described(document) for document in found]}
        return {**said, "not_found": [*missing]} if missing else said

    return context.database.run(context.principal, look)


def _project(context: ToolContext, tx: Transaction, named: str) -> Entity | None:
    """The project that is meant: the one named, else that of the record that the conversation is about."""
    if named:
        return _named_project(context, tx, named)
    about = entities.read_many(context.principal, tx, [context.entity_id]) if context.entity_id else []
    for record in about:
        if record.type == catalogue.PROJECT:
            return record
        if record.project is not None:
            return catalogue.project(context.principal, tx, record.project)
    return None


def _named_project(context: ToolContext, tx: Transaction, named: str) -> Entity:
    (record,) = find(context.principal, tx, [named], "project")
    return catalogue.project(context.principal, tx, record.id)


def document_named(context: ToolContext, tx: Transaction, named: str, name: str) -> Document:
    """The document that is meant; else InvalidArguments says for the argument `name` which it may have meant."""
    found, missing = catalogue.find_many(context.principal, tx, [named], context.team_id)
    if not missing:
        return found[0]
    newest = catalogue.newest(context.principal, tx, "", _MOST_KNOWN, context.team_id).documents
    near = meant(named, [document.handle for document in newest])
    raise InvalidArguments(f"{name}: there is no document {shown(named)}{near}; list_documents has all")


def _span(document: Document, content: str, section: str) -> tuple[int, int]:
    """Which part of the text is asked for: all of it, or a section."""
    if not section:
        return 0, len(content)
    if (found := pages.section(content, section)) is None:
        there = [heading.text for heading in pages.headings(content)]
        known = "; ".join(there[:_MOST_SECTIONS]) or "none"
        raise InvalidArguments(
            f"section: {document.handle} has no such heading{meant(section, there)}; it has: {known}"
        )
    return found


def _best_by_document(rows: Sequence[Found]) -> dict[str, Found]:
    """The best row of each document, by the document's key; a row about a document's record counts as its own."""
    best: dict[str, Found] = {}
    for row in rows:
        key = row.document_key or (row.entity_key if row.entity_type == "document" else None)
        if key:
            best.setdefault(key, row)
    return best


def _section(row: Found) -> JsonObject:
    """Where in the document the best piece stands."""
    return {"section": row.locator} if row.document_key and row.locator else {}


def _known(document: Document, parent: Document | None = None) -> JsonObject:
    said: JsonObject = {"document": document.handle, "title": document.title, "length": document.length}
    said |= {"description": document.description} if document.description else {}
    said |= {"under": parent.handle} if parent else {}
    return said | ({"is_context": True} if document.is_context else {})


def _described(document: Document) -> JsonObject:
    said = {**_known(document), "updated_at": document.updated_at.isoformat(timespec="minutes")}
    known = {"state": document.state, "project": document.project}
    return {**said, **{name: value for name, value in known.items() if value}}


def _listed(documents: Sequence[JsonObject], cursor: str) -> JsonObject:
    said: JsonObject = {"documents": [*documents]} if documents else {"documents": [], "hint": _NONE}
    return {**said, "next_cursor": cursor} if cursor else said


def _sections(content: str) -> list[Json]:
    found = pages.headings(content)
    more: list[Json] = [f"... and {len(found) - _MOST_SECTIONS} more"] if len(found) > _MOST_SECTIONS else []
    return [*(heading.text for heading in found[:_MOST_SECTIONS]), *more]


def _embed(embedder: Embedder, query: str, context: ToolContext) -> Vector | None:
    """The question's vector, or None: words alone find less, and more than an error does."""
    try:
        return embed_question(embedder, query)
    except (ProviderUnavailable, ProviderRejected) as error:
        log.error("embedding_unavailable", error, turn_id=context.turn_id)
        log.count("EmbeddingUnavailable")
        return None
