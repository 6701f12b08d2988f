"""Version 7 ids, by RFC 9562."""

from datetime import UTC, datetime, timedelta

import pytest

from parlour.infra import ids
from parlour.infra.ids import uuid7

MOMENT = datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)
"""The moment of the RFC's own example, appendix A.6."""


def test_the_rfcs_example_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = (0xCC3 << 64) | (0x18C4DC0C0C07398F)
    monkeypatch.setattr(ids, "urandom", bits.to_bytes)
    assert str(uuid7(MOMENT)) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


def test_ids_sort_by_time_and_differ_at_the_same_time() -> None:
    assert uuid7(MOMENT) < uuid7(MOMENT + timedelta(milliseconds=1))
    same = {uuid7(MOMENT) for _ in range(1_000)}
    assert len(same) == 1_000
    assert {(one.version, one.variant) for one in same} == {(7, "specified in RFC 4122")}
