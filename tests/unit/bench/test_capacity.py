"""The page about scale has the tables that the caps of the template give."""

from pathlib import Path

import pytest

from bench import capacity, report
from layers.preflight import SIZES


@pytest.mark.parametrize("rows", [capacity.capacity_rows(), capacity.demand_rows()], ids=["capacity", "demand"])
def test_the_page_has_the_table_of_today(rows: list[dict[str, report.Cell]]) -> None:
    table = report.to_markdown(rows)
    assert table in Path("docs/concepts/scale.md").read_text("utf-8"), "run `python -m bench.capacity --markdown`"


def test_a_larger_size_holds_more_under_every_limit() -> None:
    for row in capacity.capacity_rows():
        conversations = [int(row[size]) for size in SIZES]
        assert conversations == sorted(conversations), row["limit"]


def test_the_smallest_limit_comes_first() -> None:
    limits = capacity.list_limits(SIZES["S"])
    assert (limits[0].name, limits[0].conversations) == ("one tenant", SIZES["S"]["MaxTenantTurns"])
