"""What a report says of the rows that an erasure touched."""

from datetime import UTC, datetime
from uuid import UUID

from parlour.erasure import report
from parlour.erasure.report import ErasureReport, ErasureTarget
from parlour.infra.json_values import JsonObject, canonical_json

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def test_rows_of_one_table_and_action_are_listed_together_and_once() -> None:
    told = ErasureReport(UUID(int=1), ErasureTarget("user", UUID(int=2)), "operator", NOW)
    told.record_rows("deleted", "messages", ["a", "b", "a"])
    told.record_rows("redacted", "messages", ["b", "c"])
    told.record_rows("kept", "entities", ["r"], "its kind requires it")
    said = told.to_json()
    assert said["counts"] == {"deleted": 2, "redacted": 1, "kept": 1}
    assert said["rows"] == [
        {"table": "entities", "action": "kept", "reason": "its kind requires it", "count": 1, "ids": ["r"]},
        {"table": "messages", "action": "deleted", "reason": "", "count": 2, "ids": ["a", "b"]},
        {"table": "messages", "action": "redacted", "reason": "", "count": 1, "ids": ["c"]},
    ]


def test_rows_beyond_the_bound_are_counted() -> None:
    told = ErasureReport(UUID(int=1), ErasureTarget("user", UUID(int=2)), "operator", NOW)
    told.record_rows("deleted", "events", range(report.MAX_LISTED_IDS + 5))
    (group,) = report.group_rows(told.rows)
    assert isinstance(group, dict)
    assert group["count"] == report.MAX_LISTED_IDS + 5
    assert len(group["ids"]) == report.MAX_LISTED_IDS  # type: ignore[arg-type]


def test_what_is_out_of_reach_names_the_models_and_channels_that_had_it_and_never_the_offline_model() -> None:
    found = [one.where for one in report.find_out_of_reach(["offline", "anthropic", "anthropic"], ["web", "whatsapp"])]
    assert found[:2] == ["model provider anthropic", "channel whatsapp"]
    assert found[2:] == ["backups", "copies", "dead letters of memory and pulse", "queues"]


def test_of_many_rows_some_are_answered_and_all_are_kept() -> None:
    told = ErasureReport(UUID(int=1), ErasureTarget("user", UUID(int=2)), "operator", NOW)
    told.record_rows("deleted", "events", range(report.MAX_RETURNED_IDS + 5))
    kept, shown = told.to_json(), report.shorten_report(told.to_json())
    assert [_ids(one) for one in (kept, shown)] == [report.MAX_RETURNED_IDS + 5, report.MAX_RETURNED_IDS]
    assert f'"count":{report.MAX_RETURNED_IDS + 5}' in canonical_json(shown)


def _ids(told: JsonObject) -> int:
    rows = told["rows"]
    assert isinstance(rows, list)
    return sum(len(ids) for row in rows if isinstance(row, dict) and isinstance(ids := row["ids"], list))
