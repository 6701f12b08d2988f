"""What the offline model writes for a Pulse: the newest of the material, quoted with its source. Pure."""

from collections.abc import Iterator, Sequence

from parlour.infra.json_values import Json, canonical_json
from parlour.prompts.assembly.segment import SourceKind
from parlour.pulse.material.numbered_sources import NumberedSource
from parlour.text.sentences import split_sentences

OFFLINE_NOTE = "Offline model (no model key is configured): quoted, not summed up."

_MAX_CHANGES, _MAX_FILES = 3, 2
_MAX_QUOTE_CHARS = 280


def offline_answer(documents: Sequence[NumberedSource]) -> str:
    """Return what a model would answer: counts, the record's first line, the last changes, the newest files."""
    counts = [
        (_shortened(line), one.number)
        for one in documents
        if one.source_kind is SourceKind.COUNTS
        for line in one.text.split("\n")[1:]
    ]
    records = [
        (_shortened(one.text.split("\n")[1]), one.number) for one in documents if one.source_kind is SourceKind.RECORD
    ]
    changes = [
        (_shortened(one.text.split("\n")[0]), one.number) for one in documents if one.source_kind is SourceKind.CHANGES
    ]
    quoted = [*counts, *records, *changes[:_MAX_CHANGES], *_quote_files(documents)]
    told: list[Json] = [{"text": text, "sources": [number]} for text, number in quoted if text]
    return canonical_json({"statements": told})


def _quote_files(documents: Sequence[NumberedSource]) -> Iterator[tuple[str, int]]:
    """Yield the first sentence of the nearest chunk of each of the newest files."""
    seen: dict[str, tuple[str, int]] = {}
    for one in documents:
        if one.source_kind is SourceKind.FILE_SUMMARIES and one.title not in seen:
            body = one.text.split("\n", 1)[-1].strip()
            seen[one.title] = f"{one.title}: {_shortened(''.join(split_sentences(body)[:1]))}", one.number
    yield from list(seen.values())[:_MAX_FILES]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_QUOTE_CHARS else line[:_MAX_QUOTE_CHARS].rsplit(" ", 1)[0] + " …"
