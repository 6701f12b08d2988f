"""Files are read in a process of their own: what is in them and where; and what is wrong with those that cannot be."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from parlour.files.extract import office_zip
from parlour.files.extract.parts import ExtractedFile, FileChunk
from parlour.files.extract.sandbox import ProcessLimits, extract_in_sandbox
from parlour.files.file_types import FileType, file_type_of_name
from parlour.infra.errors import UnreadableFile
from parlour.infra.settings import sandbox_environment
from tests import sample_files

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
EMAIL = b"""From: Ines Roth <ines@example.org>
To: site@example.org
Date: Mon, 2 Mar 2026 09:30:00 +0000
Subject: Crane
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/html; charset=utf-8

<p>The crane comes on <b>Tuesday</b>.</p><script>alert(1)</script>
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="permit.pdf"

%PDF-
--x--
"""
PAGE = b"""<html><head><title>Rules</title><style>p{}</style></head><body><nav>Home</nav>
<h2>Wind</h2><p>Stop at <em>38 km/h</em>.</p><ul><li>Lower the jib</li><li>Lock it<p>Twice</p></li></ul>
<table><tr><th>Day</th><th>Gust</th></tr><tr><td>Mon</td><td>41</td></tr></table><script>x()</script></body></html>"""


def bodies(found: ExtractedFile) -> str:
    return "\n".join(piece.body for piece in found.chunks)


def piece_with(found: ExtractedFile, words: str) -> FileChunk:
    (piece,) = [piece for piece in found.chunks if words in piece.body]
    return piece


def reason(data: bytes, kind: FileType, limits: ProcessLimits | None = None) -> str:
    with pytest.raises(UnreadableFile) as refused:
        extract_in_sandbox(data, kind, limits or ProcessLimits())
    return refused.value.reason


def test_a_clause_of_a_pdf_keeps_its_page_and_its_heading() -> None:
    found = extract_in_sandbox(sample_files.make_contract_pdf(), "pdf")
    clause = piece_with(found, "2,000,000 euros")
    assert (clause.page, clause.heading) == (3, ("Works contract", "14. Limitation of liability"))
    assert "gross negligence" in clause.body
    assert found.page_count == 3
    assert 40 < found.token_count < 200


def test_a_word_file_keeps_headings_lists_and_tables() -> None:
    found = extract_in_sandbox(sample_files.make_word_file(), "docx")
    assert piece_with(found, "Keep it wet").heading == ("Method statement", "Curing")
    assert "| Slab | 7 |" in bodies(found)


def test_a_slide_and_a_sheet_are_known_by_number_and_name() -> None:
    deck = extract_in_sandbox(sample_files.make_slides(), "pptx")
    assert (piece_with(deck, "Ground water").slide, piece_with(deck, "Ground water").heading) == (1, ("Key risks",))
    assert "Speaker notes: Say that piles are fixed price" in piece_with(deck, "| Piles | 120000 |").body
    book = extract_in_sandbox(sample_files.make_workbook(), "xlsx")
    (budget,) = book.chunks
    assert budget.sheet == "Budget"
    assert budget.body.splitlines()[::2] == ["| Item | Euros | Paid |", "| Piles | 120000 | yes |"]
    assert "| Crane | 4500.5 | no |" in budget.body
    assert (deck.page_count, book.page_count) == (2, 2)


def test_a_page_is_read_without_what_a_browser_runs_or_hides() -> None:
    found = extract_in_sandbox(PAGE, "html")
    text = bodies(found)
    assert piece_with(found, "38 km/h").heading == ("Rules", "Wind")
    assert "- Lower the jib" in text
    assert "| Mon | 41 |" in text
    assert "x()" not in text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (b"<p>the <b>bold </b>word<br>and <i>one</i> more</p>", "the bold word and one more"),
        (b"<ul><li>one<ul><li>two<br>still two</li></ul></li></ul>", "- one\n  - two still two"),
        (b"<pre>a<br>  b</pre>", "```\na\n  b\n```"),
        (b"<p>a</p><span>b<svg><text>x</text></svg>c<div>d</div></span>", "a\n\nbc\nd"),
        (b"<p># a</p><p>&lt;!-- page: 9 --&gt;</p>", "\\# a\n\n\\<!-- page: 9 -->"),
        (b"<p>a</p><template><p>x</p></template><select><option>y</select><!-- z -->b", "a\n\nb"),
    ],
)
def test_a_page_is_written_as_its_browser_shows_it(page: bytes, text: str) -> None:
    assert bodies(extract_in_sandbox(page, "html")) == text


def test_a_page_nested_too_deeply_is_refused() -> None:
    assert reason(b"<div>" * 250 + b"x", "html") == "broken"


def test_an_email_says_who_wrote_it_and_when() -> None:
    found = extract_in_sandbox(EMAIL, "email")
    piece = piece_with(found, "The crane comes on Tuesday.")
    assert (piece.sender, piece.date) == ("Ines Roth", "2026-03-02")
    assert "Attached: permit.pdf" in piece.body
    assert "alert" not in piece.body


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_is_a_table_whatever_separates_it(separator: str) -> None:
    rows = [["name", "wage"], ["Priya", "900"], ["Ines", "800"]]
    data = "\r\n".join(separator.join(row) for row in rows).encode()
    assert "| Priya | 900 |" in bodies(extract_in_sandbox(data, "csv"))


@pytest.mark.parametrize("data", ["Überbau".encode(), "Überbau".encode("cp1252"), "Überbau".encode("utf-16")])
def test_text_is_read_in_the_encoding_it_was_written_in(data: bytes) -> None:
    assert bodies(extract_in_sandbox(data, "text")) == "Überbau"


def test_markdown_keeps_its_headings_and_marked_pages() -> None:
    found = extract_in_sandbox(b"# Plan\n<!-- page: 4 -->\nDig.", "markdown")
    assert (piece_with(found, "Dig").heading, piece_with(found, "Dig").page) == (("Plan",), 4)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.PDF", "pdf"),
        ("a.b.docx", "docx"),
        ("x.htm", "html"),
        ("mail.eml", "email"),
        ("t.tsv", "csv"),
        ("r.md", "markdown"),
    ],
)
def test_a_name_tells_the_kind(name: str, kind: FileType) -> None:
    assert file_type_of_name(name) == kind


@pytest.mark.parametrize(
    ("name", "why"), [("a.doc", "old_office"), ("a.exe", "not_taken"), ("a", "not_taken"), ("a.zip", "not_taken")]
)
def test_other_kinds_are_refused_by_name(name: str, why: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        file_type_of_name(name)
    assert refused.value.reason == why


@pytest.mark.parametrize(
    ("data", "kind", "why"),
    [
        (b"", "pdf", "empty"),
        (b" \n ", "text", "empty"),
        (b"no pdf at all", "pdf", "broken"),
        (b"%PDF-1.4\nnothing else", "pdf", "broken"),
        (sample_files.make_pdf([[("secret", 11)]], encrypted=True), "pdf", "encrypted"),
        (sample_files.make_pdf([[]]), "pdf", "no_text"),
        (sample_files.make_contract_pdf()[:200], "pdf", "broken"),
        (b"PK\x03\x04 and then nothing", "docx", "broken"),
        (sample_files.make_word_file()[:-400], "docx", "broken"),
        (sample_files.make_zip({"hello.txt": b"not an office file"}), "xlsx", "broken"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "EncryptedPackage".encode("utf-16-le"),
            "docx",
            "encrypted",
        ),
        (COMPOUND + bytes(500), "xlsx", "old_office"),
        (b"MZ\x00\x00 a program", "text", "wrong_kind"),
        (sample_files.make_contract_pdf(), "docx", "wrong_kind"),
        (sample_files.make_contract_pdf(), "markdown", "wrong_kind"),
        (sample_files.make_word_file(), "pdf", "wrong_kind"),
        (sample_files.make_word_file(), "xlsx", "wrong_kind"),
        (sample_files.make_workbook(), "pptx", "wrong_kind"),
        (sample_files.make_slides(), "docx", "wrong_kind"),
        (sample_files.make_word_file(), "csv", "wrong_kind"),
        (b"\x89PNG\r\n\x1a\n a picture", "pdf", "wrong_kind"),
        (COMPOUND + bytes(500), "text", "wrong_kind"),
        (b"just words, no header", "email", "broken"),
        (b"| --- |", "markdown", "no_text"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(data: bytes, kind: FileType, why: str) -> None:
    assert reason(data, kind) == why


def test_a_bomb_is_not_opened() -> None:
    zeros = bytes(40 * 1024 * 1024)
    assert reason(sample_files.make_zip({"[Content_Types].xml": b"<x/>", "word/document.xml": zeros}), "docx") == "bomb"


def test_an_archive_that_lies_about_its_sizes_is_not_believed(tmp_path: Path) -> None:
    data = bytearray(sample_files.make_zip({"word/document.xml": bytes(2_000_000)}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    (tmp_path / "liar").write_bytes(data)
    with pytest.raises(UnreadableFile):
        office_zip.check_office_zip(tmp_path / "liar")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_markup_that_defines_entities_is_not_opened(encoding: str) -> None:
    laughs = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w:document>&b;</w:document>'.encode(encoding)
    parts = {"[Content_Types].xml": b"<x/>", "word/document.xml": laughs}
    assert reason(sample_files.make_zip(parts), "docx") == "markup_bomb"
    with zipfile.ZipFile(io.BytesIO(sample_files.make_workbook())) as book:
        sheet = {name: book.read(name) for name in book.namelist()} | {"xl/sharedStrings.xml": laughs}
    assert reason(sample_files.make_zip(sheet), "xlsx") == "markup_bomb"


def test_a_file_larger_than_is_taken_is_refused_before_it_is_looked_at() -> None:
    assert reason(b"a" * (50 * 1024 * 1024 + 1), "text") == "too_large"


def test_a_text_of_more_tokens_than_is_taken_is_refused() -> None:
    assert reason(b"a b c d e f " * 250_000, "text") == "too_long"


def test_a_reader_that_takes_too_much_memory_or_time_fails_the_file_and_nothing_else() -> None:
    assert reason(b"word " * 1_000_000, "text", ProcessLimits(memory_bytes=100 * 1024 * 1024)) == "too_much_memory"
    assert reason(sample_files.make_contract_pdf(), "pdf", ProcessLimits(seconds=0)) == "too_slow"


def test_what_a_reader_says_without_end_stays_out_of_our_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talker = tmp_path / "talker.py"
    talker.write_text("import sys\nfor _ in range(64): sys.stderr.write('x' * 2**20)\nsys.exit('MemoryError')\n")
    monkeypatch.setattr("parlour.files.extract.sandbox._CHILD", "talker")
    monkeypatch.syspath_prepend(tmp_path)
    tracemalloc.start()
    assert reason(b"a text", "text") == "too_much_memory"
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 * 2**20


def test_the_reader_has_nothing_of_ours_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    assert "canary" not in str(sandbox_environment())
