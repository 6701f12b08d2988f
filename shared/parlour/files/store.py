"""Files in the database."""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from parlour.files.file import File, FileState
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.search.index.context_rows import StoredRow

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class FilePosition:
    """Which files are listed, and behind which one (its time of change and id); None leaves a part open."""

    file_id: UUID | None = None
    entity_id: UUID | None = None
    team_id: UUID | None = None
    text: str | None = None
    after: tuple[datetime, UUID] | None = None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as the worker sees it; `is_orphan`: the record that it is about was deleted. `updated_at`: when this
    version arrived, was read or was refused, or the file was deleted."""

    id: UUID
    entity_id: UUID | None
    team_id: UUID | None
    name: str
    object_key: str
    classification: int
    state: FileState
    attempts: int
    version: int
    updated_at: datetime
    is_orphan: bool

    @property
    def is_deleted(self) -> bool:
        return not self.object_key


@dataclass(frozen=True, slots=True)
class FileTextRow:
    """A file with what was read from it so far."""

    name: str
    media_type: str
    size_bytes: int
    version: int
    classification: int
    state: FileState
    team_id: UUID | None
    content: str | None


def find_file_text(tx: Transaction, file_id: UUID, clearance: int) -> FileTextRow | None:
    return tx.first(SQL["find_file_text"], FileTextRow, id=file_id, clearance=clearance)


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What reading a file gave. chunks: searchable rows; sha256: of its bytes."""

    pages: int
    tokens: int
    chunks: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file's version, and what they are called."""

    name: str
    media_type: str
    object_key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class NewFileRow:
    """A file that is about to be uploaded."""

    id: UUID
    entity_id: UUID | None
    team_id: UUID | None
    classification: int
    content: FileContent
    written_by_others: bool


def add_file(tx: Transaction, file: NewFileRow, created_by: str, now: datetime) -> None:
    tx.run(
        SQL["add_file"],
        id=file.id,
        entity_id=file.entity_id,
        team_id=file.team_id,
        classification=file.classification,
        written_by_others=file.written_by_others,
        **asdict(file.content),
        by=created_by,
        now=now,
    )


def list_files(tx: Transaction, clearance: int, wanted: FilePosition, limit: int = 1) -> list[File]:
    at, after_id = wanted.after or (None, None)
    return tx.all(
        SQL["list_files"],
        File,
        clearance=clearance,
        id=wanted.file_id,
        entity_id=wanted.entity_id,
        team_id=wanted.team_id,
        text=wanted.text,
        after_at=at,
        after_id=after_id,
        most=limit,
    )


def lock_file(tx: Transaction, file_id: UUID) -> StoredFile | None:
    return tx.first(SQL["lock_file"], StoredFile, id=file_id)


def lock_record(tx: Transaction, entity_id: UUID) -> bool:
    """Keep a record from being deleted until the transaction ends; False when it is already."""
    return tx.value(SQL["lock_record"], id=entity_id) is not None


def lock_record_of_file(tx: Transaction, file_id: UUID) -> None:
    """Keep the record that a file is about, if any, as it is until the transaction ends."""
    tx.value(SQL["lock_record_of_file"], id=file_id)


def queue_file(
    tx: Transaction, file_id: UUID, version: int, content: FileContent, now: datetime, written_by_others: bool | None
) -> None:
    """Store that a version arrived. written_by_others: None leaves what the start of the upload said."""
    columns = {**asdict(content), "written_by_others": written_by_others}
    tx.run(SQL["queue_file"], id=file_id, version=version, **columns, now=now)


def mark_parsing(tx: Transaction, file_id: UUID) -> None:
    tx.run(SQL["mark_parsing"], id=file_id)


def requeue_file(tx: Transaction, file_id: UUID, version: int, problem: str) -> None:
    tx.run(SQL["requeue_file"], id=file_id, version=version, problem=problem)


def finish_file(tx: Transaction, file_id: UUID, result: IngestResult, now: datetime) -> None:
    """Store what a file was found to be; its rows are embedded next."""
    tx.run(SQL["finish_file"], id=file_id, state="embedding", problem=None, **asdict(result), now=now)


def fail_file(tx: Transaction, file_id: UUID, problem: str, now: datetime) -> None:
    nothing = {"pages": None, "tokens": None, "chunks": None, "sha256": None}
    tx.run(SQL["finish_file"], id=file_id, state="failed", problem=problem, **nothing, now=now)


def list_file_rows(tx: Transaction, file_id: UUID) -> list[StoredRow]:
    return tx.all(SQL["list_file_rows"], StoredRow, id=file_id)


def delete_file_rows(tx: Transaction, file_id: UUID) -> int:
    return tx.run(SQL["delete_file_rows"], id=file_id)


def delete_file(tx: Transaction, file_id: UUID) -> None:
    tx.run(SQL["delete_file"], id=file_id)


def find_team_id(tx: Transaction, slug: str) -> UUID | None:
    found: UUID | None = tx.value(SQL["find_team_id"], slug=slug)
    return found


def find_model_routing(tx: Transaction, team_id: UUID | None) -> JsonObject | None:
    found: JsonObject | None = tx.value(SQL["find_model_routing"], team_id=team_id)
    return found
