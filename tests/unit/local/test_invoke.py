"""`parlour invoke` says in one line why it cannot run a handler."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local import invoke
from local.errors import StackError


def test_an_unknown_function_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"unknown function inbuond; available: .*inbound, .*receiver"):
        invoke.invoke_function("inbuond", "receiver_text.json", tmp_path)


def test_a_missing_event_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"event file nothing\.json not found; available: .*receiver_text\.json"):
        invoke.invoke_function("receiver", "nothing.json", tmp_path)


def test_an_event_that_is_no_json_is_named_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    file.write_text('{"a": }')
    with pytest.raises(StackError, match=r"event\.json is not valid JSON: .*line 1 column 7"):
        invoke.invoke_function("receiver", str(file), tmp_path)


def test_a_stack_that_was_never_started_has_to_be(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="start it in another terminal with `make run`"):
        invoke.invoke_function("receiver", "receiver_text.json", tmp_path)


def test_a_stack_that_has_been_stopped_has_to_be_started(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text('{"endpoint": "http://127.0.0.1:9", "outputs": {}}')
    with pytest.raises(StackError, match="the stack is not running"):
        invoke.invoke_function("receiver", "receiver_text.json", tmp_path)


def test_the_command_answers_with_a_line_and_status_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke.main(["nothing", "nothing.json"]) == 2
    assert capsys.readouterr().err.startswith("parlour: unknown function nothing; ")


@pytest.mark.parametrize("event", ["inbound_gupshup_text.json", "receiver_text.json"])
def test_sample_event_is_sent_as_of_now(event: str) -> None:
    now = datetime(2027, 1, 31, 12, 0, 5, tzinfo=UTC)
    text = json.dumps(invoke.refresh_times(invoke.read_event(event), now))
    assert any(moment in text for moment in ("2027-01-31T12:00:05+00:00", "1801396805000"))
    assert not any(moment in text for moment in ("2026-03-02T09:30:00+00:00", "1772443800000"))
