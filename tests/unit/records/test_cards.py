"""What a result card says, and where it leads."""

from dataclasses import replace
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.records.cards.card import PREVIEW_CHARS, ResultOrigin, make_card, make_preview
from parlour.search.results import RowKind, SearchResult

ROW = UUID(int=1)
FILE = UUID(int=2)
SESSION, MESSAGE = UUID(int=3), UUID(int=4)
NOTHING = ResultOrigin(ROW, *[None] * 13)
RISK = replace(NOTHING, type="risk", type_name="Risk", key="R-3", name="Crack widens", icon="warning", colour="red")


def found(kind: RowKind, content: str = "The crack widens.", score: float = 0.5, **metadata: str | int) -> SearchResult:
    known: JsonObject = {**metadata}
    return SearchResult(ROW, None, None, kind, "As indexed", content, known, score)


def test_a_record_is_named_with_its_kind_and_leads_to_itself() -> None:
    made = make_card(found("snapshot", heading="record"), RISK, "crack", best_score=0.5)
    assert (made.badge, made.title, made.type_name, made.handle) == ("Record", "Crack widens", "Risk", "risk/R-3")
    assert (made.icon, made.colour, made.locator) == ("warning", "red", "")
    assert made.link == "#/records/risk/R-3"
    assert made.score == 1.0


def test_a_files_piece_leads_to_its_page_at_the_record() -> None:
    of_a_file = replace(RISK, file_id=FILE, file_name="crack opinion.pdf")
    made = make_card(found("file_chunk", page=12, score=0.2), of_a_file, "crack", best_score=0.5)
    assert (made.badge, made.title, made.name, made.locator) == (
        "File",
        "crack opinion.pdf",
        "Crack widens",
        "page 12",
    )
    assert made.link == f"#/records/risk/R-3?file={FILE}&page=12"
    assert made.score == 0.4


def test_a_file_of_no_record_leads_to_itself() -> None:
    made = make_card(
        found("file_chunk", page=3), replace(NOTHING, file_id=FILE, file_name="sop.pdf"), "crack", best_score=0.5
    )
    assert (made.handle, made.link) == (None, f"#/files/{FILE}?page=3")


def test_a_document_leads_to_its_heading_whatever_it_is_about() -> None:
    about = replace(RISK, document="main works/7", document_title="Main works contract")
    made = make_card(found("document_chunk", heading="14 > Liability & loss"), about, "crack", best_score=0.5)
    assert (made.title, made.handle, made.document) == ("Main works contract", "risk/R-3", "document/main works/7")
    assert made.link == "#/records/document/main%20works%2F7?heading=14+%3E+Liability+%26+loss"
    alone = replace(about, type=None, type_name=None, key=None, name=None)
    made = make_card(found("document_chunk"), alone, "crack", best_score=0.5)
    assert (made.type, made.type_name, made.handle) == ("document", "Document", "document/main works/7")


def test_a_message_leads_to_where_it_was_said() -> None:
    said = replace(NOTHING, session_id=SESSION, message_id=MESSAGE)
    made = make_card(found("chat_message", sender="Asha", date="2026-11-02"), said, "crack", best_score=0.5)
    assert (made.badge, made.locator) == ("Message", "Asha 2026-11-02")
    assert made.link == f"#/conversations/{SESSION}?message={MESSAGE}"


def test_a_kinds_own_link_is_filled_in() -> None:
    linked = replace(RISK, key="R 3", link="https://erp.example/{{type}}?id={{ key }}")
    assert (
        make_card(found("snapshot"), linked, "crack", best_score=0.5).default_link
        == "https://erp.example/risk?id=R%203"
    )
    assert make_card(found("snapshot"), RISK, "crack", best_score=0.5).default_link is None


def test_what_a_reader_may_not_see_of_the_origin_is_not_told() -> None:
    """Their row is theirs; the record above their clearance comes as nothing."""
    made = make_card(found("document_chunk"), NOTHING, "crack", best_score=0.5)
    assert (made.title, made.name, made.handle, made.link) == ("As indexed", None, None, None)


def test_scores_compare_with_the_best_and_survive_a_search_of_zeros() -> None:
    assert make_card(found("snapshot", score=0.0), RISK, "crack", best_score=0.0).score == 1.0


def test_a_short_text_is_shown_whole_in_one_line() -> None:
    assert make_preview("The crack\n\n  widens. ", "crack") == "The crack widens."


def test_a_long_text_is_shown_from_before_the_word_that_was_asked_for() -> None:
    text = f"{'Nothing of note was seen. ' * 40}The crack widens by the hour. {'All was quiet. ' * 40}"
    shown = make_preview(text, "Of a CRACK")
    assert "The crack widens by the hour." in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= PREVIEW_CHARS + 4


def test_words_that_are_everywhere_do_not_choose_the_place() -> None:
    text = f"{'For what it is worth, nothing. ' * 40}Clause 14 limits the liability. {'All was quiet. ' * 40}"
    assert "Clause 14 limits" in make_preview(text, "what is the limit for 14?")


@pytest.mark.parametrize("query", ["", "?!", "absent words", "of a", "(unclosed [brackets"])
def test_a_preview_without_any_of_the_words_begins_at_the_beginning(query: str) -> None:
    shown = make_preview("Quiet day. " * 60, query)
    assert shown.startswith("Quiet day.")
    assert len(shown) <= PREVIEW_CHARS + 2


def test_a_word_at_the_very_end_is_shown_with_what_leads_to_it() -> None:
    shown = make_preview("Quiet day. " * 60 + "Crack.", "crack")
    assert shown.endswith("Crack.")
    assert len(shown) <= PREVIEW_CHARS + 2


def test_a_text_without_spaces_is_cut_all_the_same() -> None:
    assert len(make_preview("ಅ" * 4000, "ಅ")) <= PREVIEW_CHARS + 4
