"""How a turn's tool calls enter history: the call as it was asked, and one line for what came of it.

The line keeps what later turns lean on: the queries that were searched for, `[n] title` of what was found, what was
changed. Text that was read is not kept: it can be read again.
"""

from collections.abc import Collection, Sequence

from parlour.context.calls import Round
from parlour.context.segment import foreign
from parlour.infra.jsonable import Json, JsonObject, canonical

_MOST_LISTED = 8
_LONGEST = 600
"""Characters that a change is kept in; about 150 tokens."""

_CHANGES = ("created", "updated", "changed", "deleted", "linked", "unlinked")


def called(rounds: Sequence[Round], writes: Collection[str] = ()) -> tuple[JsonObject, ...]:
    """The rounds as messages of history; `writes` names the tools whose results say what they changed."""
    return tuple(message for one in rounds for message in _pair(one, writes))


def stub(name: str, result: JsonObject, *, wrote: bool) -> str:
    """One line for a tool's result."""
    if result.get("ok") is False:
        return f"failed: {result.get('code', 'error')}"
    if wrote or any(str(key).endswith(_CHANGES) for key in result):
        return _clipped(f"done: {canonical(result)}")
    documents = result.get("documents")
    if isinstance(documents, list):
        return _clipped(_found(documents, result.get("searched_for")))
    named = [handle for value in result.values() if isinstance(value, list) for handle in _handles(value)]
    listed = f": {', '.join(named[:_MOST_LISTED])}" + (" ..." if len(named) > _MOST_LISTED else "") if named else ""
    return _clipped(f"answered then{listed}; call {name} again to read it")


def _pair(one: Round, writes: Collection[str]) -> tuple[JsonObject, JsonObject]:
    asked: list[Json] = [block for block in one.blocks if block.get("type") == "tool_use"]
    names = {str(block["id"]): str(block["name"]) for block in one.blocks if block.get("type") == "tool_use"}
    results: list[Json] = [
        {
            "type": "tool_result",
            "tool_use_id": call,
            "content": foreign(stub(names.get(call, "the tool"), result, wrote=names.get(call) in writes)),
            "is_error": result.get("ok") is False,
        }
        for call, result in one.results
    ]
    return {"role": "assistant", "content": asked}, {"role": "user", "content": results}


def _found(documents: Sequence[Json], query: Json) -> str:
    titles = [
        f"[{one['document']}] {one.get('title', '')}"
        for one in documents
        if isinstance(one, dict) and "document" in one
    ]
    searched = f" (searched for: {' '.join(str(query).split())})" if query else ""
    return ("found " + "; ".join(titles) if titles else "found nothing") + searched


def _handles(values: Sequence[Json]) -> list[str]:
    return [str(one["handle"]) for one in values if isinstance(one, dict) and one.get("handle")]


def _clipped(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 4] + " ..."


def shrunk(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds with one line for each result but those of the newest."""
    return (*(_shrunk(one) for one in rounds[:-1]), *rounds[-1:])


def _shrunk(one: Round) -> Round:
    names = {str(block["id"]): str(block["name"]) for block in one.blocks if block.get("type") == "tool_use"}
    told: list[tuple[str, JsonObject]] = []
    for call, result in one.results:
        line: JsonObject = {
            "ok": result.get("ok") is not False,
            "told": stub(names.get(call, "the tool"), result, wrote=False),
        }
        told.append((call, line))
    return Round(one.blocks, tuple(told))
