"""What stands around records, in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.records.changes import PACK

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Near:
    """Something that stands around a record.

    part        distillation, file, recent, nearest, change, project; seen and hidden: nothing but what is there, and
                what is not for its reader any more, as owners.
    id          of the context row; of the file or the record for `file` and `project`.
    score       what orders those of one part.
    created_at  when it was written, None for a file.
    owners      what a context row belongs to, as table/id: it goes with them, and is written anew with them.
    """

    part: str
    id: UUID
    title: str
    content: str
    classification: int
    score: float
    created_at: datetime | None
    owners: list[str]


def around(
    tx: Transaction, entity_id: UUID, *, clearance: int, team_id: UUID, is_project: bool, nearest: int, recent: int,
    distilled: int, file_tokens: int, few: int,
) -> list[Near]:  # fmt: skip
    """Everything around the record, in no order."""
    return tx.all(
        SQL["around"], Near, entity_id=entity_id, clearance=clearance, team_id=team_id, is_project=is_project,
        nearest=nearest, recent=recent, distilled=distilled,
        file_tokens=file_tokens, few=few, pack=PACK,
    )  # fmt: skip


def since(
    tx: Transaction, since: datetime, *, clearance: int, most: int, follows: bool, entities: Sequence[str],
    handles: Sequence[str], rows: Sequence[str], files: Sequence[str], documents: Sequence[str],
) -> list[Near]:  # fmt: skip
    """What changed on these records if it `follows` them, newest first; in `seen` those of all these that are there, in
    `hidden` those of the rows that the reader may not see."""
    return tx.all(
        SQL["since"], Near, clearance=clearance, since=since, most=most, follows=follows, entities=list(entities),
        handles=list(handles), rows=list(rows), files=list(files), documents=list(documents),
    )  # fmt: skip


def projects(tx: Transaction, *, clearance: int, most: int) -> list[Near]:
    """The tenant's projects, the ones changed last first."""
    return tx.all(SQL["projects"], Near, clearance=clearance, most=most)
