"""A tenant that uploads files, and the worker that reads them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from parlour.files import uploads
from parlour.files.extract.parts import ExtractedFile
from parlour.files.extract.sandbox import ProcessLimits, extract_in_sandbox
from parlour.files.file import File, FileQuery, NewFile
from parlour.files.file_summary import FileSummariser
from parlour.files.file_types import FileType
from parlour.files.ingestion import FileVersion, IngestDependencies, ingest, parse_message
from parlour.files.problems import unreadable_file
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.jobs import work_due
from parlour.models.model import Model
from parlour.models.offline import OfflineModel
from parlour.principal import Principal
from parlour.search.hybrid_search import Question, search
from parlour.search.results import SearchResult
from tests.conversation_harness import FakeQueue, TickingClock
from tests.fake_bucket import FakeBucket


class FakeDelayedQueue:
    """A queue of messages that come later."""

    def __init__(self) -> None:
        self.sent: list[JsonObject] = []

    def send(self, body: JsonObject, seconds: float, /) -> None:
        assert seconds >= 0
        self.sent.append(body)


@dataclass
class UploadHarness:
    """Uploads as people make them, and reading as the worker does it."""

    database: Database
    principal: Principal
    clock: TickingClock
    bucket: FakeBucket = field(default_factory=FakeBucket)
    queue: FakeQueue = field(default_factory=FakeQueue)
    embedding: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    models: Mapping[str, Model] = field(default_factory=lambda: {"offline": OfflineModel()})
    extract: Callable[[bytes, FileType, ProcessLimits], ExtractedFile] = extract_in_sandbox
    slept: list[float] = field(default_factory=list)

    def start(self, new: NewFile, principal: Principal | None = None) -> uploads.StartedUpload:
        who, file_id, now = principal or self.principal, uuid7(self.clock()), self.clock()
        with self.database.transaction(who) as tx:
            return uploads.start_upload(who, tx, self.bucket, new, now, file_id)

    def complete(self, file_id: UUID, version: int = 1) -> File:
        return uploads.complete_upload(
            self.principal,
            self.database,
            self.bucket,
            self.queue,
            uploads.UploadedVersion(file_id, version),
            self.clock(),
        )

    def upload(self, name: str, data: bytes, about: str | None = None, **more: str | int) -> File:
        """Start, send, complete."""
        started = self.start(NewFile(name, max(len(data), 1), about, **more))  # type: ignore[arg-type]
        self.bucket.post(started.form, data)
        return self.complete(started.file.id)

    def upload_new_version(self, file: File, data: bytes) -> File:
        with self.database.transaction(self.principal) as tx:
            started = uploads.start_new_version(self.principal, tx, self.bucket, file.id, "", len(data))
        self.bucket.post(started.form, data)
        return self.complete(file.id, started.version)

    def run_ingestion(self, seconds: float = 300.0) -> None:
        """Read what waits on the queue, each message once; one that cannot be done stays, and so do those behind it."""
        for key, message in list(self.queue.sent.items()):
            ingest(self.services(), parse_message(message.body), lambda: seconds)
            del self.queue.sent[key]

    def run_sweep(self, file_id: UUID, seconds: float = 300.0) -> None:
        """What the sweep has the worker do when a file is due; nothing when none is."""
        with self.database.transaction(self.principal) as tx:
            due = work_due.find(tx, "file", file_id)
            held = uploads.find_unfinished_file(tx, file_id)
        if due and due.due_at <= self.clock():
            asked = FileVersion(self.principal.tenant_id, file_id, held.version if held else 1)
            ingest(self.services(), asked, lambda: seconds)

    def services(self) -> IngestDependencies:
        distiller = FileSummariser(
            self.database, lambda: self.models, Decimal(20), self.clock, lambda _: None, lambda low, _: low
        )
        return IngestDependencies(
            self.database, self.bucket, self._read_file, distiller, self.embedding, self.clock, self.slept.append
        )

    def _read_file(self, object_key: str, kind: FileType, seconds: int) -> ExtractedFile:
        """Read in a process of this machine, not in a function."""
        if object_key not in self.bucket.objects:
            raise unreadable_file("gone")
        return self.extract(self.bucket.objects[object_key], kind, ProcessLimits(seconds=seconds))

    def read(self, file: File, principal: Principal | None = None) -> File:
        who = principal or self.principal
        with self.database.transaction(who) as tx:
            return uploads.get_file(who, tx, file.id)

    def browse(self, principal: Principal | None = None, **where: str) -> list[File]:
        who = principal or self.principal
        with self.database.transaction(who) as tx:
            return list(uploads.list_files(who, tx, FileQuery(**where)).rows)

    def delete(self, file: File) -> None:
        uploads.delete_file(self.principal, self.database, self.bucket, file.id, self.clock())

    def content(self, file: File, principal: Principal | None = None) -> uploads.Download:
        return uploads.get_download(principal or self.principal, self.database, self.bucket, file.id, self.clock())

    def search(self, query: str, principal: Principal | None = None) -> Sequence[SearchResult]:
        who = principal or self.principal
        with self.database.transaction(who) as tx:
            return search(who, tx, Question(text=query, vector=None))

    def mark_all_embedded(self) -> None:
        """Everything has its vector."""
        self.run(lambda connection: connection.execute("UPDATE context_rows SET pending = false"))

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """What the tenant's tables hold."""
        found: list[tuple[object, ...]] = self.run(lambda connection: connection.execute(statement).fetchall())
        return found

    def run(self, act: Callable[..., Any]) -> Any:
        with self.database.transaction(self.principal) as tx:
            return act(tx._connection)
