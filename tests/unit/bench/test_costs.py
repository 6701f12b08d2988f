"""The page about costs has the tables that the template and the prices give."""

from datetime import date
from pathlib import Path

import pytest

from bench import costs, report


@pytest.mark.parametrize(
    "rows", [costs.fixed_rows(), costs.million_rows(), costs.load_rows()], ids=["fixed", "million", "loads"]
)
def test_the_page_has_the_table_of_today(rows: list[dict[str, report.Cell]]) -> None:
    table = report.to_markdown(rows)
    assert table in Path("docs/concepts/costs.md").read_text("utf-8"), "run `python -m bench.costs --markdown`"


def test_prices_have_a_date_and_a_region() -> None:
    prices = costs.read_prices()
    assert (date.fromisoformat(prices["as_of"]).year, prices["region"]) == (2026, "us-east-1")
    assert all(price > 0 for price in prices.values() if not isinstance(price, str))
