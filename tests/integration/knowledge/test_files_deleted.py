"""Files that are deleted while somebody is at them, and what is done twice because nobody heard of a commit."""

from collections.abc import Callable

import pytest

from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.knowledge.files.extract.run import extract
from parlour.knowledge.files.file import LOOKED_AFTER, NewFile
from parlour.principal import Principal
from tests import papers
from tests.desk import Clock
from tests.integration.knowledge.conftest import Library
from tests.integration.knowledge.file_desk import FileDesk

CONTRACT = "main-works.pdf"


@pytest.fixture
def desk(library: Library) -> FileDesk:
    return FileDesk(library.database, library.principal, Clock(library.now))


@pytest.fixture
def repeating(desk: FileDesk, monkeypatch: pytest.MonkeyPatch) -> FileDesk:
    """All work is committed twice, as when the answer to the first commit was lost."""
    once = desk.database.run

    def twice[R](principal: Principal, work: Callable[[Transaction], R]) -> R:
        once(principal, work)
        return once(principal, work)

    monkeypatch.setattr(desk.database, "run", twice)
    return desk


@pytest.mark.parametrize("data", [papers.contract(), b"%PDF-1.7 no more than that"], ids=["gone", "broken"])
def test_a_file_that_is_deleted_while_it_is_read_is_looked_for_again(desk: FileDesk, data: bytes) -> None:
    started = desk.start(NewFile(CONTRACT, len(data)))
    desk.bucket.post(started.form, data)
    file = desk.complete(started.file.id)
    get, deleting = desk.bucket.get, [file]

    def deleted_before(*given: object) -> bytes | None:
        found = get(*given)  # type: ignore[arg-type]
        desk.delete(deleting.pop())
        return found if data != papers.contract() else None

    desk.bucket.get = deleted_before  # type: ignore[method-assign]
    desk.work()
    assert desk.rows("SELECT name, problem FROM files") == [("", None)]
    desk.bucket.post(started.form, data)
    desk.clock.now += LOOKED_AFTER
    desk.look_again(file.id)
    assert (desk.bucket.kept, desk.rows("SELECT id FROM files")) == ({}, [])
    with desk.database.transaction(desk.principal) as tx:
        assert work_due.find(tx, "file", file.id) is None


def test_a_file_that_is_deleted_while_its_text_is_read_leaves_none_of_it(desk: FileDesk) -> None:
    file = desk.upload(CONTRACT, papers.contract())

    def deletes(*given: object) -> object:
        desk.delete(file)
        return extract(*given)  # type: ignore[arg-type]

    desk.extract = deletes  # type: ignore[assignment]
    desk.work()
    assert desk.rows("SELECT id FROM context_rows WHERE file_id IS NOT NULL") == []


def test_a_deletion_that_is_committed_twice_is_one(repeating: FileDesk) -> None:
    file = repeating.upload(CONTRACT, papers.contract())
    repeating.delete(file)
    assert repeating.bucket.kept == {}
    assert repeating.rows("SELECT count(*) FROM audit_log WHERE action = 'file.deleted'") == [(1,)]


def test_a_download_that_is_written_down_twice_is_one(repeating: FileDesk) -> None:
    file = repeating.upload(CONTRACT, papers.contract())
    assert repeating.content(file).name == CONTRACT
    assert repeating.rows("SELECT count(*) FROM audit_log WHERE action = 'file.downloaded'") == [(1,)]
