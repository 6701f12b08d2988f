"""Logs carry an action, ids and numbers; what somebody wrote never slips in."""

import json
import uuid

import pytest

from parlour.infra import log


def newest(caplog: pytest.LogCaptureFixture) -> dict[str, object]:
    return vars(caplog.records[-1])


def test_an_event_has_its_action_and_ids(caplog: pytest.LogCaptureFixture) -> None:
    turn = uuid.uuid4()
    log.info("turn_finished", turn_id=turn, tokens=12)
    line = newest(caplog)
    assert (line["action"], line["turn_id"], line["tokens"]) == ("turn_finished", str(turn), 12)
    assert (line["levelname"], line["msg"]) == ("INFO", "turn_finished")


def test_a_line_says_where_it_was_logged(caplog: pytest.LogCaptureFixture) -> None:
    log.warning("odd")
    assert newest(caplog)["funcName"] == "test_a_line_says_where_it_was_logged"


def test_an_error_says_its_class_and_place_but_not_its_message(caplog: pytest.LogCaptureFixture) -> None:
    try:
        int("canary: the user's own words")
    except ValueError as problem:
        log.error("turn_attempt_failed", problem)
    line = newest(caplog)
    assert line["error"] == "ValueError"
    assert str(line["place"]).startswith("test_an_error_says_its_class")
    assert "canary" not in json.dumps(line, default=str)


def test_long_text_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    log.warning("odd", code="x" * 1_000)
    assert newest(caplog)["code"] == "x" * 120


def test_a_field_may_have_any_name(caplog: pytest.LogCaptureFixture) -> None:
    log.info("pack_applied", created=3, name="northbank", message="none")
    line = newest(caplog)
    assert (line["created_"], line["name_"], line["message_"]) == (3, "northbank", "none")


def test_a_metric_is_written_in_the_embedded_format(capsys: pytest.CaptureFixture[str]) -> None:
    log.count("UnknownNumber", Provider="gupshup")
    line = json.loads(capsys.readouterr().out)
    assert (line["UnknownNumber"], line["Provider"]) == ([1.0], "gupshup")
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Parlour"
