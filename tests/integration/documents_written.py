"""The part of the working day in which people write documents into a project's tree."""

from parlour.infra.ids import uuid7
from parlour.knowledge.documents import catalogue, written
from parlour.knowledge.documents.pages import page
from parlour.knowledge.documents.projects import create_project
from parlour.knowledge.documents.written import Revision
from parlour.knowledge.records.record import NewEntity
from tests.desk import Desk


def documents_written(desk: Desk) -> None:
    """A project begins with its context; a document is put in, moved, revised, and taken out again."""
    admin, now = desk.admin, desk.clock()
    with desk.database.transaction(admin) as tx:
        new = NewEntity("project", "Quay", "QUAY", {"client": "Port", "contractor": "Dam", "status": "tender"})
        begun = create_project(admin, tx, new, "A quay by May.", now, uuid7)
        for title in ("Method", "Curing", "Curing"):
            written.create(
                admin, tx, project=begun.project.handle, title=title, content="Seven days under wet hessian.",
                key=title, position=0, origin=f"day-{title}", now=now, new_id=uuid7,
            )  # fmt: skip
        written.move(admin, tx, "document/Curing", "document/Method", None)
        written.revise(admin, tx, "document/Curing", Revision("Curing time", content="Ten days."), 1, now, uuid7)
        assert catalogue.of_project(admin, tx, begun.project.id).lines()
        assert catalogue.newest(admin, tx).documents
        curing = catalogue.find(admin, tx, "document/Curing")
        assert catalogue.piece_of(admin, tx, curing, page(catalogue.text(tx, curing), 0, 100))
        written.remove(admin, tx, "document/Method", 1, now, uuid7)
