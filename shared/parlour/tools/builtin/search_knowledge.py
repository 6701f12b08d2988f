"""The search that models call: numbered documents, within whatever scope the conversation is about."""

from collections.abc import Mapping
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import InvalidArguments, ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.records import crud, type_registry
from parlour.records.crud import Record
from parlour.records.record import PROJECT_TYPE
from parlour.search.citation_numbers import assign_numbers
from parlour.search.hybrid_search import EVERYWHERE, Question, SearchScope, search
from parlour.search.index.embedders import Embedder, Vector, embed_texts
from parlour.search.query_expansion import expand_query, select_model_expansion
from parlour.search.results import SearchResult
from parlour.search.text_of_others import mark_text_of_others
from parlour.tools.builtin.definitions import SEARCH_KNOWLEDGE
from parlour.tools.builtin.model_arguments import require_records, text_argument, translate_errors
from parlour.tools.run import BuiltinTool, ToolContext

__all__ = ["SEARCH_KNOWLEDGE", "search_knowledge"]

_DEFAULT_LIMIT = 6

_NO_RESULTS = "Nothing was found. Search again with other words, or say that the documents do not tell."
_NO_RESULTS_IN_SCOPE = "Nothing was found in this scope. Search the workspace, or with other words."

_RECORD_ROWS = ("snapshot", "delta", "relationship")
"""The kinds of rows that are a record's own text."""

_NO_TYPE_ID = UUID(int=0)
"""The id of no type: of a kind that everybody has and the tenant does not use yet, there is nothing to find."""


def search_knowledge(embedder: Embedder) -> BuiltinTool:
    """Return the built-in behind SEARCH_KNOWLEDGE: hybrid search, with numbers that are stable in the session."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        query = text_argument(arguments, "query")  # without what a database cannot store
        if not query:
            raise InvalidArguments("query: say what to look for, in words")
        asked_limit = arguments.get("limit", _DEFAULT_LIMIT)
        limit = int(asked_limit) if isinstance(asked_limit, int | float) else _DEFAULT_LIMIT
        previous = select_model_expansion(query, context.user_messages)
        wanted = expand_query(query, previous)
        vectors = _embed(embedder, list(dict.fromkeys([wanted, query])), context)

        def look(tx: Transaction) -> JsonObject:
            scope = _scope(context, tx, arguments)
            found = search(
                context.principal,
                tx,
                Question(
                    text=query, vector=vectors.get(wanted), unexpanded_vector=vectors.get(query), previous=previous
                ),
                scope=scope,
                limit=limit,
                team_id=context.team_id,
            )
            numbers = assign_numbers(tx, context.session_id, found, context.fencing_token)
            documents: list[Json] = [_result_json(numbers[row.row_id], row) for row in found if row.row_id in numbers]
            return mark_text_of_others(tx, found, {"documents": documents})

        with translate_errors("of"):
            found: JsonObject = context.database.run(context.principal, look)
        if not found["documents"]:
            found["hint"] = _NO_RESULTS_IN_SCOPE if _scope_arguments(arguments) != ("workspace", "") else _NO_RESULTS
        return {**found, "searched_for": wanted} if wanted != query else found

    return run


def _embed(embedder: Embedder, texts: list[str], context: ToolContext) -> Mapping[str, Vector]:
    """Return the vectors of the question in its wordings.

    None when the service is unavailable: words alone find less, and more than an error does.
    """
    try:
        vectors = embed_texts(embedder, texts)
    except (ProviderUnavailable, ProviderRejected) as error:
        log.error("embedding_unavailable", error, turn_id=context.turn_id)
        log.count("EmbeddingUnavailable")
        return {}
    return {text: Vector(vectors.space, vectors.by_text[text]) for text in texts}


def _scope_arguments(arguments: JsonObject) -> tuple[str, str]:
    """Return the scope and what it is of. A handle alone means the record, a bare word the type."""
    scope, of = text_argument(arguments, "scope"), text_argument(arguments, "of")
    if scope or not of:
        return scope or "workspace", of
    if "/" not in of:
        return "type", of
    return ("project" if of.startswith(f"{PROJECT_TYPE}/") else "record"), of


def _scope(context: ToolContext, tx: Transaction, arguments: JsonObject) -> SearchScope:
    """Where to look; InvalidArguments says what is missing, and what there is."""
    match _scope_arguments(arguments):
        case "conversation", _:
            return SearchScope(session_id=context.session_id)
        case "type", of:
            return SearchScope(
                type_id=type_registry.get_record_type(tx, of or _conversation_record(context, tx, "type").type).id
                or _NO_TYPE_ID
            )
        case "record", of:
            return SearchScope(entity_id=_record(context, tx, of, "record").id)
        case "project", of:
            return SearchScope(project_id=_project(context, tx, of))
    return EVERYWHERE


def _record(context: ToolContext, tx: Transaction, of: str, scope: str) -> Record:
    return require_records(context.principal, tx, [of], "of")[0] if of else _conversation_record(context, tx, scope)


def _project(context: ToolContext, tx: Transaction, of: str) -> UUID:
    record = _record(context, tx, of if not of or "/" in of else f"{PROJECT_TYPE}/{of}", PROJECT_TYPE)
    if record.type == PROJECT_TYPE:
        return record.id
    if of or record.project_id is None:
        raise InvalidArguments(f"of: {record.handle} is not a project; search the record, or give a project's handle")
    return record.project_id


def _conversation_record(context: ToolContext, tx: Transaction, scope: str) -> Record:
    """Return the record that the conversation is about."""
    if context.entity_id is None:
        example = "risk" if scope == "type" else f"{scope if scope == PROJECT_TYPE else 'task'}/..."
        raise InvalidArguments(f"of: this conversation is about no record; say which {scope}, like {example}")
    return crud.get_record(context.principal, tx, context.entity_id)


def _result_json(number: int, row: SearchResult) -> JsonObject:
    """Return a numbered document with its own handle, and that of the record which it is about."""
    document: JsonObject = {"n": number, "title": row.title, "metadata": row.source_label, "contents": row.body}
    record = f"{row.entity_type}/{row.entity_key}" if row.entity_type and row.entity_key else ""
    handle = f"document/{row.document_key}" if row.document_key else record if row.kind in _RECORD_ROWS else ""
    if handle:
        document["handle"] = handle
    if record not in ("", handle):
        document["about"] = record
    return document
