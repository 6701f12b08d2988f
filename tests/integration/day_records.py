"""The part of the working day in which records are made, changed, linked, listed and deleted by people."""

from parlour.documents import authored_documents
from parlour.documents.authored_documents import NewDocument
from parlour.documents.projects import create_project
from parlour.files import uploads
from parlour.files.file import NewFile
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.records import backfill, crud, record_links, type_registry
from parlour.records.crud import RecordInput, RecordPatch
from parlour.records.record import RecordQuery
from tests.conversation_harness import ConversationHarness
from tests.fake_bucket import FakeBucket

_TOLD_ANEW = "UPDATE entity_types SET version = version + 1, {} WHERE key = 'finding' RETURNING id"


def edit_records(conversation: ConversationHarness) -> None:
    """A finding is written down, linked to the project, corrected, found again and closed."""
    admin, now = conversation.admin, conversation.clock()
    with conversation.database.transaction(admin) as tx:
        assert crud.lock_record(admin, tx, "project/NRS", None)
        new = RecordInput("finding", "Gap in the guard rail", "F-1", {"severity": "high"}, project="project/NRS")
        finding = crud.create_record(admin, tx, new, now)
        assert crud.find_records(admin, tx, ["finding/F-1", "finding/F-2"]) == [finding]
        assert record_links.link(admin, tx, finding.id, "risk/R-03", "answers", now, "day-2").is_new
        assert not record_links.link(admin, tx, finding.id, "risk/R-03", "answers", now, "day-2").is_new
        assert crud.list_records(
            admin, tx, RecordQuery(type="finding", where={"severity": "high"}, text="guard")
        ).records
    conversation.query("UPDATE entity_types SET display_name = 'Gap' WHERE key = 'finding' RETURNING id")
    with conversation.database.transaction(admin) as tx:
        change = RecordPatch(properties={"severity": "low"}, classification=1)
        assert crud.update_record(admin, tx, "finding/F-1", change, 1, now).version == 2
        assert "finding" in type_registry.list_record_types(tx)
        record_links.unlink(admin, tx, finding.id, "risk/R-03", "answers", now)
        crud.delete_record(admin, tx, "finding/F-1", 2, now)
        again, same = (crud.create_record(admin, tx, new, now, "day-1").id for _ in range(2))
        assert again == same != finding.id
        assert record_links.link(admin, tx, again, "risk/R-03", "answers", now, "day-2").is_new
        note = authored_documents.create_document(
            admin, tx, NewDocument("project/NRS", "Guard rails", content="Seen today."), now=now
        )
        seen = RecordPatch(name="Guard rails, seen")
        renamed = crud.update_record(admin, tx, note.handle, seen, None, now, origin="day-3")
        assert crud.has_change_of_origin(tx, renamed.id, "day-3")
        assert (
            authored_documents.update_record_and_document(
                admin, tx, note.handle, RecordPatch(project=None), None, now
            ).project
            is None
        )
    delete_projects(conversation)
    backfill_changed_type(conversation)


def delete_projects(conversation: ConversationHarness) -> None:
    """It goes with what it was for, and another one takes its name."""
    admin, now = conversation.admin, conversation.clock()
    facts: JsonObject = {"client": "Port", "contractor": "Dam", "status": "tender"}
    with conversation.database.transaction(admin) as tx:
        uploads.start_upload(admin, tx, FakeBucket(), NewFile("map.md", 100, "project/NRS"), now, uuid7(now))
        for _ in range(2):
            shed = RecordInput("project", "Shed", "SHED", facts)
            begun = create_project(admin, tx, shed, "A shed.", now)
            authored_documents.create_document(admin, tx, NewDocument(begun.project.id, "Notes", key="shed"), now=now)
            crud.delete_record(admin, tx, "document/shed", None, now)
            plan = NewFile("plan.md", 100, begun.project.handle)
            uploads.start_upload(admin, tx, FakeBucket(), plan, now, uuid7(now))
            crud.delete_record(admin, tx, begun.project.id, None, now)


def backfill_changed_type(conversation: ConversationHarness) -> None:
    """The kind is called otherwise, then not searched at all; its records follow."""
    now = conversation.clock()
    for setting in ("display_name = 'Note'", """rag = rag || '{"context": "off"}'"""):
        ((type_id,),) = conversation.query(_TOLD_ANEW.format(setting))
        with conversation.database.transaction(conversation.tenant_id) as tx:
            backfill.schedule_backfill(tx, type_id, now)  # type: ignore[arg-type]
        assert backfill.run_backfill(conversation.database, conversation.tenant_id, type_id, now, lambda: 60.0)  # type: ignore[arg-type]


def leave_backfill_due(conversation: ConversationHarness) -> None:
    """The day ends before its records are told anew once more."""
    conversation.query(_TOLD_ANEW.format("display_name = 'Finding'"))
