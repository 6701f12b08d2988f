"""The part of the working day in which people write documents into a project's tree."""

from parlour.documents import authored_documents, catalogue
from parlour.documents.authored_documents import DocumentPatch, NewDocument
from parlour.documents.pages import cut_page
from parlour.documents.projects import create_project
from parlour.records.record import RecordInput
from tests.conversation_harness import ConversationHarness


def write_documents(conversation: ConversationHarness) -> None:
    """A project begins with its context; a document is put in, moved, revised, and taken out again."""
    admin, now = conversation.admin, conversation.clock()
    with conversation.database.transaction(admin) as tx:
        new = RecordInput("project", "Quay", "QUAY", {"client": "Port", "contractor": "Dam", "status": "tender"})
        begun = create_project(admin, tx, new, "A quay by May.", now)
        for title in ("Method", "Curing", "Curing"):
            authored_documents.create_document(
                admin,
                tx,
                NewDocument(
                    project=begun.project.handle,
                    title=title,
                    content="Seven days under wet hessian.",
                    key=title,
                    position=0,
                ),
                origin=f"day-{title}",
                now=now,
            )
        authored_documents.move_document(admin, tx, "document/Curing", "document/Method", None)
        authored_documents.revise_document(
            admin, tx, "document/Curing", DocumentPatch("Curing time", content="Ten days.", version=1), now
        )
        assert catalogue.read_project_tree(admin, tx, begun.project.id).outline_lines()
        assert catalogue.list_newest_documents(admin, tx).documents
        curing = catalogue.get_document(admin, tx, "document/Curing")
        content = catalogue.read_text(tx, curing)
        assert catalogue.find_rows_on_page(admin, tx, curing, content, cut_page(content, 0, 100))
        authored_documents.delete_document(admin, tx, "document/Method", 1, now)
