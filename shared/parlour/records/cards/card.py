"""A result card: what was found, of which record, and the way there. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.records.citation_target import CitationTarget
from parlour.search.results import RowKind, SearchResult
from parlour.text.words import content_words, key_terms

PREVIEW_CHARS = 240
"""Characters of a preview: about two lines of a card."""

MAX_RELATIONS = 3
"""Links that are told of a related record: enough to see why it is there."""

_BEFORE = 70
"""Characters of a preview that stand before the first word that was asked for."""

_PLACEHOLDER = re.compile(r"\{\{\s*(type|key)\s*\}\}")

BADGES: Mapping[RowKind, str] = {
    "snapshot": "Record",
    "delta": "Change",
    "document_chunk": "Document",
    "file_chunk": "File",
    "file_summary": "File summary",
    "relationship": "Link",
    "chat_message": "Message",
    "summary_anchor": "Summary",
    "episode": "Memory",
}
"""What the badge says, by a row's kind."""


@dataclass(frozen=True, slots=True)
class ResultOrigin:
    """What a row is of, as far as its reader may see that: a record with its type, a document, a file, a message.

    link: the type's default link, a template with `{{type}}` and `{{key}}`.
    """

    row_id: UUID
    type: str | None
    type_name: str | None
    key: str | None
    name: str | None
    icon: str | None
    colour: str | None
    link: str | None
    document: str | None
    document_title: str | None
    file_id: UUID | None
    file_name: str | None
    session_id: UUID | None
    message_id: UUID | None

    @property
    def handle(self) -> str | None:
        """The record's, or else the document's."""
        if self.type and self.key:
            return f"{self.type}/{self.key}"
        return f"document/{self.document}" if self.document else None


@dataclass(frozen=True, slots=True)
class SearchCard:
    """One result for a reader. `score` compares with the best of the same search: 1 is the best, and nothing else is
    said by it. `handle` is the record's, or else the document's; `document` the document's also when there is a record.
    `link` is the way inside the console; `default_link` the one that the record's type names, or None."""

    kind: RowKind
    badge: str
    title: str
    type: str | None
    type_name: str | None
    name: str | None
    handle: str | None
    document: str | None
    icon: str | None
    colour: str | None
    locator: str
    preview: str
    score: float
    link: str | None
    default_link: str | None


@dataclass(frozen=True, slots=True)
class RelatedRecord:
    """A record that what was found is linked to. `relations`: `{"relation", "direction", "record"}` for each link, the
    best first: of which record found, and whether it runs from that one (outgoing) or to it (incoming)."""

    type: str
    type_name: str
    key: str
    name: str
    icon: str | None
    colour: str | None
    relations: list[JsonObject]

    @property
    def handle(self) -> str:
        return f"{self.type}/{self.key}"

    @property
    def closest_relations(self) -> list[JsonObject]:
        return self.relations[:MAX_RELATIONS]


def make_card(found: SearchResult, origin: ResultOrigin, query: str, best_score: float) -> SearchCard:
    """Return the card of a row; `best_score` is the score of the first row of its search."""
    title = origin.file_name or origin.document_title or origin.name or found.title
    return SearchCard(
        kind=found.kind,
        badge=BADGES[found.kind],
        title=title,
        type=origin.type or ("document" if origin.document else None),
        type_name=origin.type_name or ("Document" if origin.document else None),
        name=origin.name,
        handle=origin.handle,
        document=f"document/{origin.document}" if origin.document else None,
        icon=origin.icon,
        colour=origin.colour,
        locator="" if found.kind == "snapshot" else found.locator,
        preview=make_preview(found.body, query),
        score=round(found.score / best_score, 3) if best_score > 0 else 1.0,
        link=_deep_link(found, origin),
        default_link=_default_link(origin),
    )


def make_preview(body: str, query: str, max_chars: int = PREVIEW_CHARS) -> str:
    """About `most` characters of the text in one line, from shortly before the first word that was asked for."""
    line = " ".join(body.split())
    if len(line) <= max_chars:
        return line
    # Where the first word of the question stands in the text; 0 when none does.
    places = [
        match.start()
        for word in key_terms(" ".join(content_words(query)))
        if (match := re.search(rf"\b{re.escape(word)}", line, re.IGNORECASE))
    ]
    start = max(0, min(min(places, default=0) - _BEFORE, len(line) - max_chars))
    if start:
        start = line.find(" ", start) + 1 or start
    end = start + max_chars
    if end < len(line):
        end = max(line.rfind(" ", start, end), start + max_chars // 2)
    return f"{'… ' if start else ''}{line[start:end]}{' …' if end < len(line) else ''}"


def _deep_link(found: SearchResult, origin: ResultOrigin) -> str | None:
    """Return the console's address of the row's message, document heading, file page, or record."""
    return CitationTarget(
        source_id=str(origin.row_id),
        type=origin.type,
        key=origin.key,
        document=origin.document,
        file_id=origin.file_id,
        page=_metadata_text(found, "page"),
        heading=_metadata_text(found, "heading"),
        session_id=origin.session_id,
        message_id=origin.message_id,
    ).link


def _metadata_text(found: SearchResult, name: str) -> str:
    value = found.metadata.get(name)
    return str(value) if isinstance(value, str | int) else ""


def _default_link(origin: ResultOrigin) -> str | None:
    if not (origin.link and origin.type and origin.key):
        return None
    parts = {"type": quote(origin.type, safe=""), "key": quote(origin.key, safe="")}
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], origin.link)
