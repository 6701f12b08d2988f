"""A project and its context document: what it is for, in the words of whoever asked for it and no others."""

from dataclasses import dataclass
from datetime import datetime

from parlour.documents import authored_documents
from parlour.documents.authored_documents import NewDocument
from parlour.documents.store import Document
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import crud
from parlour.records.record import Record, RecordInput

CONTEXT_TITLE = "Project context"
_DESCRIPTION = "What the project is for, in the words of whoever asked for it."


@dataclass(frozen=True, slots=True)
class CreatedProject:
    """A new project, and the document that says what it is for."""

    project: Record
    context_document: Document


def create_project(
    principal: Principal,
    tx: Transaction,
    new: RecordInput,
    context_text: str,
    now: datetime,
    origin: str | None = None,
) -> CreatedProject:
    """Make a project, and with it its context document, which says `words` and nothing else ("": what the project's
    own description says). The same `origin` again gives what was made the first time.

    Errors as for a record and for a document.
    """
    project = crud.create_record(principal, tx, new, now, origin)
    said = context_text.strip() or str(project.properties.get("description") or "")
    context = authored_documents.create_document(
        principal,
        tx,
        NewDocument(
            project=project.id,
            title=f"{CONTEXT_TITLE}: {project.name}"[:300],
            description=_DESCRIPTION,
            content=said,
            position=0,
            state="published",
            is_context=True,
            classification=project.classification,
            is_unverified=new.is_unverified,
        ),
        origin=f"{origin}:context" if origin else None,
        now=now,
    )
    return CreatedProject(crud.get_record(principal, tx, project.id), context)
