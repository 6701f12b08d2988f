"""Files when what reads them is away; what is left of deleted ones; downloads; records that are closed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.files import ingestion, uploads
from parlour.files.extract.sandbox import extract_in_sandbox
from parlour.files.file import File, NewFile
from parlour.infra.errors import (
    AccessRefused,
    DatabaseUnavailable,
    InvalidRequest,
    NotFound,
    ObjectsUnavailable,
    SecretUnavailable,
    StatementTooSlow,
)
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.principal import CONFIDENTIAL, INTERNAL, PUBLIC, Principal
from parlour.records import crud
from parlour.records.file_tombstones import CLEANUP_DELAY
from parlour.records.record import RecordInput, RecordPatch
from tests import sample_files
from tests.conversation_harness import TickingClock
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.knowledge_tenant import KnowledgeTenant

ABOUT = "project/NRS"
CONTRACT = "main-works.pdf"


@pytest.fixture
def desk(library: KnowledgeTenant) -> UploadHarness:
    desk = UploadHarness(library.database, library.principal, TickingClock(library.now))
    with library.database.transaction(library.principal) as tx:
        new = RecordInput("project", "North bank", key="NRS", classification=PUBLIC)
        crud.create_record(library.principal, tx, new, library.now)
    return desk


def reader(desk: UploadHarness, clearance: int) -> Principal:
    return Principal(desk.principal.tenant_id, "member", None, frozenset({"viewer"}), clearance)


def attempts(desk: UploadHarness, file: File) -> object:
    ((used,),) = desk.rows(f"SELECT attempts FROM files WHERE id = '{file.id}'")
    return used


def close(desk: UploadHarness, level: int) -> None:
    with desk.database.transaction(desk.principal) as tx:
        crud.update_record(desk.principal, tx, ABOUT, RecordPatch(classification=level), None, desk.clock())


class Goes:
    """A bucket that goes away between saying that a file is there and giving it."""

    def __init__(self, desk: UploadHarness) -> None:
        self.get = desk.bucket.get
        desk.bucket.get = self  # type: ignore[method-assign]

    def __call__(self, *_: object) -> bytes | None:
        raise ObjectsUnavailable


def test_a_store_that_is_away_uses_no_attempts_up_and_the_file_says_what_it_waits_for(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    gone = Goes(desk)
    for _ in range(2 * ingestion.MAX_ATTEMPTS):
        with pytest.raises(ObjectsUnavailable):
            desk.run_ingestion()
    found = desk.read(file)
    assert (found.state, found.problem) == (
        "queued",
        "waiting: the file storage is unavailable; the file is read when it is back",
    )
    assert attempts(desk, file) == 0
    desk.bucket.get = gone.get  # type: ignore[method-assign]
    desk.run_ingestion()
    found = desk.read(file)
    assert (found.state, found.problem) == ("embedding", None)


def test_a_store_that_does_not_answer_at_all_is_told_too(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    desk.bucket.is_unavailable = True
    with pytest.raises(ObjectsUnavailable):
        desk.run_ingestion()
    assert "the file storage is unavailable" in str(desk.read(file).problem)
    desk.bucket.is_unavailable = False
    desk.run_ingestion()
    assert desk.read(file).problem is None


def test_being_refused_by_the_store_is_no_missing_upload(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    desk.bucket.is_access_refused = True
    with pytest.raises(AccessRefused):
        desk.run_ingestion()
    found = desk.read(file)
    assert (found.state, "the operator was alerted" in str(found.problem)) == ("queued", True)
    desk.bucket.is_access_refused = False
    desk.run_ingestion()
    assert desk.read(file).state == "embedding"


def test_a_database_that_goes_away_in_the_middle_uses_no_attempt_up(
    desk: UploadHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    run, away = desk.database.run, [False]

    def sometimes[R](principal: Principal | UUID | None, work: Callable[[Transaction], R]) -> R:
        if away[0]:
            raise DatabaseUnavailable
        return run(principal, work)

    def reads(*given: object) -> object:
        away[0] = True
        return extract_in_sandbox(*given)  # type: ignore[arg-type]

    def comes_back(seconds: float) -> None:
        desk.slept.append(seconds)
        away[0] = len(desk.slept) < 3

    monkeypatch.setattr(desk.database, "run", sometimes)
    monkeypatch.setattr(desk, "extract", reads)
    services = replace(desk.services(), sleep=comes_back)
    (message,) = desk.queue.sent.values()
    with pytest.raises(DatabaseUnavailable):
        ingestion.ingest(services, ingestion.parse_message(message.body), lambda: 300.0)
    assert desk.slept == [1.0, 2.0, 4.0]
    assert (attempts(desk, file), desk.read(file).state) == (0, "queued")
    assert "the database was unavailable" in str(desk.read(file).problem)


def test_a_secret_that_cannot_be_had_is_not_the_files_fault(
    desk: UploadHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    services = desk.services()

    def models() -> object:
        raise SecretUnavailable

    broken = replace(services, summariser=replace(services.summariser, models=models))  # type: ignore[arg-type]
    (message,) = desk.queue.sent.values()
    with pytest.raises(SecretUnavailable):
        ingestion.ingest(broken, ingestion.parse_message(message.body), lambda: 300.0)
    assert (attempts(desk, file), "a service is unavailable" in str(desk.read(file).problem)) == (0, True)


def test_a_statement_that_takes_too_long_is_the_files_own_doing(
    desk: UploadHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())

    def too_slow(*_: object, **__: object) -> None:
        raise StatementTooSlow

    monkeypatch.setattr(ingestion, "sync_rows_without_vectors", too_slow)
    for _ in range(ingestion.MAX_ATTEMPTS):
        with pytest.raises(StatementTooSlow):
            desk.run_ingestion()
    desk.run_ingestion()
    assert "failed several times" in str(desk.read(file).problem)


def test_a_file_waits_for_a_day_and_then_fails_and_says_so(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    Goes(desk)
    for hours in (0, 20):
        desk.clock.now += timedelta(hours=hours)
        with pytest.raises(ObjectsUnavailable):
            desk.run_ingestion()
        assert desk.read(file).state == "queued"
    desk.clock.now += timedelta(hours=5)
    with pytest.raises(ObjectsUnavailable):
        desk.run_ingestion()
    found = desk.read(file)
    assert (found.state, "for a whole day" in str(found.problem)) == ("failed", True)


def test_a_file_that_waits_is_due_and_the_longer_it_waited_the_later_it_is_looked_at(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    since = desk.clock()
    Goes(desk)
    desk.clock.now += timedelta(hours=2)
    with pytest.raises(ObjectsUnavailable):
        desk.run_ingestion()
    with desk.database.transaction(desk.principal) as tx:
        assert work_due.find(tx, "file", file.id) is not None
        held = uploads.find_unfinished_file(tx, file.id)
    assert held is not None
    assert held.updated_at <= since


def test_what_a_form_brings_after_the_files_deletion_is_taken_away(desk: UploadHarness) -> None:
    started = desk.start(NewFile(CONTRACT, 900, ABOUT))
    desk.bucket.post(started.form, sample_files.make_contract_pdf())
    file = desk.complete(started.file.id)
    desk.run_ingestion()
    desk.delete(file)
    assert (desk.bucket.objects, desk.browse()) == ({}, [])
    assert desk.rows("SELECT name, created_by, entity_id FROM files") == [("", "", None)]
    desk.bucket.post(started.form, sample_files.make_contract_pdf())
    desk.queue.send([uploads.ingest_message(desk.principal.tenant_id, file.id, 1, "again")])
    desk.run_ingestion()
    assert len(desk.bucket.objects) == 1, "its time has not come"
    desk.clock.now += CLEANUP_DELAY
    desk.run_sweep(file.id)
    assert desk.bucket.objects == {}
    assert desk.rows("SELECT id FROM files") == []
    with desk.database.transaction(desk.principal) as tx:
        assert work_due.find(tx, "file", file.id) is None


def test_what_arrives_for_a_deleted_file_is_neither_read_nor_told(desk: UploadHarness) -> None:
    started = desk.start(NewFile(CONTRACT, 900, ABOUT))
    desk.delete(started.file)
    desk.bucket.post(started.form, sample_files.make_contract_pdf())
    with pytest.raises(NotFound):
        desk.complete(started.file.id)
    with pytest.raises(NotFound):
        desk.content(started.file)
    desk.queue.send([uploads.ingest_message(desk.principal.tenant_id, started.file.id, 1, "late")])
    desk.run_ingestion()
    assert desk.rows("SELECT id FROM context_rows WHERE kind LIKE 'file%'") == []


def test_deleting_while_the_bucket_is_away_hides_at_once_and_clears_later(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    desk.run_ingestion()
    desk.bucket.is_unavailable = True
    desk.delete(file)
    assert not [row for row in desk.search("liability") if row.title == CONTRACT]
    assert desk.browse() == []
    desk.clock.now += CLEANUP_DELAY
    with pytest.raises(ObjectsUnavailable):
        desk.run_sweep(file.id)
    desk.bucket.is_unavailable = False
    desk.run_sweep(file.id)
    assert desk.bucket.objects == {}


def test_the_bytes_of_versions_that_were_replaced_go_even_when_the_bucket_was_away(
    desk: UploadHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.start(NewFile("plan.md", 40))
    desk.bucket.post(first.form, b"# Plan\n\nPour on Monday.")
    file = desk.complete(first.file.id)
    desk.run_ingestion()
    desk.upload_new_version(file, b"# Plan\n\nPour on Thursday.")

    def away(_: object) -> None:
        raise ObjectsUnavailable

    with monkeypatch.context() as during:
        during.setattr(desk.bucket, "delete", away)
        desk.run_ingestion()
    assert desk.read(file).state == "embedding"
    assert len(desk.bucket.objects) == 2
    desk.clock.now += CLEANUP_DELAY
    desk.run_sweep(file.id)
    assert [key.rsplit("/", 1)[-1] for key in desk.bucket.objects] == ["2"]
    desk.run_sweep(file.id)
    assert desk.read(file).version == 2


def test_a_download_is_an_address_for_a_minute_and_is_written_down(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), classification=CONFIDENTIAL)
    found = desk.content(file, reader(desk, CONFIDENTIAL))
    assert (found.name, found.size_bytes, found.seconds) == (CONTRACT, len(sample_files.make_contract_pdf()), 60)
    assert f"{file.id}/1?name={CONTRACT}&seconds=60" in found.url
    assert desk.rows("SELECT action, target, actor FROM audit_log") == [
        ("file.downloaded", f"file:{file.id}", "member")
    ]
    with pytest.raises(NotFound):
        desk.content(file, reader(desk, INTERNAL))


def test_what_never_arrived_is_not_downloaded(desk: UploadHarness) -> None:
    started = desk.start(NewFile(CONTRACT, 900))
    with pytest.raises(NotFound, match="the content of this file is missing"):
        desk.content(started.file)
    assert desk.rows("SELECT action FROM audit_log") == []


def test_a_record_that_is_closed_closes_its_files_and_what_was_read_of_them(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    other = desk.upload("secret.md", b"# Secret\n\nThe margin.", ABOUT, classification=CONFIDENTIAL)
    desk.run_ingestion()
    below = reader(desk, PUBLIC)
    assert [row.title for row in desk.search("limitation of liability", below) if row.title == CONTRACT]
    close(desk, INTERNAL)
    assert not [row for row in desk.search("limitation of liability", below) if row.title == CONTRACT]
    assert desk.browse(below) == []
    with pytest.raises(NotFound):
        desk.content(file, below)
    assert (desk.read(file).classification, desk.read(other).classification) == (INTERNAL, CONFIDENTIAL)
    desk.upload_new_version(file, sample_files.make_contract_pdf())
    desk.run_ingestion()
    assert not [row for row in desk.search("limitation of liability", below) if row.title == CONTRACT]


def test_a_record_that_is_opened_leaves_its_files_closed(desk: UploadHarness) -> None:
    close(desk, CONFIDENTIAL)
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    desk.run_ingestion()
    close(desk, PUBLIC)
    assert desk.read(file).classification == CONFIDENTIAL
    assert not [row for row in desk.search("liability", reader(desk, INTERNAL)) if row.title == CONTRACT]


def test_no_file_about_a_record_is_more_open_than_the_record(desk: UploadHarness) -> None:
    close(desk, CONFIDENTIAL)
    with pytest.raises(InvalidRequest, match="the record is confidential, and its files cannot be less restricted"):
        desk.start(NewFile(CONTRACT, 900, ABOUT, classification=INTERNAL))
    assert desk.start(NewFile(CONTRACT, 900, ABOUT, classification=CONFIDENTIAL)).file.classification == CONFIDENTIAL


def test_a_record_that_is_closed_while_its_file_is_read_closes_what_comes_of_it(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)

    def closes(*given: object) -> object:
        close(desk, CONFIDENTIAL)
        return extract_in_sandbox(*given)  # type: ignore[arg-type]

    desk.extract = closes  # type: ignore[assignment]
    desk.run_ingestion()
    assert desk.read(file).classification == CONFIDENTIAL
    assert not [row for row in desk.search("liability", reader(desk, INTERNAL)) if row.title == CONTRACT]
