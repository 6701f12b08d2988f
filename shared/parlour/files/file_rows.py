"""A file's pieces and its summary as searchable rows. Pure."""

from dataclasses import replace

from parlour.files.extract.parts import ExtractedFile, FileChunk
from parlour.infra.json_values import JsonObject
from parlour.search.index.context_rows import RowDraft, chunk_row
from parlour.text.chunking import Chunk
from parlour.text.email_headers import EmailOrigin

CHUNK_KIND, SUMMARY_KIND = "file_chunk", "file_summary"


def file_rows(name: str, read: ExtractedFile, summary: str, classification: int) -> list[RowDraft]:
    """Return the searchable rows of a file: its summary, if there is one, and its chunks in order."""
    rows: list[RowDraft] = []
    if summary:
        lead = f"{name}, in short\n"
        metadata: JsonObject = {"kind": "summary", "prefix_length": len(lead), "heading": "in short"}
        rows.append(RowDraft(SUMMARY_KIND, 0, name, lead + summary, classification, metadata))
    for ordinal, piece in enumerate(read.chunks, start=1):
        cut = Chunk(
            piece.body, (*_place_heading(piece), *piece.heading), piece.page, EmailOrigin(piece.sender, piece.date)
        )
        row = chunk_row(cut, ordinal, name, "file", classification)
        known = {"slide": piece.slide, "sheet": piece.sheet}
        metadata = {**row.metadata, **{key: value for key, value in known.items() if value}}
        rows.append(replace(row, kind=CHUNK_KIND, metadata=metadata))
    return rows


def _place_heading(piece: FileChunk) -> tuple[str, ...]:
    """Return a slide or a sheet as a heading above all others: citations name it, and its name is searched."""
    if piece.slide:
        return (f"slide {piece.slide}",)
    return (f"sheet {piece.sheet}",) if piece.sheet else ()
