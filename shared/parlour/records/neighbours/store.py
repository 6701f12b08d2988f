"""What stands around records, in the database."""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.records.write_counts import PACK_ORIGIN

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A row or record around a record.

    category    file_summary, file_text, project_delta, nearest, delta or project; `visible` and `hidden` only list,
                as owners, what exists and what this reader may not see any more.
    id          of the context row; of the file or the record for `file_text` and `project`.
    score       the order inside a category.
    created_at  when it was written; None for a file.
    owners      the row owners of a context row, as table/id; it is deleted and replaced with them.
    """

    category: str
    id: UUID
    title: str
    content: str
    classification: int
    score: float
    created_at: datetime | None
    owners: list[str]


@dataclass(frozen=True, slots=True)
class NeighbourLimits:
    """How many rows of each category there are at most.

    file_tokens    up to which a file is there whole.
    exact_vectors  of a tenant up to which all are compared; above, the index is read.
    """

    nearest: int
    recent: int
    file_summaries: int
    file_tokens: int
    exact_vectors: int


def find_neighbours(
    tx: Transaction,
    entity_id: UUID,
    limits: NeighbourLimits,
    *,
    clearance: int,
    team_id: UUID,
    is_project: bool,
) -> list[Neighbour]:
    """Return everything around the record, in no order."""
    return tx.all(
        SQL["find_neighbours"],
        Neighbour,
        entity_id=entity_id,
        clearance=clearance,
        team_id=team_id,
        is_project=is_project,
        nearest=limits.nearest,
        recent=limits.recent,
        distilled=limits.file_summaries,
        file_tokens=limits.file_tokens,
        few=limits.exact_vectors,
        pack=PACK_ORIGIN,
    )


@dataclass(frozen=True, slots=True)
class KnownSources:
    """Ids of what a prompt was told, by table; handles are of records."""

    entities: list[str]
    handles: list[str]
    rows: list[str]
    files: list[str]
    documents: list[str]


def find_changes_since(
    tx: Transaction,
    since: datetime,
    sources: KnownSources,
    *,
    clearance: int,
    limit: int,
    includes_changes: bool,
) -> list[Neighbour]:
    """Return the changes of the sources' records, newest first, and as `visible` and `hidden` which sources remain.

    Without `includes_changes` only the latter.
    """
    return tx.all(
        SQL["find_changes_since"],
        Neighbour,
        clearance=clearance,
        since=since,
        most=limit,
        follows=includes_changes,
        **asdict(sources),
    )


def list_newest_projects(tx: Transaction, *, clearance: int, limit: int) -> list[Neighbour]:
    """Return the tenant's projects, the ones changed last first."""
    return tx.all(SQL["list_newest_projects"], Neighbour, clearance=clearance, most=limit)
