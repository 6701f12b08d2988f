"""Rows of a conversation as a summary reads them. Pure."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.memory.summaries.key_details import KeyDetail
from parlour.memory.summaries.store import TurnRow
from parlour.memory.summaries.summary_window import WindowMessage, WindowTurn
from parlour.prompts.assembly.call_stubs import result_stub
from parlour.prompts.assembly.compaction import KeyDetailKind

_MAX_ACTION_CHARS = 240
_DONE, _FAILED = "done: ", "failed: "


def turn_from_row(row: TurnRow) -> WindowTurn:
    """Return a turn with its messages, without what must be withheld: its replies, and what its calls did."""
    spoken = [
        WindowMessage(
            UUID(str(one["id"])),
            str(one["body"]),
            bool(one["from_agent"]),
            datetime.fromisoformat(str(one["sent_at"])),
        )
        for one in row.messages
    ]
    messages = tuple(
        message for message in spoken if message.text.strip() and not (message.from_agent and row.is_reply_withheld)
    )
    actions = () if row.is_reply_withheld else (*_call_actions(row.tool_messages), *_late_actions(row.late_results))
    return WindowTurn(
        row.id, row.number, messages, len(spoken), row.is_reply_withheld, row.has_reply_sources, tuple(actions)
    )


def _call_actions(tool_messages: Sequence[JsonObject]) -> Iterator[str]:
    """Yield a line for each call that did something or failed, from the turn's calls as history shows them."""
    contents = [content for message in tool_messages if isinstance(content := message.get("content"), list)]
    blocks = [block for content in contents for block in content if isinstance(block, dict)]
    names = {block.get("id"): str(block.get("name")) for block in blocks if block.get("type") == "tool_use"}
    for block in blocks:
        stub = str(block.get("content", ""))
        if block.get("type") == "tool_result" and stub.startswith((_DONE, _FAILED)):
            yield _action(names.get(block.get("tool_use_id"), "a tool"), stub)


def _late_actions(late_results: Sequence[str]) -> Iterator[str]:
    """Yield a line for each result that came later, outcomes of approvals among them."""
    for body in late_results:
        try:
            late = json.loads(body)
        except ValueError:
            continue
        result = late.get("result") if isinstance(late, dict) else None
        if isinstance(result, dict):
            yield _action(str(late.get("tool", "a tool")), result_stub("", result, is_action=True))


def _action(tool: str, stub: str) -> str:
    line = f"{tool} {stub.removeprefix(_DONE)}"
    return line if len(line) <= _MAX_ACTION_CHARS else f"{line[: _MAX_ACTION_CHARS - 1]}…"


def stored_key_detail(kind: str, value: str) -> KeyDetail:
    """Return a stored key detail in the form in which it is looked up."""
    return KeyDetail(cast("KeyDetailKind", kind), value, "")
