"""Every tool that this room gives to models: what they are told of each, and what is behind it."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from parlour.infra.errors import Misconfigured, ProviderRejected
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.infra.queues import DelayedQueue
from parlour.search.index.embedders import Embedder
from parlour.tools.builtin.ask_a_person import ask_a_person
from parlour.tools.builtin.definitions import (
    ASK_A_PERSON,
    CREATE_ENTITY,
    GET_ENTITY,
    LINK_ENTITIES,
    LIST_ENTITIES,
    RECORD_TOOLS,
    SEARCH_KNOWLEDGE,
    UPDATE_ENTITY,
)
from parlour.tools.builtin.document_tools import DOCUMENT_TOOLS, document_tools
from parlour.tools.builtin.get_linked_entities import GET_LINKED_ENTITIES, get_linked_entities
from parlour.tools.builtin.record_readers import get_entity, list_entities
from parlour.tools.builtin.record_writers import create_entity, link_entities, lookup_created, update_entity
from parlour.tools.builtin.search_knowledge import search_knowledge
from parlour.tools.run import BuiltinLookup, BuiltinTool, ToolContext

BUILTIN_TOOLS = (*RECORD_TOOLS, GET_LINKED_ENTITIES, *DOCUMENT_TOOLS, ASK_A_PERSON)
"""Their definitions."""

BUILTIN_LOOKUPS: Mapping[str, BuiltinLookup] = {CREATE_ENTITY.name: lookup_created}
"""What tells what became of a call, by the tool's name."""

type EmbedderForTenant = Callable[[Database, UUID], Embedder]
"""What a tenant's questions are embedded with."""


def builtin_handlers(embedder_of: EmbedderForTenant, embedder_queue: DelayedQueue) -> dict[str, BuiltinTool]:
    """Return the functions behind TOOLS, by name. `embedder_queue` has new rows embedded."""
    return {
        **{tool.name: _with_embedder(_document_tool(tool.name), embedder_of) for tool in DOCUMENT_TOOLS},
        ASK_A_PERSON.name: ask_a_person,
        LIST_ENTITIES.name: list_entities,
        GET_ENTITY.name: get_entity,
        CREATE_ENTITY.name: create_entity(embedder_queue),
        UPDATE_ENTITY.name: update_entity(embedder_queue),
        LINK_ENTITIES.name: link_entities(embedder_queue),
        GET_LINKED_ENTITIES.name: get_linked_entities,
        SEARCH_KNOWLEDGE.name: _with_embedder(search_knowledge, embedder_of),
    }


def _document_tool(name: str) -> Callable[[Embedder], BuiltinTool]:
    return lambda embedder: document_tools(embedder)[name]


def _with_embedder(make: Callable[[Embedder], BuiltinTool], embedder_of: EmbedderForTenant) -> BuiltinTool:
    """Return a tool that embeds its question with its tenant's embedder."""

    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        try:
            embedder = embedder_of(context.database, context.principal.tenant_id)
        except Misconfigured as problem:
            embedder = _MissingEmbedder(str(problem))
        return make(embedder)(context, arguments)

    return run


class _MissingEmbedder:
    """In place of a model that the deployment names no more: lists and texts need none, and words find without it."""

    model = ""
    dimensions = 0

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def embed(self, _texts: Sequence[str], /) -> list[list[float]]:
        raise ProviderRejected(self._problem)
