"""The way from a citation to its source, in the console. Pure."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode
from uuid import UUID

from parlour.pulse.pulse import Citation


@dataclass(frozen=True, slots=True)
class CitationTarget:
    """Where a row (`table/id`) stands: in a record, a document or a file, as far as its reader may see that."""

    source_id: str
    type: str | None
    key: str | None
    document: str | None
    file_id: UUID | None
    page: str | None

    @property
    def link(self) -> str | None:
        """The console's address: of the document's page, of the file's page with its record, or of the record."""
        if self.document:
            return _with_query(f"#/records/document/{_quote(self.document)}", page=self.page)
        if self.type and self.key:
            where = {"file": str(self.file_id), "page": self.page} if self.file_id else {}
            return _with_query(f"#/records/{_quote(self.type)}/{_quote(self.key)}", **where)
        return _with_query(f"#/files/{self.file_id}", page=self.page) if self.file_id else None


@dataclass(frozen=True, slots=True)
class LinkedCitation(Citation):
    """A citation with the console's address of its source; None where that was deleted."""

    link: str | None


def _quote(part: str) -> str:
    return quote(part, safe="")


def _with_query(address: str, **parameters: str | None) -> str:
    given = {name: value for name, value in parameters.items() if value}
    return f"{address}?{urlencode(given)}" if given else address
