"""How a model is told of an older message, and when a question leans on the one before it."""

import json
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.search.query_expansion import select_expansion, select_model_expansion
from parlour.search.recalled_messages import RecalledMessage, render_message

PREFIX = "[2026-03-02 09:30 Priya] "
BEFORE = "When does the crane's permit end?"


def message(content: str, **metadata: str | int) -> RecalledMessage:
    told: JsonObject = {**metadata}
    return RecalledMessage(UUID(int=1), None, None, "chat_message", "Site desk", content, told, 0.5)


class TestAMessageAsADocument:
    def test_has_its_number_its_talks_title_and_its_words_without_their_prefix(self) -> None:
        row = message(
            f"{PREFIX}The permit ends in May.", prefix_length=len(PREFIX), date="2026-03-02 09:30", sender="Priya"
        )
        assert json.loads(render_message(7, row)) == {
            "document": 7,
            "title": "Site desk",
            "metadata": "2026-03-02 09:30 · Priya",
            "contents": "The permit ends in May.",
        }

    def test_says_when_or_by_whom_as_far_as_that_is_known(self) -> None:
        assert json.loads(render_message(1, message("Yes.", sender="Priya")))["metadata"] == "Priya"
        assert json.loads(render_message(1, message("Yes.", date="", sender="Priya")))["metadata"] == "Priya"
        assert json.loads(render_message(1, message("Yes.")))["metadata"] == ""

    def test_keeps_its_script_and_is_one_line(self) -> None:
        told = render_message(1, message('क्रेन कब आएगी?\n"Soon" <b>'))
        assert "क्रेन कब आएगी?" in told
        assert "\n" not in told
        assert json.loads(told)["contents"] == 'क्रेन कब आएगी?\n"Soon" <b>'


class TestWhatAQuestionLeavesUnsaid:
    @pytest.mark.parametrize(
        "query",
        [
            "When does it end?",  # it points to what was named before
            "And the hoist on the north tower?",  # it goes on from there
            "what about the concrete delivery on Monday?",
            "Why?",  # it names next to nothing
            "Permit?",
        ],
    )
    def test_is_said_by_the_one_before(self, query: str) -> None:
        assert select_expansion(query, [BEFORE, query]) == [BEFORE]

    @pytest.mark.parametrize(
        "query",
        ["When does the concrete supplier deliver?", "Which items are critical?", "Andrea signed which delivery note?"],
    )
    def test_is_nothing_when_it_names_what_it_means(self, query: str) -> None:
        assert select_expansion(query, [BEFORE, query]) == []

    def test_is_nothing_when_nothing_was_written_before(self) -> None:
        assert select_expansion("And then?", []) == []
        assert select_expansion("And then?", ["And then?"]) == []
        assert select_expansion("And then?", ["  ", "And then?"]) == []

    def test_is_all_that_was_written_before_in_order_without_the_question_itself(self) -> None:
        assert select_expansion("When does it end?", ["  The crane. ", "When does it end?", "The hoist."]) == [
            "The crane.\nThe hoist."
        ]

    @pytest.mark.parametrize(
        ("query", "is_expanded"),
        [
            ("Our notice of delay, date sent and event it counts from", False),
            ("concrete of pour 7: may it be used", False),
            ("And the hoist?", False),
            ("Kran", False),
            ("that one", True),
            ("What about it?", True),
            ("er ist es", True),
            ("वह क्या है", True),
            ("¿y qué?", True),
            ("?", True),
        ],
    )
    def test_is_added_to_a_models_query_only_when_that_has_no_content_words(
        self, query: str, *, is_expanded: bool
    ) -> None:
        assert select_model_expansion(query, [BEFORE, query]) == ([BEFORE] if is_expanded else [])
