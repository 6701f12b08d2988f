"""Files that are deleted while somebody is at them, and what is done twice because nobody heard of a commit."""

from collections.abc import Callable

import pytest

from parlour.files.extract.sandbox import extract_in_sandbox
from parlour.files.file import NewFile
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.principal import Principal
from parlour.records.file_tombstones import CLEANUP_DELAY
from tests import sample_files
from tests.conversation_harness import TickingClock
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.knowledge_tenant import KnowledgeTenant

CONTRACT = "main-works.pdf"


@pytest.fixture
def desk(library: KnowledgeTenant) -> UploadHarness:
    return UploadHarness(library.database, library.principal, TickingClock(library.now))


@pytest.fixture
def repeating(desk: UploadHarness, monkeypatch: pytest.MonkeyPatch) -> UploadHarness:
    """All work is committed twice, as when the answer to the first commit was lost."""
    once = desk.database.run

    def twice[R](principal: Principal, work: Callable[[Transaction], R]) -> R:
        once(principal, work)
        return once(principal, work)

    monkeypatch.setattr(desk.database, "run", twice)
    return desk


@pytest.mark.parametrize(
    "data", [sample_files.make_contract_pdf(), b"%PDF-1.7 no more than that"], ids=["gone", "broken"]
)
def test_a_file_that_is_deleted_while_it_is_read_is_looked_for_again(desk: UploadHarness, data: bytes) -> None:
    started = desk.start(NewFile(CONTRACT, len(data)))
    desk.bucket.post(started.form, data)
    file = desk.complete(started.file.id)
    get, deleting = desk.bucket.get, [file]

    def deleted_before(*given: object) -> bytes | None:
        found = get(*given)  # type: ignore[arg-type]
        desk.delete(deleting.pop())
        return found if data != sample_files.make_contract_pdf() else None

    desk.bucket.get = deleted_before  # type: ignore[method-assign]
    desk.run_ingestion()
    assert desk.rows("SELECT name, problem FROM files") == [("", None)]
    desk.bucket.post(started.form, data)
    desk.clock.now += CLEANUP_DELAY
    desk.run_sweep(file.id)
    assert (desk.bucket.objects, desk.rows("SELECT id FROM files")) == ({}, [])
    with desk.database.transaction(desk.principal) as tx:
        assert work_due.find(tx, "file", file.id) is None


def test_a_file_that_is_deleted_while_its_text_is_read_leaves_none_of_it(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())

    def deletes(*given: object) -> object:
        desk.delete(file)
        return extract_in_sandbox(*given)  # type: ignore[arg-type]

    desk.extract = deletes  # type: ignore[assignment]
    desk.run_ingestion()
    assert desk.rows("SELECT id FROM context_rows WHERE file_id IS NOT NULL") == []


def test_a_deletion_that_is_committed_twice_is_one(repeating: UploadHarness) -> None:
    file = repeating.upload(CONTRACT, sample_files.make_contract_pdf())
    repeating.delete(file)
    assert repeating.bucket.objects == {}
    assert repeating.rows("SELECT count(*) FROM audit_log WHERE action = 'file.deleted'") == [(1,)]


def test_a_download_that_is_written_down_twice_is_one(repeating: UploadHarness) -> None:
    file = repeating.upload(CONTRACT, sample_files.make_contract_pdf())
    assert repeating.content(file).name == CONTRACT
    assert repeating.rows("SELECT count(*) FROM audit_log WHERE action = 'file.downloaded'") == [(1,)]
