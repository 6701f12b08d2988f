"""What a search found, and how a reader is told where it stands. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject

type RowKind = Literal[
    "snapshot",
    "delta",
    "file_summary",
    "file_chunk",
    "document_chunk",
    "relationship",
    "chat_message",
    "summary_anchor",
    "episode",
]
"""What a searchable row is made of."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A row that answers a question. `score` orders one search's results and means nothing beside another's.

    The record that the row is about, the document, file or message that it is from are there when it has one:
    the record's type, key and name and the document's key as people name them (`task/T-112`).
    """

    row_id: UUID
    document_id: UUID | None
    entity_id: UUID | None
    kind: RowKind
    title: str
    content: str
    metadata: JsonObject
    score: float
    entity_type: str | None = None
    entity_key: str | None = None
    entity_name: str | None = None
    document_key: str | None = None
    file_id: UUID | None = None
    session_id: UUID | None = None
    message_id: UUID | None = None
    classification: int = 0
    created_at: datetime | None = None

    @property
    def body(self) -> str:
        """The text itself, without the words that only say where it is from."""
        lead = self.metadata.get("prefix_length")
        return self.content[lead:] if isinstance(lead, int) else self.content

    @property
    def locator(self) -> str:
        """Where in its document the text stands: headings, page, who wrote it and when, as far as known."""
        page = self._metadata_text("page")
        written = " ".join(filter(None, (self._metadata_text("sender"), self._metadata_text("date"))))
        return " · ".join(filter(None, (self._metadata_text("heading"), page and f"page {page}", written)))

    @property
    def source_label(self) -> str:
        """The kind of document or record, and the locator."""
        return " · ".join(filter(None, (self._metadata_text("kind").replace("_", " "), self.locator)))

    def _metadata_text(self, name: str) -> str:
        value = self.metadata.get(name)
        return str(value) if isinstance(value, str | int) else ""
