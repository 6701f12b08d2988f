"""From a file's parts to pieces, and their tokens. In the child process too: what is cut and counted is not ours."""

from collections.abc import Iterator, Sequence

from parlour.context import tokens
from parlour.knowledge.files.extract.parts import FilePiece, Part, ReadFile
from parlour.knowledge.files.problems import MOST_TOKENS, unreadable
from parlour.text.chunking import Piece, cut


def pieces_of(parts: Sequence[Part]) -> ReadFile:
    """UnreadableFile when there is no text, or more than MOST_TOKENS tokens of it: that is counted before it is cut."""
    counted = 0
    for part in parts:
        counted += tokens.count(part.text)
        if counted > MOST_TOKENS:
            raise unreadable("too_long")
    pieces = tuple(piece for part in _joined(parts) for piece in _pieces(part))
    if not pieces:
        raise unreadable("no_text")
    return ReadFile(pieces, max(len(parts), *(piece.page or 1 for piece in pieces)), counted)


def _joined(parts: Sequence[Part]) -> Sequence[Part]:
    """Pages as one text with marks in it: a clause goes on under its heading when the page ends."""
    if not parts or parts[0].place != "page":
        return parts
    return [Part("\n".join(f"<!-- page: {part.number} -->\n{part.text}" for part in parts))]


def _pieces(part: Part) -> Iterator[FilePiece]:
    for piece in cut(_clean(part.text)):
        if any(letter.isalnum() for letter in piece.body):
            yield _placed(piece, part)


def _clean(text: str) -> str:
    """Without what PostgreSQL does not take: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode("utf-8")


def _placed(piece: Piece, part: Part) -> FilePiece:
    return FilePiece(
        body=piece.body,
        heading=piece.heading,
        page=piece.page,
        slide=part.number if part.place == "slide" else None,
        sheet=part.name if part.place == "sheet" else "",
        sender=piece.mail.sender,
        date=piece.mail.date,
    )
