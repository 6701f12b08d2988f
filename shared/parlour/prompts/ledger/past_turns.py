"""The session's finished turns, as history shows them. Pure."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from parlour.infra.json_values import Json, JsonObject
from parlour.prompts.assembly import attachments
from parlour.prompts.assembly.call_stubs import WITHDRAWN
from parlour.prompts.assembly.compaction import KeyDetailLine, Summary
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT, Message, PastTurn
from parlour.prompts.assembly.segment import Source
from parlour.prompts.assembly.user_message import UserMessage, effective_text

MAX_PAST_TURNS = 34
"""Turns that are read at most: a history of more than 30 messages is cut, whatever they hold."""


STOPPED_MARK = "[The user stopped this reply here.]"
RUNTIME_MARK = "[The runtime wrote below this:"
UNSENT_MARK = "[The user stopped this reply here. It was not sent: they have not read it.]"
"""What the prompt says below the reply of a stopped turn, and around what is no model's word."""


def past_turns_from_rows(rows: Sequence[JsonObject], clearance: int) -> list[PastTurn]:
    """Return past turns from their rows, for a reader of this clearance.

    A restricted turn has a reply or a call with a source that was deleted or that the reader may not see. Its calls
    keep only their names, and its replies are withheld; the user's messages stay. Results with dead citation numbers
    are withheld.
    """
    return [_past_turn(row, clearance) for row in rows]


def summary_from_row(row: JsonObject) -> Summary:
    """Return a summary from its row, with its key details."""
    details: list[KeyDetailLine] = []
    for one in _json_objects(row["key_details"]):
        source = Source("messages", str(one["message_id"]))
        ours = bool(one["from_agent"])
        line = f"- {'you' if ours else 'user'}: {one['text']}"
        details.append(KeyDetailLine(line, int(str(one["turn_number"])), source, ours))
    return Summary(int(str(row["version"])), int(str(row["until_turn"])), str(row["text"]), tuple(details))


def _past_turn(row: JsonObject, clearance: int) -> PastTurn:
    messages = _json_objects(row["messages"])
    said = [(str(one["direction"]), _prompt_message(one)) for one in messages]
    turn = PastTurn(
        int(str(row["number"])),
        str(row["id"]),
        user_messages=tuple(one for direction, one in said if direction == "inbound" and one.text.strip()),
        tool_messages=tuple(_json_objects(row["tool_messages"])),
        replies=tuple(
            _mark_stopped(one, messages) if row.get("is_stopped") else one
            for direction, one in said
            if direction == "outbound" and (one.text.strip() or row.get("is_stopped"))
        ),
        attachments=attachments.past_attachment_items(
            [one for message in messages for one in _json_objects(message["attachments"])], clearance
        ),
    )
    withdrawn = set(map(str, _json_list(row.get("withdrawn_call_ids"))))
    if withdrawn:
        turn = replace(turn, tool_messages=_map_tool_blocks(turn, lambda block: _mark_withdrawn(block, withdrawn)))
    dead = [int(str(one)) for one in _json_list(row["dead_citation_numbers"])]
    return _withhold_turn(turn) if row["is_restricted"] else _withhold_results(turn, dead) if dead else turn


def _mark_stopped(reply: Message, messages: Sequence[JsonObject]) -> Message:
    """Return the reply of a stopped turn with a line that says so, and whether the user has read it."""
    is_read = messages[-1].get("channel") == "web"
    mark = STOPPED_MARK if is_read else UNSENT_MARK
    return replace(reply, text=f"{reply.text}\n{mark}".strip())


def _mark_withdrawn(block: JsonObject, withdrawn: Collection[str]) -> JsonObject:
    """Return the result of a call whose question was withdrawn as that."""
    return {**block, "content": WITHDRAWN} if block.get("tool_use_id") in withdrawn else block


def _withhold_turn(turn: PastTurn) -> PastTurn:
    """Withhold the replies, arguments and results of a restricted turn."""
    replied = tuple(replace(one, text=WITHHELD_TEXT) for one in turn.replies)
    return replace(
        turn, tool_messages=_map_tool_blocks(turn, _withhold_block), replies=replied, withheld_ids=(turn.id,)
    )


def _map_tool_blocks(turn: PastTurn, render_block: Callable[[JsonObject], JsonObject]) -> tuple[JsonObject, ...]:
    """Return the turn's tool messages with each block rendered by `render_block`."""
    return tuple(
        {**one, "content": [render_block(block) for block in _json_objects(one["content"])]}
        for one in turn.tool_messages
    )


def _withhold_block(block: JsonObject) -> JsonObject:
    """Return a call without its arguments, or a result without its text."""
    return {**block, "input": {}} if block["type"] == "tool_use" else {**block, "content": WITHHELD_TEXT}


def _withhold_results(turn: PastTurn, dead: Sequence[int]) -> PastTurn:
    """Withhold the results that name sources by dead citation numbers."""
    called = _map_tool_blocks(turn, lambda block: _withhold_result(block, dead))
    return replace(turn, tool_messages=called, withheld_ids=tuple(f"{turn.id}/{number}" for number in dead))


def _withhold_result(block: JsonObject, dead: Sequence[int]) -> JsonObject:
    line = str(block.get("content"))
    return {**block, "content": WITHHELD_TEXT} if any(f"[{number}] " in line for number in dead) else block


def _json_objects(value: Json) -> list[JsonObject]:
    return [one for one in _json_list(value) if isinstance(one, dict)]


def _json_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _prompt_message(row: JsonObject) -> Message:
    """Return a message as the model reads it."""
    body, kind = str(row["body"]), str(row["kind"])
    source = Source("messages", str(row["id"]))
    if row["direction"] == "outbound":
        author, own_chars = row.get("author"), row.get("own_chars")
        if isinstance(own_chars, int):
            added = body[own_chars:].strip()
            body = f"{body[:own_chars]}\n\n{RUNTIME_MARK}\n{added}]".strip() if added else body
        return Message(f"{author}, a person of the team: {body}" if author else body, source)
    earlier = UserMessage(kind, body, _json_objects(row["attachments"]))
    return Message(effective_text(earlier), source)
