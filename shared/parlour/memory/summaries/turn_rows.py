"""Rows of a conversation as a summary reads them. Pure."""

from datetime import datetime
from typing import cast
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.memory.summaries.key_details import KeyDetail
from parlour.memory.summaries.summary_window import WindowMessage, WindowTurn
from parlour.prompts.assembly.compaction import KeyDetailKind


def turn_from_row(
    turn_id: UUID, number: int, messages: list[JsonObject], *, is_reply_withheld: bool, has_reply_sources: bool
) -> WindowTurn:
    """Return a turn with its messages, without replies that must be withheld."""
    spoken = [
        WindowMessage(
            UUID(str(one["id"])),
            str(one["body"]),
            bool(one["from_agent"]),
            datetime.fromisoformat(str(one["sent_at"])),
        )
        for one in messages
    ]
    told = tuple(one for one in spoken if one.text.strip() and not (one.from_agent and is_reply_withheld))
    return WindowTurn(turn_id, number, told, len(spoken), is_reply_withheld, has_reply_sources)


def stored_key_detail(kind: str, value: str) -> KeyDetail:
    """Return a stored key detail in the form in which it is looked up."""
    return KeyDetail(cast("KeyDetailKind", kind), value, "")
