"""The stand-in for where no model is configured: the newest of the material, quoted with its source. Pure."""

from collections.abc import Iterator, Sequence

from parlour.context.segment import Lot
from parlour.infra.jsonable import Json, canonical
from parlour.pulse.material.documents import Document
from parlour.text.sentences import cut

NOTE = "Offline stand-in (no model key is configured): quoted, not summed up."

_CHANGES, _FILES = 3, 2
_LONGEST = 280


def answer(documents: Sequence[Document]) -> str:
    """What a model would have answered: counts, the record's first line, the last changes, the newest files."""
    quoted = [*_lines(documents, Lot.COUNTS), *_records(documents), *_changes(documents), *_files(documents)]
    told: list[Json] = [{"text": text, "sources": [number]} for text, number in quoted if text]
    return canonical({"statements": told})


def _lines(documents: Sequence[Document], lot: Lot) -> Iterator[tuple[str, int]]:
    for one in documents:
        if one.lot is lot:
            yield from ((_clipped(line), one.number) for line in one.text.split("\n")[1:])


def _records(documents: Sequence[Document]) -> Iterator[tuple[str, int]]:
    for one in documents:
        if one.lot is Lot.RECORD:
            yield _clipped(one.text.split("\n")[1]), one.number


def _changes(documents: Sequence[Document]) -> Iterator[tuple[str, int]]:
    changes = [one for one in documents if one.lot is Lot.CHANGES]
    yield from ((_clipped(one.text.split("\n")[0]), one.number) for one in changes[:_CHANGES])


def _files(documents: Sequence[Document]) -> Iterator[tuple[str, int]]:
    """The first sentence of the nearest piece of each of the newest files."""
    seen: dict[str, tuple[str, int]] = {}
    for one in documents:
        if one.lot is Lot.DISTILLATIONS and one.title not in seen:
            body = one.text.split("\n", 1)[-1].strip()
            seen[one.title] = f"{one.title}: {_clipped(''.join(cut(body)[:1]))}", one.number
    yield from list(seen.values())[:_FILES]


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST].rsplit(" ", 1)[0] + " …"
