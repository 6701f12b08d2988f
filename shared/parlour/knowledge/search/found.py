"""What a search found, and how a reader is told where it stands. Pure."""

from dataclasses import dataclass
from uuid import UUID

from parlour.infra.jsonable import JsonObject


@dataclass(frozen=True, slots=True)
class Found:
    """A row that answers a question. `score` is the sum of reciprocal ranks: it orders one search's results and
    means nothing beside another's."""

    row_id: UUID
    document_id: UUID | None
    entity_id: UUID | None
    kind: str
    title: str
    content: str
    metadata: JsonObject
    score: float

    @property
    def body(self) -> str:
        """The text itself, without the words that only say where it is from."""
        lead = self.metadata.get("lead")
        return self.content[lead:] if isinstance(lead, int) else self.content

    @property
    def locator(self) -> str:
        """Where in its document the text stands: headings, page, who wrote it and when, as far as known."""
        page = self._known("page")
        written = " ".join(filter(None, (self._known("sender"), self._known("date"))))
        return " · ".join(filter(None, (self._known("heading"), page and f"page {page}", written)))

    @property
    def about(self) -> str:
        """The kind of document or record, and the locator."""
        return " · ".join(filter(None, (self._known("kind").replace("_", " "), self.locator)))

    def _known(self, name: str) -> str:
        value = self.metadata.get(name)
        return str(value) if isinstance(value, str | int) else ""
