"""The material of a Pulse as numbered documents, in the order in which they are told: how many stand where, the record,
what changed, what it is linked to, what its newest files say, and what is near it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from parlour.context.segment import Item, Lot, Source
from parlour.knowledge.records.linked_text import briefings
from parlour.knowledge.search.found import Found
from parlour.pulse.material.gather import Gathered
from parlour.pulse.material.store import Change, Count, Row

COUNTED = "counts"
"""The table of what is counted: none."""

_LONGEST_CHANGE = 400

_NAMED = frozenset({"entities", "documents", "files"})
"""What a prompt's record says that a text tells of: it is hidden and forgotten with these."""


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that a Pulse may be written from.

    text     as it stands in a prompt, behind its number; shorter: in fewer words, fullest first.
    title    of the record, document or file; locator: where in it, "" for the whole.
    level    the highest of anything that it tells.
    told_of  everything that it tells of, as table/id.
    score    what decides inside its lot: higher comes first.
    """

    number: int
    lot: Lot
    text: str
    source: Source
    title: str
    level: int
    told_of: tuple[str, ...]
    locator: str = ""
    shorter: tuple[str, ...] = ()
    score: float = 1.0

    def item(self) -> Item:
        """As a candidate for a prompt."""
        named = (one.partition("/") for one in self.told_of)
        also = tuple(Source(table, key) for table, _, key in named if table in _NAMED)
        shorter = tuple(map(self.numbered, self.shorter))
        return Item(
            self.lot, self.numbered(self.text), self.source, shorter, self.score, self.level, self.title,
            also=also if self.lot is not Lot.COUNTS else (),
        )  # fmt: skip

    def numbered(self, text: str) -> str:
        """Its words behind its number."""
        return f"[{self.number}] {text}"

    def without_number(self, text: str) -> str:
        """The words that `numbered` made of these."""
        return text.removeprefix(f"[{self.number}] ")


def documents(found: Gathered) -> tuple[Document, ...]:
    """Everything that was gathered, numbered from 1."""
    about = found.subject
    drafts = [
        *_counts(found.counts, str(about.id)),
        Document(
            0, Lot.RECORD, f"{about.name}: the record itself ({about.handle})\n{about.text}",
            Source("entities", str(about.id)), about.name, about.level, (f"entities/{about.id}",), "record",
        ),
        *(_change(one, place) for place, one in enumerate(found.changes)),
        *_linked(found),
        *(_row(one) for one in sorted(found.rows, key=_row_place)),
    ]  # fmt: skip
    return tuple(_at(number, one) for number, one in enumerate(drafts, start=1))


def _at(number: int, one: Document) -> Document:
    return Document(
        number, one.lot, one.text, one.source, one.title, one.level, one.told_of, one.locator, one.shorter, one.score
    )


def _counts(counts: Sequence[Count], about: str) -> Iterator[Document]:
    """All distributions as one document: a line for each kind and property."""
    lines = []
    for (kind, label), group in groupby(counts, key=lambda one: (one.type_name, one.label)):
        values = list(group)
        told = ", ".join(f"{one.value} {one.total}" for one in values)
        lines.append(f"{kind}, {label}: {told} ({sum(one.total for one in values)} in all)")
    if lines:
        told_of = tuple(dict.fromkeys(record for one in counts for record in one.records))
        text = "Counts of the records that belong to it\n" + "\n".join(lines)
        level = max(one.level for one in counts)
        yield Document(0, Lot.COUNTS, text, Source(COUNTED, about), "Counts of what belongs to it", level, told_of)


def _change(one: Change, place: int) -> Document:
    text = one.content if len(one.content) <= _LONGEST_CHANGE else f"{one.content[: _LONGEST_CHANGE - 1]}…"
    told_of = (f"context_rows/{one.id}", one.record, *((one.other,) if one.other else ()))
    when = f"{one.created_at:%Y-%m-%d}"
    return Document(
        0, Lot.CHANGES, text, Source("context_rows", str(one.id)), one.title, one.classification, told_of,
        f"change of {when}", score=1 - place / 1_000,
    )  # fmt: skip


def _linked(found: Gathered) -> Iterator[Document]:
    """The list of links, whole and in fewer words; of what is in it, a shorter one tells less."""
    about = found.subject
    texts = briefings(found.linked, hint=False) if found.linked else ()
    if texts:
        lines = [f"Linked records\n{text}" for text in texts]
        told_of = tuple(dict.fromkeys(found.linked_rows.values()))
        source = Source("edges", str(about.id))
        yield Document(
            0, Lot.LINKED, lines[0], source, "Linked records", found.level, told_of, shorter=tuple(lines[1:])
        )  # fmt: skip


def _row_place(row: Row) -> tuple[bool, int, bool, int]:
    """The newest files first, of each its pieces before what it says in short: those can be cited by page."""
    return not row.file_place, row.file_place, row.is_short, row.place


def _row(row: Row) -> Document:
    found = Found(row.id, None, None, row.kind, row.title, row.content, row.metadata, row.score)
    where = f" ({found.about})" if found.about else ""
    place = row.file_place + row.is_short / 10 if row.file_place else 0
    return Document(
        0, Lot.DISTILLATIONS if row.file_place else Lot.NEAREST, f"{row.title}{where}\n{found.body}",
        Source("context_rows", str(row.id)), row.title, row.classification,
        (f"context_rows/{row.id}", *row.owners), found.locator, score=-place - row.place / 1_000,
    )  # fmt: skip
