"""Counting what was written."""

from parlour.records.write_counts import WriteCounts


def test_what_was_written_and_not_new_was_changed() -> None:
    assert WriteCounts.from_totals(drafted=10, stored=7, written=5) == WriteCounts(created=3, changed=2, unchanged=5)


def test_changes_add_up() -> None:
    assert WriteCounts(1, 2, 3) + WriteCounts(10, 20, 30) == WriteCounts(11, 22, 33)
