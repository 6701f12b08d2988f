"""How a turn's tool calls enter history: the call as it was asked, and one line for what came of it.

The line keeps what later turns lean on: the queries that were searched for, `[n] title` of what was found, what was
changed. Text that was read is not kept: it can be read again.
"""

from collections.abc import Collection, Sequence

from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.prompts.assembly.segment import escape_untrusted
from parlour.prompts.assembly.tool_rounds import ToolRound

_MAX_LISTED = 8
_MAX_STUB_CHARS = 600
"""Characters that a change is kept in; about 150 tokens."""

_CHANGE_SUFFIXES = ("created", "updated", "changed", "deleted", "linked", "unlinked")


def history_messages(rounds: Sequence[ToolRound], writing_tools: Collection[str] = ()) -> tuple[JsonObject, ...]:
    """Return the rounds as messages of history; `writing_tools` names the tools whose results say what they changed."""
    messages: list[JsonObject] = []
    for one in rounds:
        asked: list[Json] = [block for block in one.blocks if block.get("type") == "tool_use"]
        if not asked:  # a text without calls: the reply has it
            continue
        names = {str(block["id"]): str(block["name"]) for block in one.blocks if block.get("type") == "tool_use"}
        results: list[Json] = [
            {
                "type": "tool_result",
                "tool_use_id": call,
                "content": escape_untrusted(
                    result_stub(names.get(call, "the tool"), result, is_write=names.get(call) in writing_tools)
                ),
                "is_error": result.get("ok") is False,
            }
            for call, result in one.results
        ]
        messages += [{"role": "assistant", "content": asked}, {"role": "user", "content": results}]
    return tuple(messages)


def result_stub(name: str, result: JsonObject, *, is_write: bool) -> str:
    """One line for a tool's result."""
    if result.get("ok") is False:
        return f"failed: {result.get('code', 'error')}"
    if is_write or any(str(key).endswith(_CHANGE_SUFFIXES) for key in result):
        return _truncate(f"done: {canonical_json(result)}")
    documents = result.get("documents")
    if isinstance(documents, list):
        query = result.get("searched_for")
        titles = [
            f"[{one['document']}] {one.get('title', '')}"
            for one in documents
            if isinstance(one, dict) and "document" in one
        ]
        searched = f" (searched for: {' '.join(str(query).split())})" if query else ""
        search_stub = ("found " + "; ".join(titles) if titles else "found nothing") + searched
        return _truncate(search_stub)
    lists = [value for value in result.values() if isinstance(value, list)]
    named = [str(one["handle"]) for values in lists for one in values if isinstance(one, dict) and one.get("handle")]
    listed = f": {', '.join(named[:_MAX_LISTED])}" + (" ..." if len(named) > _MAX_LISTED else "") if named else ""
    return _truncate(f"answered then{listed}; call {name} again to read it")


def _truncate(line: str) -> str:
    return line if len(line) <= _MAX_STUB_CHARS else line[: _MAX_STUB_CHARS - 4] + " ..."


def stub_older_rounds(rounds: Sequence[ToolRound]) -> tuple[ToolRound, ...]:
    """Return the rounds with one line for each result but those of the newest."""
    older: list[ToolRound] = []
    for one in rounds[:-1]:
        names = {str(block["id"]): str(block["name"]) for block in one.blocks if block.get("type") == "tool_use"}
        told: list[tuple[str, JsonObject]] = []
        for call, result in one.results:
            stub = result_stub(names.get(call, "the tool"), result, is_write=False)
            told.append((call, {"ok": result.get("ok") is not False, "stub": stub}))
        older.append(ToolRound(one.blocks, tuple(told), one.messages))
    return (*older, *rounds[-1:])
