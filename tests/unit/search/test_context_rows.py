"""A row carries where it is from; a changed document keeps the rows whose text stays."""

from uuid import UUID

from parlour.search.index.context_rows import RowDraft, StoredRow, chunk_row, diff_rows
from parlour.text.chunking import chunk_text


def draft(content: str, ordinal: int = 0) -> RowDraft:
    return RowDraft("document_chunk", ordinal, "Title", content, 0, {})


def stored(number: int, content: str, *, embedded: bool = True) -> StoredRow:
    return StoredRow(UUID(int=number), UUID(int=99), draft(content).content_hash, {}, embedded)


def test_a_row_says_when_who_and_where_before_the_text() -> None:
    (piece,) = chunk_text("# Slab\n\n<!-- page: 2 -->\nPoured.", date="2026-03-02", author="Meera")
    row = chunk_row(piece, 4, "Site report", "site_report", 1)
    assert row.content == "[2026-03-02] Meera: Site report > Slab\nPoured."
    assert row.metadata == {
        "kind": "site_report",
        "prefix_length": len("[2026-03-02] Meera: Site report > Slab\n"),
        "heading": "Slab",
        "page": 2,
        "date": "2026-03-02",
        "sender": "Meera",
    }
    assert (row.ordinal, row.classification, row.title) == (4, 1, "Site report")


def of(content: str, title: str) -> tuple[str, object]:
    """What is said before the text, and the heading of the only piece."""
    (piece,) = chunk_text(content)
    row = chunk_row(piece, 0, title, "document", 0)
    return row.content.splitlines()[0], row.metadata.get("heading")


def test_a_heading_that_repeats_the_title_is_not_said_twice() -> None:
    assert of("# Site Report\n\nPoured.", "Site report") == ("Site Report", None)
    assert of("# Site report 19, Monday\n\n## Slab\n\nPoured.", "Site report 19") == (
        "Site report 19, Monday > Slab",
        "Slab",
    )


def test_a_heading_that_says_the_title_in_other_words_is_indexed_but_not_cited() -> None:
    assert of("# Progress meeting 10, Monday\n\n## Crack\n\nText.", "Minutes of progress meeting 10") == (
        "Minutes of progress meeting 10 > Progress meeting 10, Monday > Crack",
        "Crack",
    )


def test_a_heading_with_little_of_the_title_is_cited() -> None:
    assert of("# Report on wind\n\nText.", "Lifting procedure for the crane") == (
        "Lifting procedure for the crane > Report on wind",
        "Report on wind",
    )
    assert of("# Wind\n\nText.", "") == ("Wind", "Wind")


def test_the_words_before_the_text_are_bounded() -> None:
    (piece,) = chunk_text(f"# {'h' * 5_000}\n\nText.", author="a" * 60)
    row = chunk_row(piece, 0, "t" * 5_000, "document", 0)
    assert len(row.content) < 420


def test_unchanged_text_keeps_its_row_wherever_it_moves() -> None:
    difference = diff_rows([stored(1, "one"), stored(2, "two")], [draft("new"), draft("two", 1), draft("one", 2)])
    assert [(row.id.int, kept.ordinal) for row, kept in difference.unchanged] == [(2, 1), (1, 2)]
    assert [row.content for row in difference.added] == ["new"]
    assert difference.removed_ids == []


def test_text_that_is_gone_loses_its_row() -> None:
    difference = diff_rows([stored(1, "one"), stored(2, "two")], [draft("two")])
    assert difference.removed_ids == [UUID(int=1)]


def test_each_row_stands_for_one_text_only() -> None:
    difference = diff_rows([stored(1, "same")], [draft("same"), draft("same", 1)])
    assert (len(difference.unchanged), len(difference.added)) == (1, 1)


def test_what_has_no_vector_is_what_is_new_or_was_never_embedded() -> None:
    rows = [stored(1, "one", embedded=False), stored(2, "two")]
    assert diff_rows(rows, [draft("one"), draft("two"), draft("three")]).texts_to_embed == ["one", "three"]
