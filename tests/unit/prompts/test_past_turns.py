"""A summary as prompts tell it, from its row."""

from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly.compaction import KeyDetailLine, Summary
from parlour.prompts.assembly.segment import Source
from parlour.prompts.ledger.past_turns import summary_from_row


def line(turn: int, text: str, *, ours: bool) -> JsonObject:
    return {"turn_number": turn, "text": text, "message_id": f"m{turn}", "from_agent": ours}


def test_lines_say_who_said_them_and_keep_their_order() -> None:
    kept = [line(5, "PX-48213", ours=False), line(2, "I will call.", ours=True)]
    found = summary_from_row({"version": 3, "until_turn": 6, "text": "So far.", "key_details": [*kept]})
    assert found == Summary(
        3,
        6,
        "So far.",
        (
            KeyDetailLine("- user: PX-48213", 5, Source("messages", "m5")),
            KeyDetailLine("- you: I will call.", 2, Source("messages", "m2"), from_agent=True),
        ),
    )


def test_there_may_be_no_lines() -> None:
    assert summary_from_row({"version": 1, "until_turn": 2, "text": "", "key_details": None}) == Summary(1, 2, "")
