"""The material of a Pulse as numbered documents, in the order in which they are told: how many stand where, the record,
what changed, what it is linked to, what its newest files say, and what is near it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.pulse.material.source_material import SourceMaterial
from parlour.pulse.material.store import ChangeRow, NearbyRow, ValueCount
from parlour.records.linked_records_text import render_variants
from parlour.search.results import SearchResult

COUNTS_TABLE = "counts"
"""The table of what is counted: none."""

_MAX_CHANGE_CHARS = 400

_ERASABLE_TABLES = frozenset({"entities", "documents", "files"})
"""What a prompt's record says that a text tells of: it is hidden and forgotten with these."""


@dataclass(frozen=True, slots=True)
class NumberedSource:
    """A source that a Pulse may be written from.

    text           the text in the prompt, after its number.
    shorter_texts  the same in fewer words, the fullest first.
    title          the title of the record, document or file.
    locator        the position in it; "" for all of it.
    level          the highest classification of its contents.
    source_ids     the rows that it is made from, as table/id.
    score          the rank inside its source kind; higher comes first.
    """

    number: int
    source_kind: SourceKind
    text: str
    source: Source
    title: str
    level: int
    source_ids: tuple[str, ...]
    locator: str = ""
    shorter_texts: tuple[str, ...] = ()
    score: float = 1.0

    def to_item(self) -> Item:
        """As a candidate for a prompt."""
        named = (one.partition("/") for one in self.source_ids)
        also = tuple(Source(table, key) for table, _, key in named if table in _ERASABLE_TABLES)
        shorter = tuple(map(self.with_number, self.shorter_texts))
        return Item(
            self.source_kind,
            self.with_number(self.text),
            self.source,
            shorter,
            self.score,
            self.level,
            self.title,
            further_sources=also if self.source_kind is not SourceKind.COUNTS else (),
        )

    def with_number(self, text: str) -> str:
        """Its words behind its number."""
        return f"[{self.number}] {text}"

    def without_number(self, text: str) -> str:
        """Return the text that `numbered` was made from."""
        return text.removeprefix(f"[{self.number}] ")


def number_sources(material: SourceMaterial) -> tuple[NumberedSource, ...]:
    """Everything that was gathered, numbered from 1."""
    about = material.subject
    drafts = [
        *_counts_source(material.counts, str(about.id)),
        NumberedSource(
            0,
            SourceKind.RECORD,
            f"{about.name}: the record itself ({about.handle})\n{about.text}",
            Source("entities", str(about.id)),
            about.name,
            about.classification,
            (f"entities/{about.id}",),
            "record",
        ),
        *(_change_source(one, place) for place, one in enumerate(material.changes)),
        *_linked_source(material),
        *(_row_source(one) for one in sorted(material.rows, key=_row_sort_key)),
    ]
    return tuple(replace(draft, number=number) for number, draft in enumerate(drafts, start=1))


def _counts_source(counts: Sequence[ValueCount], record_id: str) -> Iterator[NumberedSource]:
    """All distributions as one document: a line for each kind and property."""
    lines = []
    for (kind, label), group in groupby(counts, key=lambda one: (one.type_name, one.label)):
        values = list(group)
        told = ", ".join(f"{one.value} {one.total}" for one in values)
        lines.append(f"{kind}, {label}: {told} ({sum(one.total for one in values)} in all)")
    if lines:
        told_of = tuple(dict.fromkeys(record for one in counts for record in one.record_ids))
        text = "Counts of the records that belong to it\n" + "\n".join(lines)
        level = max(one.level for one in counts)
        yield NumberedSource(
            0, SourceKind.COUNTS, text, Source(COUNTS_TABLE, record_id), "Counts of what belongs to it", level, told_of
        )


def _change_source(change: ChangeRow, position: int) -> NumberedSource:
    text = change.content if len(change.content) <= _MAX_CHANGE_CHARS else f"{change.content[: _MAX_CHANGE_CHARS - 1]}…"
    told_of = (
        f"context_rows/{change.id}",
        change.record_id,
        *((change.related_record_id,) if change.related_record_id else ()),
    )
    when = f"{change.created_at:%Y-%m-%d}"
    return NumberedSource(
        0,
        SourceKind.CHANGES,
        text,
        Source("context_rows", str(change.id)),
        change.title,
        change.classification,
        told_of,
        f"change of {when}",
        score=1 - position / 1_000,
    )


def _linked_source(material: SourceMaterial) -> Iterator[NumberedSource]:
    """Yield the list of links, whole and in fewer words."""
    about = material.subject
    texts = render_variants(material.linked_records, has_tool=False) if material.linked_records else ()
    if texts:
        lines = [f"Linked records\n{text}" for text in texts]
        told_of = tuple(dict.fromkeys(material.linked_ids_by_handle.values()))
        source = Source("edges", str(about.id))
        yield NumberedSource(
            0,
            SourceKind.LINKED,
            lines[0],
            source,
            "Linked records",
            material.level,
            told_of,
            shorter_texts=tuple(lines[1:]),
        )


def _row_sort_key(row: NearbyRow) -> tuple[bool, int, bool, int]:
    """Order the newest files first, and of each its chunks before its summary: chunks can be cited by page."""
    return not row.file_rank, row.file_rank, row.is_file_summary, row.rank


def _row_source(row: NearbyRow) -> NumberedSource:
    found = SearchResult(row.id, None, None, row.kind, row.title, row.content, row.metadata, row.score)
    where = f" ({found.source_label})" if found.source_label else ""
    place = row.file_rank + row.is_file_summary / 10 if row.file_rank else 0
    return NumberedSource(
        0,
        SourceKind.FILE_SUMMARIES if row.file_rank else SourceKind.NEAREST,
        f"{row.title}{where}\n{found.body}",
        Source("context_rows", str(row.id)),
        row.title,
        row.classification,
        (f"context_rows/{row.id}", *row.owner_ids),
        found.locator,
        score=-place - row.rank / 1_000,
    )
