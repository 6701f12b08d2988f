"""Replies as WhatsApp shows them: what marks become, where parts end, and that nothing is lost."""

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from parlour.channels.whatsapp_format import MAX_MESSAGE_UNITS, Footnote, format_whatsapp


def shown(markdown: str) -> str:
    [part] = format_whatsapp(markdown, [])
    return part


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class TestMarks:
    def test_emphasis_becomes_whatsapps_own(self) -> None:
        assert shown("**bold**, *italic*, ~~struck~~ and `code`") == "*bold*, _italic_, ~struck~ and `code`"
        assert shown("***both***") == "_*both*_"

    def test_emphasis_over_lines_is_set_line_by_line(self) -> None:
        assert shown("**one\ntwo**") == "*one*\n*two*"

    def test_headings_are_bold_once(self) -> None:
        assert shown("# Slab **status** today") == "*Slab status today*"
        assert shown("Slab\n====\ntext") == "*Slab*\n\ntext"

    def test_links_show_where_they_lead(self) -> None:
        assert shown("see [the report](https://ex.org/r)") == "see the report (https://ex.org/r)"
        assert shown("see <https://ex.org/r>") == "see https://ex.org/r"
        assert shown("write to <site@ex.org>") == "write to site@ex.org"
        assert shown("![a crack](https://ex.org/c.png)") == "a crack (https://ex.org/c.png)"

    def test_lists_keep_their_numbers_and_their_depth(self) -> None:
        assert shown("- one\n- two\n  - deeper\n\n3. three\n4. four") == (
            "• one\n• two\n  • deeper\n\n3. three\n4. four"
        )

    def test_tables_become_one_line_per_row(self) -> None:
        table = "| Item | Due |\n|---|---|\n| Steel | Monday |\n| Cement | |"

        assert shown(table) == "• Item: Steel · Due: Monday\n• Item: Cement"
        assert shown("| Item | Due |\n|---|---|") == "Item · Due"

    def test_code_and_quotes(self) -> None:
        assert shown("```python\nx = 1\n```") == "```\nx = 1\n```"
        assert shown("> said\n> so") == "> said\n> so"

    def test_citations_stay_where_they_are_even_when_they_look_like_definitions(self) -> None:
        assert shown("Poured on Tuesday [1][2].") == "Poured on Tuesday [1][2]."
        assert shown("[1]: the site report") == "[1]: the site report"

    def test_indented_text_is_not_code_and_html_is_text(self) -> None:
        assert shown("    quietly indented") == "quietly indented"
        assert shown("a <b>bold</b> claim") == "a <b>bold</b> claim"

    def test_words_with_underscores_and_stars_among_numbers_are_left_alone(self) -> None:
        assert shown("snake_case_name, 2 * 3 * 4") == "snake_case_name, 2 * 3 * 4"


class TestSources:
    def test_sources_are_listed_below_the_text(self) -> None:
        notes = [Footnote(1, "Site report\n12 May", "page 3"), Footnote(4, "Contract")]

        assert format_whatsapp("Poured. [1] Agreed. [4]", notes) == [
            "Poured. [1] Agreed. [4]\n\nSources:\n[1] Site report 12 May, page 3\n[4] Contract"
        ]

    @pytest.mark.parametrize(
        ("text", "label"),
        [
            ("क्रेन आज हवा के कारण बंद है [1]", "स्रोत:"),
            ("Der Kran steht, weil der Wind zu stark ist [1]", "Quellen:"),
            ("La grúa está parada por el viento [1]", "Fuentes:"),
            ("The crane stands still because of the wind [1]", "Sources:"),
            ("NRS-12 [1]", "Sources:"),
        ],
    )
    def test_sources_are_named_in_the_language_of_the_text(self, text: str, label: str) -> None:
        assert label in format_whatsapp(text, [Footnote(1, "Log")])[0]

    def test_no_text_and_no_sources_are_no_message(self) -> None:
        assert format_whatsapp("", []) == []
        assert format_whatsapp(" \n\n ", []) == []


class TestParts:
    def test_a_text_of_exactly_the_limit_is_one_part(self) -> None:
        assert format_whatsapp("x" * MAX_MESSAGE_UNITS, []) == ["x" * MAX_MESSAGE_UNITS]
        assert len(format_whatsapp("x" * (MAX_MESSAGE_UNITS + 1), [])) == 2

    def test_parts_end_between_paragraphs_when_they_can(self) -> None:
        paragraph = " ".join(["word"] * 200)
        parts = format_whatsapp("\n\n".join([paragraph] * 10), [])

        assert all(part.split("\n\n") == [paragraph] * len(part.split("\n\n")) for part in parts)

    def test_parts_end_after_sentences_rather_than_between_words(self) -> None:
        parts = format_whatsapp(" ".join(["A sentence of six words here."] * 300), [])

        assert len(parts) == 3
        assert all(part.endswith(".") for part in parts)

    def test_code_that_is_cut_is_closed_and_opened_again(self) -> None:
        parts = format_whatsapp("```\n" + "a line of code\n" * 600 + "```\n\nThe end.", [])

        assert len(parts) > 2
        assert all(part.count("```") == 2 for part in parts)
        assert sum(part.count("a line of code") for part in parts) == 600
        assert parts[-1].endswith("```\n\nThe end.")

    def test_a_family_is_never_torn_apart(self) -> None:
        family = "👩‍👩‍👧‍👦"
        parts = format_whatsapp(family * 1000, [])

        assert "".join(parts) == family * 1000
        assert all(len(part) % len(family) == 0 for part in parts)

    def test_a_single_character_longer_than_a_message_is_still_sent(self) -> None:
        monster = "e" + "\u0301" * 10_000

        assert "".join(format_whatsapp(monster, [])) == monster

    def test_nesting_nobody_means_is_shown_as_it_is(self) -> None:
        assert "".join(format_whatsapp(">" * 3000 + "x", [])).endswith("x")


WORD = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzéßनमस्ते日本語"), min_size=1, max_size=12).filter(str.isalpha)
WORDS = st.lists(WORD, min_size=1, max_size=40).map(" ".join)
BLOCK = st.one_of(
    WORDS,
    WORDS.map("# {}".format),
    WORDS.map("**{}**".format),
    WORDS.map("> {}".format),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda items: "\n".join(f"1. {item}" for item in items)),
    WORDS.map("```\n{}\n```".format),
    st.tuples(WORDS, WORDS).map(lambda cells: f"| {cells[0]} | {cells[1]} |\n|---|---|"),
)


@given(st.lists(BLOCK, max_size=12).map("\n\n".join), st.integers(64, 500))
def test_every_word_arrives_in_order_in_parts_that_fit(markdown: str, limit: int) -> None:
    parts = format_whatsapp(markdown, [], limit)

    assert all(0 < units(part) <= limit for part in parts)
    assert regex.findall(r"\p{L}\p{M}*+", "".join(parts)) == regex.findall(r"\p{L}\p{M}*+", markdown)


@given(st.text(st.characters(codec="utf-8"), max_size=600), st.integers(64, 200))
@example("\u0301" * 200, 64)
@example("a" * 60 + " \u0301" * 30, 64)
@example("```\n" + " " * 200, 64)
def test_any_text_is_shown_in_parts_that_fit_and_end_between_characters(text: str, limit: int) -> None:
    whole = "\n\n".join(format_whatsapp(text, [], 1_000_000))
    parts = format_whatsapp(text, [], limit)

    assert all(0 < units(part) <= limit for part in parts)
    assert all(part.strip() for part in parts)
    if "```" not in whole:
        pieces = [piece for piece in regex.findall(r"\X", whole) if not piece.isspace()]
        assert [piece for part in parts for piece in regex.findall(r"\X", part) if not piece.isspace()] == pieces or (
            max(map(units, pieces)) > limit - 8
        )


@given(st.text(max_size=2000))
def test_the_same_text_always_makes_the_same_parts(text: str) -> None:
    assert format_whatsapp(text, [], 100) == format_whatsapp(text, [], 100)
