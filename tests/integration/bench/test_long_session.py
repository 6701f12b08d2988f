"""The benchmark of long conversations, on short ones: that it runs, and what must hold at any size."""

from typing import Any

from bench.long_session import measured
from parlour.infra.postgres import Database


def test_a_longer_conversation_goes_on_as_a_short_one_does(database: Database) -> None:
    """From a hundred messages on: before, a summary has not come to its length yet."""
    found: Any = measured(database, [100, 200], 12)
    short, long = found["sessions"]
    assert [short["messages"], long["messages"]] == [100, 200]
    assert short["compactions"] >= 1
    assert abs(short["compactions"] - long["compactions"]) <= 1
    assert long["summary_tokens"] > 0
    assert long["statements"] <= short["statements"] + 2
    assert long["compaction_tokens"] < 1.2 * short["compaction_tokens"]
    assert found["ratio_10000_to_100"].keys() == {
        "turn_ms",
        "prompt_tokens",
        "summary_tokens",
        "compaction_ms",
        "compaction_tokens",
    }
