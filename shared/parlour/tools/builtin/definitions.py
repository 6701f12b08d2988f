"""What models are told of the tools for records: names, words and schemas. Pure.

Every word here is in every prompt of an agent that has the tool: the whole set is held to 1,500 tokens by a test.
Records go by their handles (`risk/R-03`), in arguments as in results; sources by the numbers of the conversation.
"""

from parlour.infra.json_values import Json, JsonObject
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

MAX_READ = 10
"""Records that one call of get_entity reads whole."""

MAX_CREATED = 20
"""Records that one call creates; more is a file, not a conversation."""

MAX_LINKS = 40

MAX_LISTED = 20
"""Records per page of list_entities."""

MAX_FOUND = 10
"""Ten pieces of 900 characters are about 2,300 tokens: what a turn's tool results may take."""

SCOPES = ("workspace", "project", "record", "type", "conversation")

_TEXT: JsonObject = {"type": "string"}
_LONGEST_NAME = 300


def _text(description: str, **more: Json) -> JsonObject:
    return {"type": "string", "description": description, **more}


def _tool(
    name: str, description: str, properties: JsonObject, *required: str, writes: bool = False, lookup: bool = False
) -> Tool:
    """Return a built-in tool. A write may be repeated under the call's key; `lookup`: its outcome can be looked up."""
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }
    endpoint = f"{BUILTIN_SCHEME}{name}"
    return Tool(
        name, description, schema, endpoint, writes=writes, idempotent=True, lookup=endpoint if lookup else None
    )


SEARCH_KNOWLEDGE = _tool(
    "search_knowledge",
    "Search documents, files, records and past messages. Results are numbered.",
    {
        "query": _text(
            "One question, clear by itself, with names and terms its answer contains.",
            minLength=1,
            maxLength=1000,
        ),
        "scope": {"enum": [*SCOPES], "description": "Where; default: workspace, which is everything."},
        "of": _text("Handle of that project or record, or that type; default: this conversation's."),
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND},
    },
    "query",
)

LIST_ENTITIES = _tool(
    "list_entities",
    "List records, last changed first.",
    {
        "kind": _text("Type."),
        "project": _text("Handle."),
        "where": {"type": "object", "description": "Exact values by property, of that type."},
        "text": _text("Words of the name."),
        "cursor": _TEXT,
    },
)

GET_ENTITY = _tool(
    "get_entity",
    "Read records with all their properties, documents with their text.",
    {
        "entities": {
            "type": "array",
            "items": _TEXT,
            "maxItems": MAX_READ,
            "description": "Handles.",
        }
    },
    "entities",
)

_LINK: JsonObject = {
    "type": "array",
    "maxItems": MAX_LINKS,
    "items": {
        "type": "object",
        "properties": {"relation": _TEXT, "to": _TEXT},
        "required": ["relation", "to"],
    },
}

CREATE_ENTITY = _tool(
    "create_entity",
    "Create a record, or several.",
    {
        "kind": _text("Type."),
        "name": {**_TEXT, "maxLength": _LONGEST_NAME},
        "properties": {"type": "object", "description": "By name; those with * must be there."},
        "project": _text("Handle."),
        "text": _text("A document's Markdown, or a project's purpose in the user's words."),
        "parent": _text("Document above a document."),
        "sources": {
            "type": "array",
            "maxItems": 10,
            "items": {"type": "integer"},
            "description": "Numbers [n] of what it is taken from; links it to their records.",
        },
        "links": {**_LINK, "description": "To a handle, or #2 for the second of this call."},
        "more": {
            "type": "array",
            "maxItems": MAX_CREATED - 1,
            "items": {"type": "object"},
            "description": "Further records, with the same fields.",
        },
    },
    "kind",
    "name",
    writes=True,
    lookup=True,
)

UPDATE_ENTITY = _tool(
    "update_entity",
    "Change a record.",
    {
        "entity": _text("Handle."),
        "kind": _text("Type, if the handle lacks it."),
        "name": _text("New name.", maxLength=_LONGEST_NAME),
        "properties": {"type": "object", "description": "Those that change; null removes one."},
        "text": _text("A document's whole new Markdown; read it first."),
        "append": _text("Markdown to add at a document's end."),
    },
    "entity",
    writes=True,
)

LINK_ENTITIES = _tool(
    "link_entities",
    "Link records, each from one handle to another.",
    {
        "links": {
            "type": "array",
            "maxItems": MAX_LINKS,
            "items": {
                "type": "object",
                "properties": {"from": _TEXT, "relation": _TEXT, "to": _TEXT},
                "required": ["from", "relation", "to"],
            },
        },
        "remove": {"type": "boolean", "description": "Unlink them instead."},
    },
    "links",
    writes=True,
)

RECORD_TOOLS = (SEARCH_KNOWLEDGE, LIST_ENTITIES, GET_ENTITY, CREATE_ENTITY, UPDATE_ENTITY, LINK_ENTITIES)

ASK_A_PERSON = _tool(
    "ask_a_person",
    "Have a person answer: the user wants one, or you cannot help. What you write beside this call is your reply; "
    "below it the runtime tells the user that a person was asked.",
    {"reason": _text("Why.", maxLength=300)},
    "reason",
)
