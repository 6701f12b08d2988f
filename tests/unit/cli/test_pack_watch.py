"""`parlour apply --watch`: a change is noticed once, also one that is made while it applies."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from parlour.cli.pack_watch import list_changes


class NothingChangesAnyMore(Exception):
    """Ends the watch."""


def test_each_change_is_told_once_and_hidden_files_are_none(tmp_path: Path) -> None:
    file, told = tmp_path / "tenant.yaml", 0
    file.write_text("a")
    edits: list[Callable[[], object]] = [
        lambda: file.write_text("ab"),
        lambda: (tmp_path / ".swp").write_text("x"),
        file.unlink,
    ]

    def sleep(_: float) -> None:
        if not edits:
            raise NothingChangesAnyMore
        edits.pop(0)()

    with suppress(NothingChangesAnyMore):
        for _ in list_changes(tmp_path, sleep):
            told += 1
            if told == 2:
                file.write_text("abc, while it was applied")
    assert told == 4
    assert edits == []
