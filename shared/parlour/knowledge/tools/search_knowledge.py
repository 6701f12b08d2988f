"""The tools that this room gives to models."""

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import InvalidArguments, ProviderRejected, ProviderUnavailable
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.index.embed import Embedder, Vector, embed_question
from parlour.knowledge.search.found import Found
from parlour.knowledge.search.search import search
from parlour.knowledge.search.sources import number_rows
from parlour.tools.definition import BUILT_IN, Tool
from parlour.tools.run import Builtin, ToolContext

_DEFAULT_LIMIT = 6
_HIGHEST_LIMIT = 10
"""Ten pieces of 900 characters are about 2,300 tokens: what a turn's tool results may take."""

_ALIKE = 0.9
"""Two texts that share this part of their words say the same; the better placed one stays."""

_NOTHING = "Nothing was found. Search again with other words, or say that the documents do not tell."

SEARCH_KNOWLEDGE = Tool(
    name="search_knowledge",
    description=(
        "Search the documents and records you have been given: contracts, reports, e-mails, records of the business. "
        "Use it before answering any question of fact about them, and again with other words when the first results "
        "do not answer. It returns numbered documents; cite what you use as [n] with the document's number. "
        "Ask one thing per search, with the names, numbers and terms that the answer is likely to contain."
    ),
    schema={
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1000,
                "description": "What to look for, understandable by itself: no 'it' or 'that' from the conversation.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": _HIGHEST_LIMIT,
                "default": _DEFAULT_LIMIT,
                "description": "How many documents to return.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    endpoint=f"{BUILT_IN}search_knowledge",
    idempotent=True,
)
"""The definition that a pack gets when it only names the tool."""


def search_knowledge(embedder: Embedder) -> Builtin:
    """The built-in behind SEARCH_KNOWLEDGE: hybrid search as the principal, with session-stable numbers."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        query, limit = _read(arguments)
        vector = _embed(embedder, query, context)

        def look(tx: Transaction) -> tuple[list[Found], Mapping[UUID, int]]:
            found = _different(search(context.principal, tx, query=query, vector=vector, most=2 * limit))[:limit]
            return found, number_rows(tx, context.session_id, found, context.fence)

        rows, numbers = context.database.run(context.principal, look)
        documents: list[Json] = [_document(numbers[row.row_id], row) for row in rows]
        return {"documents": documents} if documents else {"documents": [], "hint": _NOTHING}

    return run


def _read(arguments: JsonObject) -> tuple[str, int]:
    """Query and limit; what a database cannot store is taken out of the query."""
    query = str(arguments["query"]).replace("\x00", " ").encode("utf-8", "replace").decode().strip()
    if not query:
        raise InvalidArguments("query: say what to look for, in words")
    limit = arguments.get("limit", _DEFAULT_LIMIT)
    return query, int(limit) if isinstance(limit, int | float) else _DEFAULT_LIMIT


def _embed(embedder: Embedder, query: str, context: ToolContext) -> Vector | None:
    """The question's vector, or None: words alone find less, and more than an error does."""
    try:
        return embed_question(embedder, query)
    except (ProviderUnavailable, ProviderRejected) as error:
        log.error("embedding_unavailable", error, turn_id=context.turn_id)
        log.count("EmbeddingUnavailable")
        return None


def _different(rows: Sequence[Found]) -> list[Found]:
    """The rows without those that repeat a better one almost word for word."""
    kept: list[tuple[Found, frozenset[str]]] = []
    for row in rows:
        words = frozenset(re.findall(r"\w+", row.body.casefold()))
        if not any(_overlap(words, others) >= _ALIKE for _, others in kept):
            kept.append((row, words))
    return [row for row, _ in kept]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


def _document(number: int, row: Found) -> JsonObject:
    return {"document": number, "title": row.title, "metadata": row.about, "contents": row.body}
