"""Counting what was written."""

from parlour.knowledge.records.changes import Changes


def test_what_was_written_and_not_new_was_changed() -> None:
    assert Changes.tally(drafted=10, stored=7, written=5) == Changes(created=3, changed=2, unchanged=5)


def test_changes_add_up() -> None:
    assert Changes(1, 2, 3) + Changes(10, 20, 30) == Changes(11, 22, 33)
