"""What was said, as rows to be found again."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from parlour.search.index.message_rows import UnindexedMessage, message_row, message_text_row

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SAID = UnindexedMessage(
    UUID(int=1), UUID(int=2), "Site desk", "Priya", " The crack is at C4. ", AT, 2, is_searchable=True
)


def test_a_row_says_who_said_it_and_when_before_what() -> None:
    row = message_row(SAID)
    assert row is not None
    assert (row.kind, row.title, row.content) == (
        "chat_message",
        "Site desk",
        "[2026-03-02] Priya: The crack is at C4.",
    )
    assert row.classification == 2
    assert row.metadata == {"kind": "message", "prefix_length": 20, "date": "2026-03-02", "sender": "Priya"}
    assert row.content[20:] == "The crack is at C4."


@pytest.mark.parametrize(("body", "is_speech"), [("", True), (" \n", True), ("{}", False)])
def test_what_has_no_words_or_is_no_speech_is_not_found_again(body: str, is_speech: bool) -> None:
    said = UnindexedMessage(SAID.id, SAID.session_id, "Site desk", "Priya", body, AT, 0, is_speech)
    assert message_row(said) is None


def test_the_date_is_that_of_utc() -> None:
    late = datetime(2026, 3, 3, 1, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert message_text_row("Yes.", "t", "Priya", late).content == "[2026-03-02] Priya: Yes."


def test_what_is_not_known_is_left_out() -> None:
    assert message_text_row("Yes.", "t").content == "Yes."
    assert message_text_row("Yes.", "t").metadata == {"kind": "message", "prefix_length": 0}
    assert message_text_row("Yes.", "t", speaker="Priya\n  R").content == "Priya R: Yes."
