"""Files: uploaded by people themselves, read, found with their pages, replaced and taken away."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.files import ingestion, store, uploads
from parlour.files.file import NewFile
from parlour.infra.errors import (
    Conflict,
    DatabaseUnavailable,
    Forbidden,
    NotFound,
    ProviderUnavailable,
    UnreadableFile,
)
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.jobs import work_due
from parlour.principal import CONFIDENTIAL, INTERNAL, Principal
from parlour.records import crud
from parlour.records.neighbours.neighbourhood import find_neighbours
from parlour.records.record import RecordInput
from tests import sample_files
from tests.conversation_harness import ScriptedModel, TickingClock, text_answer
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.knowledge_tenant import KnowledgeTenant, execute

CONTRACT = "main-works.pdf"
ABOUT = "project/NRS"


@pytest.fixture
def desk(library: KnowledgeTenant) -> UploadHarness:
    desk = UploadHarness(library.database, library.principal, TickingClock(library.now))
    with library.database.transaction(library.principal) as tx:
        new = RecordInput("project", "North bank", key="NRS", classification=0)
        crud.create_record(library.principal, tx, new, library.now)
    return desk


def reader(desk: UploadHarness, clearance: int) -> Principal:
    return Principal(desk.principal.tenant_id, "member", None, frozenset({"viewer"}), clearance)


def test_a_contract_is_uploaded_read_and_found_with_its_page(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    assert (file.state, file.about, file.media_type, file.version) == ("queued", ABOUT, "application/pdf", 1)
    desk.run_ingestion()
    file = desk.read(file)
    assert (file.state, file.pages, file.problem) == ("embedding", 3, None)
    assert file.tokens is not None
    (best, *_) = desk.search("limitation of liability in euros")
    assert (best.title, best.kind) == (CONTRACT, "file_chunk")
    assert "14. Limitation of liability" in best.locator
    assert "page 3" in best.locator
    assert desk.embedding.sent == [{"tenant_id": str(desk.principal.tenant_id)}]
    desk.mark_all_embedded()
    assert desk.read(file).state == "ready"
    assert [one.id for one in desk.browse(about=ABOUT)] == [file.id]


def test_a_file_in_short_is_found_too(desk: UploadHarness) -> None:
    desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    desk.run_ingestion()
    ((content,),) = desk.rows("SELECT content FROM context_rows WHERE kind = 'file_summary'")
    assert str(content).startswith(f"{CONTRACT}, in short\nBetween the owner and the builder")
    assert "Contents: Works contract; 12. Delay; 14. Limitation of liability." in str(content)


def test_short_files_of_a_project_are_whole_in_its_briefing(desk: UploadHarness) -> None:
    file = desk.upload("plan.md", b"# Plan\n\nPour on Monday.", ABOUT)
    desk.run_ingestion()
    with desk.database.transaction(desk.principal) as tx:
        project = crud.get_record(desk.principal, tx, ABOUT)
        found = find_neighbours(desk.principal, tx, project.id, team_id=uuid7(desk.clock.now), is_project=True)
    assert [(item.id, "Pour on Monday." in item.content) for item in found if item.category == "file_text"] == [
        (file.id, True)
    ]


def test_a_models_summary_is_paid_for(desk: UploadHarness) -> None:
    model = ScriptedModel()
    model.script = [text_answer("A contract for works on the north bank, limited to 2,000,000 euros.")]
    desk.models = {"anthropic": model}
    bind_an_agent(desk)
    desk.upload(CONTRACT, sample_files.make_contract_pdf())
    desk.run_ingestion()
    ((content,),) = desk.rows("SELECT content FROM context_rows WHERE kind = 'file_summary'")
    assert "limited to 2,000,000 euros" in str(content)
    assert "material" in str(model.requests[0].system)
    shown = str(model.requests[0].messages)
    assert shown.index("Works contract > 12. Delay") < shown.index("Works contract > 14. Limitation of liability")
    ((purpose, cost),) = desk.rows("SELECT purpose, cost_usd FROM llm_calls")
    assert purpose == "file_summary"
    assert Decimal(str(cost)) > 0
    assert desk.rows("SELECT amount_usd FROM spend_reservations") == []


def test_a_model_that_is_away_holds_no_file_up(desk: UploadHarness) -> None:
    model = ScriptedModel()
    model.script = [ProviderUnavailable("away"), ProviderUnavailable("away")]
    desk.models = {"anthropic": model}
    bind_an_agent(desk)
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    desk.run_ingestion()
    assert desk.read(file).state == "embedding"
    ((content,),) = desk.rows("SELECT content FROM context_rows WHERE kind = 'file_summary'")
    assert "Contents:" in str(content)


def bind_an_agent(desk: UploadHarness) -> None:
    routing = '{"default": {"provider": "anthropic", "model": "claude-haiku-4-5"}}'
    desk.run(lambda connection: connection.execute(f"UPDATE agents SET model_routing = '{routing}'"))


def test_a_new_version_replaces_the_old_one_once_it_is_read(desk: UploadHarness) -> None:
    file = desk.upload("plan.md", b"# Plan\n\nPour on Monday.\n\n# Cure\n\nSeven days.", ABOUT)
    desk.run_ingestion()
    kept = desk.rows("SELECT id FROM context_rows WHERE content LIKE '%Seven days%' AND kind = 'file_chunk'")
    again = desk.upload_new_version(file, b"# Plan\n\nPour on Thursday.\n\n# Cure\n\nSeven days.")
    assert (again.state, again.version) == ("queued", 2)
    assert desk.search("Monday")
    desk.run_ingestion()
    assert not [row for row in desk.search("Monday") if "Monday" in row.content]
    assert [row for row in desk.search("Thursday") if "Thursday" in row.content]
    assert kept == desk.rows("SELECT id FROM context_rows WHERE content LIKE '%Seven days%' AND kind = 'file_chunk'")
    assert len(desk.bucket.objects) == 1
    desk.run_ingestion()


def test_a_new_version_that_cannot_be_read_leaves_the_old_one_found(desk: UploadHarness) -> None:
    file = desk.upload("plan.md", b"# Plan\n\nPour on Monday.")
    desk.run_ingestion()
    desk.upload_new_version(file, b"\x00\x01")
    desk.run_ingestion()
    assert desk.read(file).state == "failed"
    assert "Monday" in desk.search("Monday")[0].content


def test_deleting_takes_everything_away(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    desk.run_ingestion()
    desk.delete(file)
    assert desk.rows("SELECT id FROM context_rows WHERE file_id IS NOT NULL") == []
    assert desk.bucket.objects == {}
    assert desk.browse() == []
    assert desk.rows("SELECT action FROM audit_log") == [("file.deleted",)]
    with pytest.raises(NotFound):
        desk.delete(file)


@pytest.mark.parametrize(
    ("name", "data", "says_so"),
    [
        ("scan.pdf", sample_files.make_pdf([[]]), "the file has no text"),
        ("secret.pdf", sample_files.make_pdf([[("x", 11)]], encrypted=True), "password"),
        ("broken.docx", b"PK\x03\x04 nothing", "cannot be read"),
        (
            "bomb.xlsx",
            sample_files.make_zip({"[Content_Types].xml": b"<x/>", "xl/a.xml": bytes(40_000_000)}),
            "expands to an unusual size",
        ),
        ("blank.txt", b"   ", "empty"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_and_harms_no_other(
    desk: UploadHarness, name: str, data: bytes, says_so: str
) -> None:
    bad, good = desk.upload(name, data), desk.upload("good.txt", b"The crane comes on Tuesday.")
    desk.run_ingestion()
    found = desk.read(bad)
    assert found.state == "failed"
    assert says_so in str(found.problem)
    assert desk.read(good).state == "embedding"
    with desk.database.transaction(desk.principal) as tx:
        assert work_due.find(tx, "file", bad.id) is None


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (NewFile("big.pdf", 300 * 1024 * 1024), "too_large"),
        (NewFile("empty.pdf", 0), "empty"),
        (NewFile("virus.exe", 10), "not_taken"),
        (NewFile("old.doc", 10), "old_office"),
    ],
)
def test_what_is_not_taken_is_refused_before_it_is_uploaded(desk: UploadHarness, new: NewFile, reason: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        desk.start(new)
    assert refused.value.reason == reason
    assert desk.browse() == []


def test_more_than_was_said_is_thrown_away_when_it_arrives(
    desk: UploadHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 100)
    started = desk.start(NewFile("a.txt", 50))
    desk.bucket.post(started.form, b"a" * 101)
    with pytest.raises(UnreadableFile):
        desk.complete(started.file.id)
    assert desk.bucket.objects == {}
    found = desk.read(started.file)
    assert (found.state, "larger than" in str(found.problem)) == ("failed", True)


def test_an_upload_is_completed_once_and_only_when_it_is_there(desk: UploadHarness) -> None:
    started = desk.start(NewFile("a.txt", 50))
    with pytest.raises(Conflict, match="the file has not arrived"):
        desk.complete(started.file.id)
    desk.bucket.post(started.form, b"The crane comes on Tuesday.")
    assert desk.complete(started.file.id).state == "queued"
    assert desk.complete(started.file.id).state == "queued"
    assert len(desk.queue.sent) == 1
    desk.run_ingestion()
    assert desk.complete(started.file.id).state == "embedding"
    assert desk.queue.sent == {}


def test_only_editors_upload_and_nobody_above_their_own_clearance(desk: UploadHarness) -> None:
    with pytest.raises(Forbidden, match="editor"):
        desk.start(NewFile("a.txt", 1), reader(desk, CONFIDENTIAL))
    editor = replace(reader(desk, INTERNAL), roles=frozenset({"editor"}))
    with pytest.raises(Forbidden, match="confidential is above your own clearance"):
        desk.start(NewFile("a.txt", 1, classification=CONFIDENTIAL), editor)
    assert desk.start(NewFile("a.txt", 1, classification=INTERNAL), editor).file.classification == INTERNAL


def test_whoever_is_not_cleared_finds_neither_the_file_nor_its_text(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT, classification=CONFIDENTIAL)
    desk.run_ingestion()
    below = reader(desk, INTERNAL)
    assert not [row for row in desk.search("limitation of liability", below) if row.title == CONTRACT]
    assert desk.browse(below) == []
    with pytest.raises(NotFound):
        desk.read(file, below)
    assert desk.read(file, reader(desk, CONFIDENTIAL)).id == file.id


def test_a_teams_file_is_its_own(desk: UploadHarness) -> None:
    file = desk.upload("sop.md", b"# Lifting\n\nLift only below 38 km/h of wind.", team="t")
    desk.run_ingestion()
    assert (desk.read(file).team, [one.id for one in desk.browse(team="t")]) == ("t", [file.id])
    ((teams,),) = desk.rows("SELECT count(DISTINCT team_id) FROM context_rows WHERE file_id IS NOT NULL")
    assert teams == 1
    with pytest.raises(NotFound, match="team"):
        desk.browse(team="nobody")


def test_another_tenant_sees_nothing_of_it(desk: UploadHarness, other_library: KnowledgeTenant) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())
    desk.run_ingestion()
    stranger = replace(desk, principal=other_library.principal)
    assert stranger.browse() == []
    with pytest.raises(NotFound):
        stranger.read(file)
    with pytest.raises(NotFound):
        stranger.delete(file)


def test_a_file_whose_worker_dies_every_time_is_given_up(desk: UploadHarness) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf())

    def dies(*_: object) -> None:
        raise SystemError

    desk.extract = dies  # type: ignore[assignment]
    (message,) = desk.queue.sent.values()
    for _ in range(ingestion.MAX_ATTEMPTS):
        with pytest.raises(SystemError):
            ingestion.ingest(desk.services(), ingestion.parse_message(message.body), lambda: 300.0)
    ingestion.ingest(desk.services(), ingestion.parse_message(message.body), lambda: 300.0)
    found = desk.read(file)
    assert (found.state, found.problem) == (
        "failed",
        "reading the file failed several times: save it again or split it, then upload it",
    )


def test_a_message_that_comes_twice_does_its_work_once(desk: UploadHarness) -> None:
    desk.upload("a.txt", b"The crane comes on Tuesday.")
    (message,) = desk.queue.sent.values()
    for _ in range(2):
        ingestion.ingest(desk.services(), ingestion.parse_message(message.body), lambda: 300.0)
    assert desk.rows("SELECT count(*) FROM context_rows WHERE kind = 'file_chunk'") == [(1,)]
    assert len(desk.embedding.sent) == 1


def test_an_upload_that_nobody_completed_is_read_if_it_arrived_and_else_failed(desk: UploadHarness) -> None:
    arrived, lost = desk.start(NewFile("a.txt", 9)), desk.start(NewFile("b.txt", 9))
    desk.bucket.post(arrived.form, b"The crane comes.")
    for started in (arrived, lost):
        due = desk.clock() + timedelta(hours=2)
        with desk.database.transaction(desk.principal) as tx:
            assert uploads.find_unfinished_file(tx, started.file.id)
            found = work_due.find(tx, "file", started.file.id)
        assert found is not None
        assert found.due_at < due
        desk.queue.send([uploads.ingest_message(desk.principal.tenant_id, started.file.id, 1, "due")])
    desk.run_ingestion()
    assert desk.read(arrived.file).state == "embedding"
    assert "content of the file is missing" in str(desk.read(lost.file).problem)


def test_a_file_about_a_record_that_was_deleted_meanwhile_is_not_read(
    desk: UploadHarness, library: KnowledgeTenant
) -> None:
    file = desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    with library.database.transaction(library.principal) as tx:
        crud.delete_record(library.principal, tx, ABOUT, None, desk.clock())
    desk.run_ingestion()
    assert desk.rows("SELECT id FROM context_rows WHERE kind LIKE 'file%'") == []
    assert desk.rows(f"SELECT state FROM files WHERE id = '{file.id}'") == [("failed",)]


def test_a_record_knows_that_a_file_of_its_came(desk: UploadHarness, library: KnowledgeTenant) -> None:
    with library.database.transaction(library.principal) as tx:
        execute(tx, "UPDATE entity_types SET rag = '{\"pulse\": \"auto\"}' WHERE key = 'project'")
        execute(tx, "UPDATE entities SET stale_since = NULL, stale_causes = '{}'")
    desk.upload(CONTRACT, sample_files.make_contract_pdf(), ABOUT)
    desk.run_ingestion()
    assert desk.rows("SELECT stale_causes FROM entities WHERE key = 'NRS'") == [(["file_ingested"],)]


def test_an_upload_that_never_arrived_is_started_again(desk: UploadHarness) -> None:
    file = desk.start(NewFile("plan.md", 10, ABOUT)).file
    again = desk.upload_new_version(file, b"# Plan\n\nPour on Thursday.")
    assert (again.state, again.version) == ("queued", 1)
    desk.run_ingestion()
    assert desk.read(file).state == "embedding"


def test_two_files_of_one_record_are_written_one_after_the_other(
    desk: UploadHarness, open_database: Callable[[], Database]
) -> None:
    """Sharing the record until both mark it would be a deadlock."""
    about = desk.upload("plan.md", b"# Plan\n\nPour on Thursday.", ABOUT)
    ((entity_id,),) = desk.rows(f"SELECT entity_id FROM files WHERE id = '{about.id}'")
    assert isinstance(entity_id, UUID)
    other = open_database()

    def wait(tx: Transaction) -> None:
        tx._connection.execute("SET LOCAL lock_timeout = '100ms'")
        store.lock_record(tx, entity_id)

    with desk.database.transaction(desk.principal) as first:
        assert store.lock_record(first, entity_id)
        with pytest.raises(DatabaseUnavailable):
            other.run(desk.principal, wait)
