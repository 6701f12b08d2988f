"""How a model is told of an older message, and when a question leans on the one before it."""

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


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (
            message(f"{PREFIX}Ends in May.", prefix_length=len(PREFIX), date="2026-03-02 09:30", sender="Priya"),
            'Priya, 2026-03-02 09:30 (Site desk): "Ends in May."',
        ),
        (message("Yes.", date="", sender="Priya"), 'Priya (Site desk): "Yes."'),
        (message("Yes."), 'Site desk: "Yes."'),
        (message('क्रेन कब?\n"Soon" <b>', sender="Priya"), 'Priya (Site desk): "क्रेन कब?\\n\\"Soon\\" <b>"'),
    ],
)
def test_a_recalled_message_says_who_wrote_it_and_has_no_number(row: RecalledMessage, line: str) -> None:
    assert render_message(row) == line


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
