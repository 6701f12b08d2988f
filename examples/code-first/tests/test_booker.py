"""Tests of the example: `pytest examples/code-first`."""

from pathlib import Path

import pytest

from parlour import testing

PACK = Path(__file__).parents[1]
TIME = "2026-03-03T10:00:00"


@pytest.fixture(autouse=True)
def empty_diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a diary of its own."""
    monkeypatch.setenv("DIARY", str(tmp_path / "diary.json"))


def test_books_the_time_that_was_asked_for() -> None:
    """A booking, and the number in the reply."""
    answers = [testing.call("book_appointment", name="Priya", start=TIME), "Booked, your number is A-1."]
    with testing.Agent(PACK, answers, binding="salon") as agent:
        reply = agent.say("Tuesday at ten, please. I am Priya.")
        assert reply.text == "Booked, your number is A-1."
        assert [(one.name, one.state) for one in reply.tool_calls] == [("book_appointment", "done")]
        assert reply.tool_calls[0].data == {"number": "A-1", "name": "Priya", "start": TIME}


def test_offers_another_time_when_one_is_taken() -> None:
    """Two people want the same time; the second booking is refused."""
    book = testing.call("book_appointment", name="Priya", start=TIME)
    with testing.Agent(PACK, [book, "Booked."], binding="salon") as agent:
        agent.say("Ten, please.")
    with testing.Agent(PACK, [book, "Ten is taken. Eleven?"], binding="salon") as agent:
        reply = agent.say("Ten for me, too.")
        assert reply.text == "Ten is taken. Eleven?"
        assert reply.tool_calls[0].state == "failed"
        assert "taken" in reply.tool_calls[0].result
