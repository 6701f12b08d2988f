"""What a model wrote holds with sources that were in its prompt and figures that are in these; the rest is counted."""

import json

import pytest

from parlour.infra.json_values import JsonObject
from parlour.pulse.writing import offline_answer
from parlour.pulse.writing.pulse_markdown import render_pulse
from parlour.pulse.writing.statement_check import MAX_STATEMENTS, InvalidModelAnswer, check_statements, clean_statement
from tests.unit.pulse.material_builders import make_numbered_sources

DOCUMENTS = make_numbered_sources()
"""[1] counts, [2] the record, [3] a change, [4] links, [5] page 12 of a report, [6] it in short, [7] another."""


def answer(*statements: JsonObject) -> str:
    return json.dumps({"statements": [*statements]})


def says(text: str, *sources: int) -> JsonObject:
    return {"text": text, "sources": [*sources]}


def test_statements_with_sources_hold() -> None:
    checked = check_statements(
        answer(says("The crack at C4 is 0.35 mm wide.", 5), says("3 tasks are open.", 1)), DOCUMENTS
    )
    assert [one.text for one in checked.statements] == ["The crack at C4 is 0.35 mm wide.", "3 tasks are open."]
    assert checked.rejected == {}


def test_a_statement_of_a_source_that_was_not_there_is_dropped_and_counted() -> None:
    checked = check_statements(
        answer(says("All is well.", 99), says("It is on site.", 2), says("So it is.")), DOCUMENTS
    )
    assert [one.text for one in checked.statements] == ["It is on site."]
    assert checked.rejected == {"unknown_source": 2}


def test_one_unknown_source_among_known_ones_is_enough() -> None:
    with pytest.raises(InvalidModelAnswer, match="nothing_supported"):
        check_statements(answer(says("It is on site.", 2, 99)), DOCUMENTS)


def test_a_figure_that_stands_only_in_another_document_is_dropped_and_counted() -> None:
    checked = check_statements(answer(says("The crack is 0.35 mm wide.", 2), says("3 are open.", 1)), DOCUMENTS)
    assert [one.text for one in checked.statements] == ["3 are open."]
    assert checked.rejected == {"unsupported_number": 1}


def test_a_documents_own_number_is_no_figure_of_it() -> None:
    with pytest.raises(InvalidModelAnswer, match="nothing_supported"):
        check_statements(answer(says("4 tasks are open.", 4)), DOCUMENTS)


def test_a_page_is_one() -> None:
    assert check_statements(answer(says("Page 12 says so.", 5)), DOCUMENTS).statements


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "{}",
        '{"statements": {}}',
        '[{"text": "x", "sources": [1]}]',
        'Sure! {"statements": []}',
        "[" * 99_999,
    ],
)
def test_what_is_no_such_json_is_unusable(text: str) -> None:
    with pytest.raises(InvalidModelAnswer, match="bad_json"):
        check_statements(text, DOCUMENTS)


def test_a_fence_around_it_is_let_pass() -> None:
    assert check_statements(f"```json\n{answer(says('It is on site.', 2))}\n```", DOCUMENTS).statements


@pytest.mark.parametrize(
    "one",
    [
        "text",
        {"text": "x"},
        {"text": 3, "sources": [2]},
        {"text": "x", "sources": ["2"]},
        {"text": " ", "sources": [2]},
        {"text": "x", "sources": [True]},
    ],
)
def test_what_is_no_statement_is_counted(one: object) -> None:
    checked = check_statements(json.dumps({"statements": [one, says("It is on site.", 2)]}), DOCUMENTS)
    assert len(checked.statements) == 1
    assert checked.rejected == {"malformed": 1}


def test_nothing_left_is_unusable() -> None:
    with pytest.raises(InvalidModelAnswer, match="nothing_supported"):
        check_statements(answer(), DOCUMENTS)


def test_there_are_so_many_at_most_and_none_twice() -> None:
    said = [says(f"It is on site, {word}.", 2) for word in "abcdefghijklmnop"]
    checked = check_statements(answer(*said, *said), DOCUMENTS)
    assert len(checked.statements) == MAX_STATEMENTS
    assert len(set(checked.statements)) == MAX_STATEMENTS


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It stands [2].", "It stands."),
        ("It stands [2, 5] and [1-3] falls.", "It stands and falls."),
        ("See ![x](https://evil.example/?q=1) here", "See x here"),
        ("See [the plan](https://evil.example)", "See the plan"),
        ("- a point\n- another", "a point - another"),
        ("# Heading", "Heading"),
        ("<img src=x onerror=alert(1)>less than < 0.4", "less than < 0.4"),
        ("On [2026-03-02] it began", "On [2026-03-02] it began"),
        ("12 cranes", "12 cranes"),
        ("[[x](y)](http://evil.example)", "x"),
        ("[x]<b>(http://evil.example)", "x"),
        ("<<b>script>alert", "alert"),
    ],
)
def test_what_is_shown_is_one_plain_line(text: str, shown: str) -> None:
    assert clean_statement(text) == shown


def test_the_text_counts_its_citations_anew_and_each_says_where_it_stands() -> None:
    checked = check_statements(
        answer(says("The crack is 0.35 mm wide.", 5, 2), says("3 tasks are open.", 1)), DOCUMENTS
    )
    written = render_pulse(checked.statements, DOCUMENTS)
    assert written.markdown == "- The crack is 0.35 mm wide. [1][2]\n- 3 tasks are open. [3]"
    assert [one.sources for one in written.statements] == [(1, 2), (3,)]
    first, second, third = written.citations
    assert (first.number, first.title, first.locator, first.table) == (1, "Report 1.pdf", "page 12", "context_rows")
    assert (second.table, second.id) == ("entities", DOCUMENTS[2].source.id)
    assert (third.table, third.id) == ("", "")


def test_without_a_model_the_newest_is_quoted_and_every_quote_holds() -> None:
    checked = check_statements(offline_answer.offline_answer([*DOCUMENTS.values()]), DOCUMENTS)
    assert checked.rejected == {}
    texts = [one.text for one in checked.statements]
    assert "Task, state: open 3, done 2 (5 in all)" in texts
    assert "Report 1.pdf: The crack at C4 is 0.35 mm wide." in texts
    assert render_pulse(checked.statements, DOCUMENTS, offline_answer.OFFLINE_NOTE).markdown.startswith(
        f"*{offline_answer.OFFLINE_NOTE}*\n\n- "
    )
