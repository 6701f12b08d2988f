"""The benchmark of Pulses, very small: that it runs, and what must hold at any size."""

from typing import Any

from bench.pulse import measured


def test_the_sweep_follows_what_is_due_and_a_day_asks_seldom() -> None:
    found: Any = measured([400, 2_000], 1)
    few, many = ([row for row in found["sweep"] if row["records"] == size] for size in (400, 2_000))
    assert [row["sent"] for row in few + many] == [row["due"] for row in few + many] == [4, 400, 20, 1_000]
    assert few[0]["statements"] == many[0]["statements"]
    assert {row["idle statements"] for row in few + many} == {2}
    day = found["day"]
    assert day["calls"] < day["changes"]
    assert day["usd per record and day"] < day["at every change"]
    assert day["max"] <= 30 + 60 + 1
