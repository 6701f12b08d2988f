"""Judging a reply's citations, and sample events as if sent now."""

from typing import Any

import pytest

from local.errors import StackError
from local.stack_client import answer_problem, citation_problem, sample_payload, wait_until


def reply(text: str, *numbers: int) -> dict[str, Any]:
    return {"text": text, "citations": [{"number": number, "title": "", "locator": ""} for number in numbers]}


@pytest.mark.parametrize(
    ("text", "numbers", "problem"),
    [
        ("Poured on Tuesday [1], accepted on Friday [3].", (1, 3), ""),
        ("Poured on Tuesday.", (), "cites nothing"),
        ("Poured on Tuesday.", (1,), "cites nothing"),
        ("Poured on Tuesday [2].", (1,), "marks [2]"),
        ("Poured on Tuesday [1] [2].", (1,), "marks [1, 2]"),
    ],
)
def test_a_reply_is_validly_cited_when_its_marks_are_its_sources(
    text: str, numbers: tuple[int, ...], problem: str
) -> None:
    found = citation_problem(reply(text, *numbers))
    assert problem in found
    assert bool(found) == bool(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- The width is 0.45 mm. [1]\n- It may move. [2]", ""),
        ("The threshold is 0.70 mm. [1]", "does not say '0.45 mm'"),
        ("The width is 0.45 mm. [2]", "from Minutes, not from Site report"),
        ("The width is 0.45 mm.\nIt may move. [1]", "from nowhere, not from Site report"),
    ],
)
def test_an_answer_says_what_it_should_from_where_it_stands(text: str, problem: str) -> None:
    citations = [{"number": 1, "title": "Site report no. 19"}, {"number": 2, "title": "Minutes"}]
    found = answer_problem({"text": text, "citations": citations}, "0.45 mm", "Site report")
    assert problem in found
    assert bool(found) == bool(problem)


def test_a_sample_event_is_new_each_time_it_is_sent() -> None:
    first, second = sample_payload("inbound_gupshup_text"), sample_payload("inbound_gupshup_text")
    assert first["payload"]["id"] != second["payload"]["id"]
    assert first["payload"]["payload"] == second["payload"]["payload"]


def test_a_sample_event_can_come_from_another_phone_with_another_text() -> None:
    payload = sample_payload("inbound_gupshup_text", text="Hello", sender="+15550100200")["payload"]
    assert (payload["source"], payload["sender"]["phone"]) == ("15550100200", "15550100200")
    assert payload["payload"] == {"text": "Hello"}


def test_what_does_not_come_is_named() -> None:
    with pytest.raises(StackError, match="the reply did not arrive within 0 s"):
        wait_until(lambda: None, "the reply", 0.1)
