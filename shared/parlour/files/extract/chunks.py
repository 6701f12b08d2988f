"""From a file's parts to pieces, and their tokens. In the child process too: what is cut and counted is not ours."""

from collections.abc import Iterator, Sequence

from parlour.files.extract.parts import ExtractedFile, FileChunk, Part
from parlour.files.problems import MAX_FILE_TOKENS, unreadable_file
from parlour.text import token_counter
from parlour.text.chunking import chunk_text


def chunk_parts(parts: Sequence[Part]) -> ExtractedFile:
    """UnreadableFile when there is no text, or more than MOST_TOKENS tokens of it: that is counted before it is cut."""
    counted = 0
    for part in parts:
        counted += token_counter.count_tokens(part.text)
        if counted > MAX_FILE_TOKENS:
            raise unreadable_file("too_long")
    pieces = tuple(piece for part in _join_pages(parts) for piece in _chunk_part(part))
    if not pieces:
        raise unreadable_file("no_text")
    return ExtractedFile(pieces, max(len(parts), *(piece.page or 1 for piece in pieces)), counted)


def _join_pages(parts: Sequence[Part]) -> Sequence[Part]:
    """Pages as one text with marks in it: a clause goes on under its heading when the page ends."""
    if not parts or parts[0].kind != "page":
        return parts
    return [Part("\n".join(f"<!-- page: {part.number} -->\n{part.text}" for part in parts))]


def _chunk_part(part: Part) -> Iterator[FileChunk]:
    for piece in chunk_text(part.text.replace("\0", "").encode("utf-8", "ignore").decode("utf-8")):
        if any(letter.isalnum() for letter in piece.body):
            yield FileChunk(
                body=piece.body,
                heading=piece.heading,
                page=piece.page,
                slide=part.number if part.kind == "slide" else None,
                sheet=part.name if part.kind == "sheet" else "",
                sender=piece.email.sender,
                date=piece.email.date,
            )
