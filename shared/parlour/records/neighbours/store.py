"""What stands around records, in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.records.write_counts import PACK_ORIGIN

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Something that stands around a record.

    part        file_summary, file_text, project_delta, nearest, delta, project; visible and hidden: nothing but what is
                there, and what is not for its reader any more, as owners.
    id          of the context row; of the file or the record for `file_text` and `project`.
    score       what orders those of one part.
    created_at  when it was written, None for a file.
    owners      what a context row belongs to, as table/id: it goes with them, and is written anew with them.
    """

    category: str
    id: UUID
    title: str
    content: str
    classification: int
    score: float
    created_at: datetime | None
    owners: list[str]


def find_neighbours(
    tx: Transaction,
    entity_id: UUID,
    *,
    clearance: int,
    team_id: UUID,
    is_project: bool,
    nearest: int,
    recent: int,
    file_summaries: int,
    file_tokens: int,
    max_exact_vectors: int,
) -> list[Neighbour]:
    """Everything around the record, in no order."""
    return tx.all(
        SQL["find_neighbours"],
        Neighbour,
        entity_id=entity_id,
        clearance=clearance,
        team_id=team_id,
        is_project=is_project,
        nearest=nearest,
        recent=recent,
        distilled=file_summaries,
        file_tokens=file_tokens,
        few=max_exact_vectors,
        pack=PACK_ORIGIN,
    )


def find_changes_since(
    tx: Transaction,
    since: datetime,
    *,
    clearance: int,
    limit: int,
    includes_changes: bool,
    entities: Sequence[str],
    handles: Sequence[str],
    rows: Sequence[str],
    files: Sequence[str],
    documents: Sequence[str],
) -> list[Neighbour]:
    """What changed on these records if it `follows` them, newest first; in `visible` those of all these that are there,
    in `hidden` those of the rows that the reader may not see."""
    return tx.all(
        SQL["find_changes_since"],
        Neighbour,
        clearance=clearance,
        since=since,
        most=limit,
        follows=includes_changes,
        entities=list(entities),
        handles=list(handles),
        rows=list(rows),
        files=list(files),
        documents=list(documents),
    )


def list_newest_projects(tx: Transaction, *, clearance: int, limit: int) -> list[Neighbour]:
    """The tenant's projects, the ones changed last first."""
    return tx.all(SQL["list_newest_projects"], Neighbour, clearance=clearance, most=limit)
