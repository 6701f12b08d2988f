"""A call enters history as it was asked, with one line of what came of it."""

from dataclasses import replace

import pytest

from parlour.infra.json_values import Json, JsonObject
from parlour.prompts.assembly import call_stubs
from tests.unit.prompts.prompt_builders import SENTENCE, make_search_round


@pytest.mark.parametrize(
    ("result", "wrote", "line"),
    [
        ({"ok": False, "code": "not_found", "message": "owner:\n missing"}, False, "failed: not_found: owner: missing"),
        ({"ok": False}, False, "failed: error"),
        ({"documents": []}, False, "found nothing"),
        (
            {"documents": [{"n": 3, "title": "Report", "contents": "x"}], "searched_for": "crane\n slab"},
            False,
            "found [3] Report (searched for: crane slab)",
        ),
        (
            {"documents": [{"n": 3, "title": "Contract", "metadata": "contract · 11. Time · page 7", "contents": "x"}]},
            False,
            "found [3] Contract, 11. Time",
        ),
        ({"documents": [{"n": 3, "title": "Ties", "metadata": "Task · record"}]}, False, "found [3] Ties"),
        ({"entities": [], "hint": "No record fits."}, False, "found nothing"),
        (
            {"handle": "document/plan", "parts": [{"n": 3, "metadata": "8. Payment > 8.5", "contents": "x"}]},
            False,
            "answered then: document/plan, [3] 8. Payment > 8.5; call read again to read it",
        ),
        ({"ok": True, "done": "a person was asked", "message": "x"}, True, "done: a person was asked"),
        ({"handed_to": "Contract desk"}, True, 'done: {"handed_to":"Contract desk"}'),
        ({"ok": True, "status": "working"}, True, 'done: {"ok":true,"status":"working"}'),
        (
            {"entities": [{"n": 3, "handle": "task/T-1", "name": "Ties"}, {"handle": "task/T-2"}]},
            False,
            "answered then: [3] task/T-1, task/T-2; call read again to read it",
        ),
        (
            {"n": 4, "handle": "document/plan", "contents": "long"},
            False,
            "answered then: [4] document/plan; call read again to read it",
        ),
        (
            {"documents": [{"handle": "document/plan", "title": "Plan", "length": 9}]},
            False,
            "answered then: document/plan; call read again to read it",
        ),
        ({"ok": True, "status": "done"}, True, 'done: {"ok":true,"status":"done"}'),
        ({"ok": True, "updated": {"status": "done"}}, False, 'done: {"ok":true,"updated":{"status":"done"}}'),
        ({"text": "long"}, False, "answered then; call read again to read it"),
        (
            {"items": [{"handle": "task/T-1"}, {"handle": "task/T-2"}]},
            False,
            "answered then: task/T-1, task/T-2; call read again to read it",
        ),
    ],
)
def test_one_line_says_what_later_turns_lean_on(result: JsonObject, wrote: bool, line: str) -> None:
    assert call_stubs.result_stub("read", result, is_action=wrote) == line


def test_many_handles_are_counted_by_an_ellipsis_and_no_line_is_long() -> None:
    listed: list[Json] = [{"handle": f"task/T-{n}"} for n in range(20)]
    assert call_stubs.result_stub("read", {"items": listed}, is_action=False).count("task/") == 8
    assert len(call_stubs.result_stub("write", {"note": SENTENCE * 90}, is_action=True)) <= 600


def test_what_was_asked_stays_and_what_was_read_goes() -> None:
    asked, answered = call_stubs.history_messages([make_search_round(SENTENCE)])
    assert [asked["role"], answered["role"]] == ["assistant", "user"]
    assert '"query": "x"' in str(asked).replace("'", '"')
    assert SENTENCE not in str(answered)
    assert "found [1] Report 1 (searched for: crane slab)" in str(answered)


def test_a_failed_call_is_still_told_as_failed() -> None:
    (_, answered) = call_stubs.history_messages([make_search_round("x")][:1])
    content = answered["content"]
    assert isinstance(content, list)
    assert content[0] == {
        "type": "tool_result",
        "tool_use_id": "call_1",
        "is_error": False,
        "content": "found [1] Report 1 (searched for: crane slab)",
    }


def test_where_rounds_must_shrink_the_newest_keeps_its_results() -> None:
    rounds = [make_search_round(SENTENCE, number=n) for n in (1, 2)]
    first, second = call_stubs.stub_older_rounds(rounds)
    (acted, _) = call_stubs.stub_older_rounds([make_search_round(SENTENCE), rounds[1]], ["search_knowledge"])
    assert str(acted.results[0][1]["stub"]).startswith("done: ")
    assert second == rounds[1]
    assert first.blocks == rounds[0].blocks
    assert first.results[0][1] == {"ok": True, "stub": "found [1] Report 1 (searched for: crane slab)"}


def test_a_round_that_must_shrink_keeps_the_messages_that_joined_it() -> None:
    joined = replace(make_search_round(SENTENCE), messages=(("m1", "And the hoist?"),))
    first, _ = call_stubs.stub_older_rounds([joined, make_search_round(SENTENCE, number=2)])
    assert first.messages == joined.messages
