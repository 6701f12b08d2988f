"""The way from a cited or found row to where it is in the console. Pure."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode
from uuid import UUID


@dataclass(frozen=True, slots=True)
class CitationTarget:
    """Where a source (`table/id`) is: a message, document, record or file, as far as its reader may see that."""

    source_id: str
    type: str | None
    key: str | None
    document: str | None
    file_id: UUID | None
    page: str | None = None
    heading: str | None = None
    session_id: UUID | None = None
    message_id: UUID | None = None

    @property
    def link(self) -> str | None:
        """The console's address of the message, document heading, file page with its record, or record."""
        if self.session_id and self.message_id:
            return f"#/conversations/{self.session_id}?message={self.message_id}"
        if self.document:
            return _with_query(f"#/records/document/{_quote(self.document)}", heading=self.heading, page=self.page)
        if self.type and self.key:
            where = {"file": str(self.file_id), "page": self.page} if self.file_id else {}
            return _with_query(f"#/records/{_quote(self.type)}/{_quote(self.key)}", **where)
        return _with_query(f"#/files/{self.file_id}", page=self.page) if self.file_id else None


def _quote(part: str) -> str:
    return quote(part, safe="")


def _with_query(address: str, **parameters: str | None) -> str:
    given = {name: value for name, value in parameters.items() if value}
    return f"{address}?{urlencode(given)}" if given else address
