"""How a turn's tool calls enter history: the call as it was asked, and one line for what came of it.

The line keeps what later turns lean on: the queries that were searched for, `[n] title` of what was found, what was
changed. Text that was read is not kept: it can be read again.
"""

from collections.abc import Collection, Sequence

from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.prompts.assembly.segment import escape_untrusted
from parlour.prompts.assembly.tool_rounds import ToolRound, is_failure, is_waiting

#: The lines of a call about which a person is asked, or was until the question was withdrawn. They have no text of the
#: tool.
WAITING, WAITING_FOR_USER = "waiting: a person is asked", "waiting: the user is asked"
WITHDRAWN = "withdrawn: nothing was done"

_MAX_LISTED = 8
_MAX_MESSAGE_CHARS = 300
"""Characters of a failure's message: it names what was missing."""

_MAX_STUB_CHARS = 600
"""Characters that a change is kept in; about 150 tokens."""

_CHANGE_SUFFIXES = ("created", "updated", "changed", "deleted", "linked", "unlinked")


def history_messages(rounds: Sequence[ToolRound], acting_tools: Collection[str] = ()) -> tuple[JsonObject, ...]:
    """Return the rounds as messages of history; `acting_tools` names the tools whose results say what was done."""
    messages: list[JsonObject] = []
    for one in rounds:
        asked: list[Json] = [block for block in one.blocks if block.get("type") == "tool_use"]
        if not asked:  # a text without calls: the reply has it
            continue
        names = _names_by_call(one)
        results: list[Json] = [
            {
                "type": "tool_result",
                "tool_use_id": call,
                "content": escape_untrusted(_stub(names.get(call, "the tool"), result, acting_tools)),
                "is_error": is_failure(result),
            }
            for call, result in one.results
        ]
        messages += [{"role": "assistant", "content": asked}, {"role": "user", "content": results}]
    return tuple(messages)


def result_stub(name: str, result: JsonObject, *, is_action: bool) -> str:
    """One line for a tool's result. Only a call that did nothing may be made again to read its result."""
    if is_waiting(result):
        return WAITING_FOR_USER if result.get("approver") == "user" else WAITING
    if result.get("ok") is False:
        failure = f"failed: {result.get('code', 'error')}"
        message = " ".join(str(result.get("message", "")).split())
        return f"{failure}: {_truncate(message, _MAX_MESSAGE_CHARS)}" if message else failure
    if isinstance(done := result.get("done"), str):
        return _truncate(f"done: {done}")
    if is_action or any(str(key).endswith(_CHANGE_SUFFIXES) for key in result):
        return _truncate(f"done: {canonical_json(result)}")
    documents = result.get("documents")
    if isinstance(documents, list) and not any(isinstance(one, dict) and "length" in one for one in documents):
        query = result.get("searched_for")
        titles = [_titled(document) for document in _objects(documents) if "title" in document]
        searched = f" (searched for: {' '.join(str(query).split())})" if query else ""
        search_stub = ("found " + "; ".join(titles) if titles else "found nothing") + searched
        return _truncate(search_stub)
    lists = [value for value in result.values() if isinstance(value, list)]
    items = [result, *(item for values in lists for item in _objects(values))]
    named = [named_item for item in items if (named_item := _name(item))]
    listed = f": {', '.join(named[:_MAX_LISTED])}" + (" ..." if len(named) > _MAX_LISTED else "") if named else ""
    is_empty = bool(lists) and not any(lists)
    return "found nothing" if is_empty else _truncate(f"answered then{listed}; call {name} again to read it")


def stub_older_rounds(rounds: Sequence[ToolRound], acting_tools: Collection[str] = ()) -> tuple[ToolRound, ...]:
    """Return the rounds with one line for each result but those of the newest."""
    older: list[ToolRound] = []
    for one in rounds[:-1]:
        names = _names_by_call(one)
        stubs: list[tuple[str, JsonObject]] = []
        for call, result in one.results:
            stub = _stub(names.get(call, "the tool"), result, acting_tools)
            stubs.append((call, {"ok": not is_failure(result), "stub": stub}))
        older.append(ToolRound(one.blocks, tuple(stubs), one.messages))
    return (*older, *rounds[-1:])


def _stub(name: str, result: JsonObject, acting_tools: Collection[str]) -> str:
    return result_stub(name, result, is_action=name in acting_tools)


def _names_by_call(tool_round: ToolRound) -> dict[str, str]:
    return {str(block["id"]): str(block["name"]) for block in tool_round.blocks if block.get("type") == "tool_use"}


def _objects(values: Sequence[Json]) -> list[JsonObject]:
    return [value for value in values if isinstance(value, dict)]


def _name(item: JsonObject) -> str:
    """Return the handle of a document or record, or the place of a document's part, after its number; "" without."""
    name = item.get("handle") or item.get("metadata")
    number = f"[{item['n']}] " if isinstance(item.get("n"), int) else ""
    return f"{number}{name}" if isinstance(name, str) else ""


def _titled(document: JsonObject) -> str:
    """Return a found document with the section that was found: `[3] Main works contract, 11. Extension of time`."""
    _, _, position = str(document.get("metadata") or "").partition(" · ")
    section = position.partition(" · ")[0]
    title = f"[{document['n']}] {document.get('title', '')}"
    return f"{title}, {section}" if section not in ("", "record") else title


def _truncate(line: str, max_chars: int = _MAX_STUB_CHARS) -> str:
    return line if len(line) <= max_chars else line[: max_chars - 4] + " ..."
