"""What was said in a conversation, as a row to be searched. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.search.index.context_rows import RowDraft

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class UnindexedMessage:
    """A message that has no row yet.

    title           of its conversation.
    speaker         the name of who said it.
    classification  the highest level that the conversation's user may see: an answer may hold all of it.
    is_searchable   whether it is to be found again; what a tool answered is not.
    """

    id: UUID
    session_id: UUID
    title: str
    speaker: str
    body: str
    sent_at: datetime
    classification: int
    is_searchable: bool


def message_row(said: UnindexedMessage) -> RowDraft | None:
    """`[date] speaker: text`; None for what has no words or is no speech."""
    text = said.body.strip()
    if not said.is_searchable or not text:
        return None
    return message_text_row(text, said.title, said.speaker, said.sent_at, said.classification)


def message_text_row(
    text: str, title: str, speaker: str = "", sent_at: datetime | None = None, classification: int = 0, ordinal: int = 0
) -> RowDraft:
    """Return the row of what somebody said, with who and when as far as known; the date is in UTC."""
    name = " ".join(speaker.split())[:_LONGEST_NAME]
    date = sent_at.astimezone(UTC).date().isoformat() if sent_at else ""
    lead = (f"[{date}] " if date else "") + (f"{name}: " if name else "")
    metadata: JsonObject = {"kind": "message", "prefix_length": len(lead)}
    metadata.update({key: value for key, value in (("date", date), ("sender", name)) if value})
    return RowDraft("chat_message", ordinal, title, lead + text, classification, metadata)
