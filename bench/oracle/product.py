"""The product as the recorded conversations use it: with `ports`, the only module here that imports `parlour`."""

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import httpx2

import parlour
from bench.oracle.fakes import (
    Answer,
    Bucket,
    Clock,
    CountedRandomness,
    DelayedMessages,
    Fifo,
    Office,
    Safe,
    ScriptedModel,
    WordEmbedder,
)
from local import temporary_database
from local.database import APP_ROLE, Cluster
from local.example_tenant import PACK_FOLDER
from local.temporary_database import APP_PASSWORD
from parlour.channels.envelope import Envelope, Media
from parlour.channels.media import MediaFetcher
from parlour.conversations import (
    approval_requests,
    attachment_uploads,
    failed_turns,
    inbound_messages,
    tool_result_messages,
    turn_views,
)
from parlour.conversations.linking.code_request import PhoneClaim, request_code
from parlour.conversations.linking.user_merge import merge_user
from parlour.conversations.rows import NewUpload
from parlour.conversations.sessions import session_update
from parlour.conversations.turn_context import TurnDependencies as TurnServices
from parlour.conversations.turn_runner import run_session
from parlour.documents import authored_documents
from parlour.documents.authored_documents import DocumentPatch, NewDocument
from parlour.erasure import execution
from parlour.erasure.report import ErasureTarget
from parlour.files import ingestion, uploads
from parlour.files.extract.sandbox import extract_in_sandbox
from parlour.files.file import NewFile
from parlour.files.file_summary import FileSummariser
from parlour.infra import ids, log
from parlour.infra.errors import NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction, connector
from parlour.infra.queries import Query
from parlour.memory.archive import archive_job
from parlour.memory.dependencies import MemoryDependencies as MemoryServices
from parlour.memory.extraction import consolidation_job, extraction_job
from parlour.memory.facts import shared_facts
from parlour.memory.inspection import fact_edit
from parlour.memory.inspection import user_memory as known
from parlour.memory.memory_job import MemoryJob
from parlour.memory.summaries import summary_job as summaries
from parlour.models.images import ImageResolver
from parlour.models.model import ModelRequest, content_blocks
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.prompts.assembly.briefing_cache import REFRESH_CAUSES
from parlour.prompts.assembly.cache_hits import CACHE_MISS_CAUSES
from parlour.prompts.assembly.ledger_entries import OMISSION_REASONS
from parlour.prompts.assembly.segment import Layer, SourceKind
from parlour.prompts.ledger.explanation import explain_turn
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.pulse.reading import refresh_requests
from parlour.pulse.writing import writing_job as pulses
from parlour.pulse.writing.level_draft import PulseDependencies as PulseServices
from parlour.records import backfill, crud, record_links
from parlour.records.record import RecordInput, RecordPatch
from parlour.search.index import embedding_job as embedding
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from parlour.tenancy import bindings, roles, users
from parlour.tools import calls
from parlour.tools.builtin import builtin_tools
from parlour.tools.dispatch import DispatchDependencies as DispatchServices
from parlour.tools.dispatch import dispatch_call
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.rows import EndedCall

STARTS = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
"""Monday morning, the day on which the example pack plays."""

LAYERS = [layer.name.lower() for layer in Layer]

KNOWN: Mapping[str, Sequence[str]] = {
    "layers": LAYERS,
    "kinds of sources": [str(lot) for lot in SourceKind],
    "reasons": list(OMISSION_REASONS),
    "causes": list(REFRESH_CAUSES),
    "cache misses": list(CACHE_MISS_CAUSES),
}
"""The names of which coverage tells how often each occurs, and which never."""

_TENANT = UUID("01960000-0000-7000-8000-c0dec0dec0de")
_TEMPLATE = "oracle_template"
_SECRET, _CODE = "s" * 48, "123456"
_PLENTY = Decimal(1_000_000)
_TURN_SECONDS, _JOB_SECONDS = 60.0, 600.0
_TRIES = 4
"""How often a message of a turn's queue is delivered at most; the third attempt fails the turn."""

_AS_RECORDED = Query(
    "oracle.as_recorded",
    "-",
    """UPDATE bindings SET writes = '{"anonymous": "all", "verified": "all"}', inbox = '{}', notifications = '{}'""",
)
_SET_CLEARANCE = Query(
    "oracle.set_clearance",
    "Give a user a clearance of their own; no part of the product does.",
    "UPDATE users SET clearance = %(clearance)s WHERE id = %(user_id)s",
)


@dataclass(frozen=True, slots=True)
class Step:
    """One prompt of a turn as the ledger has it.

    blocks      the layer of each content block, by number, in the order of their bytes.
    text        the canonical JSON that was recorded, made again from the ledger.
    is_rebuilt  that JSON has the hash of what was sent.
    candidates  (kind, reason or "in", was shortened) of each source.
    """

    number: int
    blocks: Sequence[int]
    tokens: int
    text: str
    is_rebuilt: bool
    causes: Sequence[str]
    miss: str
    candidates: Sequence[tuple[str, str, bool]]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn that is over, with its prompts."""

    session: UUID
    number: int
    state: str
    problem: str
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who writes: their user, and the session in which they do."""

    principal: Principal
    session: UUID
    binding: UUID

    @property
    def user(self) -> UUID:
        """Their id."""
        assert self.principal.id is not None
        return self.principal.id


def code_version() -> str:
    """The commit of the checkout whose `parlour` is imported; "" outside of one."""
    where = Path(parlour.__file__).parent
    found = subprocess.run(
        ["git", "-C", str(where), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL whose plans and row order do not hang on what else the machine does."""
    parent = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with temporary_database.temporary_cluster(parent) as running:
        yield running


def prepare(running: Cluster, overlay: Mapping[str, str]) -> None:
    """Make the database that every conversation begins with: the example pack with these files, and its vectors."""
    with running.connect_as_superuser() as superuser:
        for setting in ("fsync = off", "autovacuum = off", "jit = off", "max_parallel_workers_per_gather = 0"):
            superuser.execute(f"ALTER SYSTEM SET {setting}".encode())
        superuser.execute("SELECT pg_reload_conf()")
    running.create(_TEMPLATE)
    running.migrate(_TEMPLATE, STARTS - timedelta(days=1), APP_PASSWORD)
    with _counted_ids(), closing(World(_opened(running, _TEMPLATE), STARTS - timedelta(hours=1))) as world:
        world.apply(overlay)
        world.embed()


@contextmanager
def world(running: Cluster, name: str) -> Iterator["World"]:
    """A copy of the prepared database, and everything that runs on it; taken away at the end."""
    running.create(name, _TEMPLATE)
    try:
        with _counted_ids(), _without_questions(), closing(World(_opened(running, name), STARTS)) as made:
            yield made
    finally:
        running.drop(name)


def _counted_ids() -> AbstractContextManager[object]:
    """Make new ids the same in every run: rows of equal rank are ordered by them."""
    return patch.object(ids, "urandom", CountedRandomness())


def _without_questions() -> AbstractContextManager[object]:
    """Have no call ask a person first: the conversations are about prompts, and were recorded before calls asked."""
    return patch.object(approval_requests, "must_ask", lambda *_: False)


def _opened(running: Cluster, name: str) -> Database:
    return Database(connector(running.connection_parameters(name, APP_ROLE, APP_PASSWORD)))


@dataclass
class World:
    """One tenant with the example pack, its queues, and the functions that work on them.

    answer_turn, answer_job  what models say to turns, and to the kind of job that is asked with a prompt.
    job                      the kind of job that is at work.
    """

    database: Database
    starts: datetime
    answer_turn: Callable[[], Answer] = lambda: ()
    answer_job: Callable[[str, str], str] = lambda _kind, _asked: ""
    job: str = ""
    office: Office = field(default_factory=Office)
    media: Bucket = field(default_factory=Bucket)
    files: Bucket = field(default_factory=Bucket)
    arriving: bytes = b""

    def __post_init__(self) -> None:
        self.clock = Clock(self.starts)
        self.turns, self.outbox, self.tools, self.uploaded = Fifo(), Fifo(), Fifo(), Fifo()
        self.embedding, self.memory = DelayedMessages(self.clock), DelayedMessages(self.clock)
        self.wakeups = DelayedMessages(self.clock)  # no worker dies here, so nobody looks at them
        self.wakeups = DelayedMessages(self.clock)
        self.admin = roles.operator_principal(_TENANT)
        self.model = ScriptedModel(lambda _: self.answer_turn())
        self.background = ScriptedModel(lambda request: _text(self.answer_job(self.job, _words(request))))
        self.embedder = WordEmbedder()
        self._seen: set[UUID] = set()
        self._services = self._turn_services()

    def close(self) -> None:
        """Let the database go."""
        self.database.close()

    # What people and administrators do

    def apply(self, overlay: Mapping[str, str]) -> None:
        """Put the example pack in force with these files added or replaced."""
        pack = validate({**folder.read_folder(PACK_FOLDER), **overlay})
        apply(self.admin, self.database, self.embedder, pack, self.clock())
        # The recordings were made before there were rights to write, and people who answer: every user could change
        # every record, and after a failure the agent went on.
        with self.database.transaction(self.admin) as tx:
            tx.run(_AS_RECORDED)

    def write(self, phone: str, text: str, message: str, app: str, file: tuple[str, str, bytes] | None = None) -> None:
        """A WhatsApp message comes in, perhaps with a file: (the provider's word for its kind, name, bytes)."""
        media = Media(file[0], "https://filemanager.gupshup.io/1", name=file[1]) if file else None
        self.arriving = file[2] if file else b""
        envelope = Envelope(
            channel="whatsapp",
            provider="gupshup",
            to=f"gupshup:{app}",
            sender=phone,
            provider_message_id=message,
            kind="media" if media else "text",
            text=text,
            media=media,
            status="",
            sent_at=self.clock(),
            metadata={},
        )
        outcome = inbound_messages.receive_envelope(
            self.database,
            {"whatsapp": self.turns, "web": self.turns},
            self.wakeups,
            envelope,
            self.clock(),
            store_media=self._keep_file,
        )
        assert outcome == "stored", outcome

    def write_web(
        self, person: Person, text: str, attachments: Sequence[attachment_uploads.AttachmentReference] = ()
    ) -> None:
        """A message on the web, perhaps with what was uploaded for it."""
        name = inbound_messages.web_message_id(person.session, "")
        gathered = attachment_uploads.resolve_attachments(
            person.principal, self.database, self.media, person.session, attachments, name, self.clock()
        )
        inbound_messages.receive_web_message(
            person.principal,
            self.database,
            self.turns,
            self.wakeups,
            inbound_messages.WebMessage(person.session, text, None, gathered),
            self.clock(),
        )

    def contact(self, phone: str, binding: str, name: str | None = None) -> Person:
        """Whoever has this number, made when it is new."""
        with self.database.transaction(_TENANT) as tx:
            found = _binding(tx, binding)
            contact = users.find_or_create_contact(
                tx,
                channel="whatsapp",
                address=phone,
                display_name=name,
                binding_id=found,
                now=self.clock(),
            )
            return Person(users.load_user_principal(tx, contact.user_id, found), contact.session_id, found)

    def visitor(self, binding: str, about: str = "") -> Person:
        """A new visitor on the web, who talks about a record if one is named."""
        with self.database.transaction(_TENANT) as tx:
            found = _binding(tx, binding)
            entity = crud.get_record(self.admin, tx, about).id if about else None
            opened = users.create_visitor(tx, binding_id=found, entity_id=entity, now=self.clock())
            return Person(users.load_user_principal(tx, opened.user_id, found), opened.session_id, found)

    def further_session(self, person: Person, about: str = "", *, shared: bool = False) -> Person:
        """Another conversation of the same user with the same agent."""
        with self.database.transaction(_TENANT) as tx:
            entity = crud.get_record(self.admin, tx, about).id if about else None
            principal = users.load_user_principal(tx, person.user, person.binding)
            opened = users.open_session(
                principal,
                tx,
                binding_id=person.binding,
                entity_id=entity,
                visibility="shared" if shared else "private",
                now=self.clock(),
            )
        return Person(principal, opened.id, person.binding)

    def upload(self, person: Person, name: str, data: bytes) -> attachment_uploads.AttachmentReference:
        """What a visitor uploads for their next message."""
        now = self.clock()
        with self.database.transaction(person.principal) as tx:
            started = attachment_uploads.start_upload(
                person.principal, tx, self.media, person.session, NewUpload(uuid7(now), name, len(data)), now
            )
        self.media.objects[started.upload_form.fields["key"]] = data
        return attachment_uploads.AttachmentReference(upload_id=started.id)

    def file(self, name: str, data: bytes, about: str = "", level: int | None = None) -> UUID:
        """A file of the tenant's, uploaded and read."""
        now = self.clock()
        with self.database.transaction(self.admin) as tx:
            new = NewFile(name, len(data), about or None, classification=level, written_by_others=False)
            started = uploads.start_upload(self.admin, tx, self.files, new, now, uuid7(now))
        self.files.objects[started.form.fields["key"]] = data
        uploads.complete_upload(
            self.admin, self.database, self.files, self.uploaded, uploads.UploadedVersion(started.file.id), self.clock()
        )
        self.job = "file_summary"
        for body in _taken(self.uploaded):
            ingestion.ingest(self._ingest_services(), ingestion.parse_message(body), lambda: _JOB_SECONDS)
        self.embed()
        return started.file.id

    def send_file(self, file: UUID) -> attachment_uploads.AttachmentReference:
        """A file of the tenant's as what a message comes with."""
        return attachment_uploads.AttachmentReference(file_id=file)

    def delete_file(self, file: UUID) -> None:
        """Take a file away."""
        uploads.delete_file(self.admin, self.database, self.files, file, self.clock())

    def create(self, kind: str, key: str, name: str, level: int | None = None, **properties: Any) -> None:
        """Make a record of the example's project."""
        new = RecordInput(kind, name, key, properties, level, "project/NRS")
        self._as_admin(lambda tx: crud.create_record(self.admin, tx, new, self.clock()))

    def change(self, handle: str, name: str | None = None, level: int | None = None, **properties: Any) -> None:
        """Change a record's name, classification or properties."""
        patch = RecordPatch(name, properties, level)
        self._as_admin(lambda tx: crud.update_record(self.admin, tx, handle, patch, None, self.clock()))

    def delete(self, handle: str) -> None:
        """Take a record away."""
        self._as_admin(lambda tx: crud.delete_record(self.admin, tx, handle, None, self.clock()))

    def link(self, source: str, relation: str, target: str) -> None:
        """Link two records."""
        self._as_admin(lambda tx: record_links.link(self.admin, tx, source, target, relation, self.clock()))

    def document(self, key: str, title: str, content: str, parent: str = "", level: int | None = None) -> None:
        """Write a document into the example's project."""
        self._as_admin(
            lambda tx: authored_documents.create_document(
                self.admin,
                tx,
                NewDocument(
                    "project/NRS", title, content=content, key=key, parent=parent or None, classification=level
                ),
                now=self.clock(),
            )
        )

    def revise(self, handle: str, content: str | None = None, level: int | None = None) -> None:
        """Change a document's text or classification."""
        revision = DocumentPatch(content=content, classification=level)
        self._as_admin(lambda tx: authored_documents.revise_document(self.admin, tx, handle, revision, self.clock()))

    def remove(self, handle: str) -> None:
        """Take a document away."""
        self._as_admin(lambda tx: authored_documents.delete_document(self.admin, tx, handle, None, self.clock()))

    def set_clearance(self, person: Person, clearance: int | None) -> None:
        """What the user may see from now on, whatever their agent shows."""
        self._as_admin(lambda tx: tx.run(_SET_CLEARANCE, user_id=person.user, clearance=clearance))

    def share(self, person: Person, *, shared: bool = True) -> None:
        """Open the conversation to others, or close it."""
        wanted = session_update.SessionUpdate(visibility="shared" if shared else "private")
        with self.database.transaction(person.principal) as tx:
            session_update.update_session(person.principal, tx, person.session, wanted, self.clock())

    def tell_everybody(self, scope: Any, slug: str, key: str, value: str) -> None:
        """Have something known to a whole persona ("human") or "team"."""
        told = shared_facts.NewSharedFact(scope, slug, key, value)
        self._as_admin(lambda tx: shared_facts.set(self.admin, tx, told, self.clock()))

    def facts(self, person: Person) -> list[tuple[str, str, str, UUID]]:
        """What is remembered of the user: key, value, who found it, id."""
        try:
            with self.database.transaction(self.admin) as tx:
                found = known.read_user_memory(self.admin, tx, person.user).facts
        except NotFound:  # they were forgotten
            return []
        return [(fact.key, fact.value, fact.origin, fact.id) for fact in found]

    def edit_fact(self, person: Person, key: str, value: str) -> None:
        """Put a fact right, as its user does."""
        fact = next(fact for fact in self.facts(person) if fact[0] == key)
        with self.database.transaction(person.principal) as tx:
            fact_edit.edit_fact(person.principal, tx, fact[3], value, person.binding, self.clock())

    def messages(self, person: Person) -> list[tuple[UUID, str]]:
        """The conversation's messages, oldest first: id and text."""
        with self.database.transaction(self.admin) as tx:
            return [(row.id, row.text) for row in turn_views.read_transcript(self.admin, tx, person.session, 200)]

    def erase(self, kind: Any, target: UUID) -> None:
        """Have a "message", "fact", "file" or "user" forgotten."""
        services = execution.ErasureDependencies(self.database, self.media, self.files, {}, self.clock)
        execution.erase(
            self.admin, services, execution.ErasureRequest(ErasureTarget(kind, target)), lambda: _JOB_SECONDS
        )

    def join_phone(self, person: Person, phone: str) -> Person:
        """A visitor says that a number is theirs, and gives the code back; who they are from then on, and where both
        channels meet."""
        with self.database.transaction(_TENANT) as tx:
            binding = bindings.find_binding(tx, person.binding)
        assert binding is not None
        sender: Any = {"secret": _SECRET, "now": self.clock()}
        asked = request_code(
            person.principal, self.database, binding, PhoneClaim(person.session, phone, _CODE), **sender
        )
        joined = merge_user(person.principal, self.database, asked.link_id, _CODE, **sender)
        with self.database.transaction(_TENANT) as tx:
            principal = users.load_user_principal(tx, joined.user_id, person.binding)
        return Person(principal, joined.session_id, person.binding)

    # What the functions do

    def run_turns(self) -> list[Turn]:
        """Answer every session that was woken; the turns that this ended, oldest first."""
        sessions: dict[UUID, None] = {}
        for body in _taken(self.turns):
            wake = inbound_messages.SessionWakeup.parse(body)
            sessions[wake.session_id] = None
            self._deliver(wake)
        return [turn for session in sessions for turn in self._new_turns(session)]

    def run_long_calls(self) -> None:
        """Carry out the long calls that wait, so that their conversations are woken."""
        for body in _taken(self.tools):
            tenant, call = calls.parse_dispatch_message(body)
            dispatch_call(self._dispatch_services(), tenant, call, lambda: 900.0)

    def redrive(self) -> None:
        """Have the turn that failed first tried once more."""
        with self.database.transaction(self.admin) as tx:
            (parked, *_) = failed_turns.list_failed_turns(self.admin, tx, 10)
            again = failed_turns.redrive_turn(self.admin, tx, parked.id, self.clock())
        self.turns.send([again.message])

    def embed(self) -> None:
        """Give every row its vector."""
        spaces = EmbeddingSpaces([PricedEmbedder(self.embedder)])
        services = embedding.EmbeddingDependencies(
            self.database, spaces, self.embedding, backfill.run_backfill, _PLENTY, self.clock
        )
        embedding.embed_tenant(services, _TENANT, lambda: _JOB_SECONDS)

    def remember(self, until: datetime, *, without: Sequence[str] = ()) -> None:
        """Do the work of memory whose message comes by then, each at its time; what is `without` stays on the queue."""
        held: list[tuple[datetime, Any]] = []
        while (message := self.memory.take(until)) is not None:
            at, body = message
            if str(body["kind"]) in without:
                held.append(message)
                continue
            self.clock.reach(at)
            self._remember(MemoryJob.from_json(body))
        self.memory.waiting += held
        self.clock.reach(until)

    def consolidate(self, person: Person) -> None:
        """Look once more through a long conversation that fell silent."""
        self._remember(MemoryJob(_TENANT, "consolidation", person.session))

    def archive(self) -> None:
        """Put messages of more than ninety days away."""
        archive_job.run_archive(
            self._memory_services(), self.media, MemoryJob(_TENANT, "archive", _TENANT), lambda: _JOB_SECONDS
        )

    def write_pulse(self, handle: str, question: str = "") -> None:
        """Have a record's Pulses written anew, or a question about it answered."""
        self.job = "pulse question" if question else "pulse"
        now = self.clock()
        with self.database.transaction(self.admin) as tx:
            asked = refresh_requests.request_refresh(self.admin, tx, handle, question, uuid7(now), now)
        pulses.run_pulse_job(self._pulse_services(), asked.job, lambda: _JOB_SECONDS)

    # How it is wired

    def _deliver(self, wake: inbound_messages.SessionWakeup) -> None:
        for _ in range(_TRIES):
            try:
                run_session(self._services, wake, lambda: _TURN_SECONDS)
            except Exception as problem:  # noqa: BLE001 - the queue delivers it again, whatever broke the attempt
                log.warning("delivered_again", problem=type(problem).__name__)
            else:
                return

    def _new_turns(self, session: UUID) -> list[Turn]:
        with self.database.transaction(self.admin) as tx:
            rows = turn_views.list_turns(self.admin, tx, 10, session).rows[::-1]
            fresh = [row for row in rows if row.finished_at and row.id not in self._seen]
            self._seen.update(row.id for row in fresh)
            return [Turn(session, row.number, row.state, row.problem or "", self._steps(tx, row.id)) for row in fresh]

    def _steps(self, tx: Transaction, turn: UUID) -> list[Step]:
        try:
            explained: Any = explain_turn(self.admin, tx, turn)
        except NotFound:  # no model was asked in it
            return []
        return [self._step(tx, turn, step) for step in explained["steps"]]

    def _step(self, tx: Transaction, turn: UUID, step: Any) -> Step:
        again: Any = rebuild_turn_prompt(self.admin, tx, turn, step["step"])
        numbers = {layer["layer"]: layer["number"] for layer in step["layers"]}
        blocks = [numbers[segment["layer"]] for segment in step["segments"] for _ in segment["blocks"]]
        candidates = [(one["kind"], one["reason"] or "in", one["is_shortened"]) for one in step["candidates"]]
        return Step(
            step["step"],
            blocks,
            step["tokens"],
            again["text"] or "",
            again["is_identical"],
            step["refresh_causes"],
            step["cache_miss"]["cause"] if step["cache_miss"] else "",
            candidates,
        )

    def _as_admin(self, work: Callable[[Transaction], object]) -> None:
        self.database.run(self.admin, work)

    def _remember(self, order: MemoryJob) -> None:
        self.job = order.kind
        services = self._memory_services()
        if order.kind == "summary":
            summaries.run_summary(services, order, lambda: _JOB_SECONDS)
        elif order.kind == "consolidation":
            consolidation_job.run_consolidation(services, order, lambda: _JOB_SECONDS)
        else:
            extraction_job.run_extraction(services, order, lambda: _JOB_SECONDS)

    def _keep_file(self, principal: Principal, message: UUID) -> bool:
        stream = httpx2.ByteStream(self.arriving)
        client = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, stream=stream)))
        keeper = MediaFetcher(client, self.media, Safe(), "https://graph.facebook.com")
        return keeper.fetch_and_store(principal, self.database, message, lambda: _TURN_SECONDS, self.clock())

    def _turn_services(self) -> TurnServices:
        own = builtin_tools.builtin_handlers(lambda _database, _tenant: self.embedder, self.embedding)
        return TurnServices(
            database=self.database,
            models={"anthropic": self.model},
            endpoints={"python": PythonEndpoint(own, builtin_tools.BUILTIN_LOOKUPS), "https": self.office},
            outbox_queue=self.outbox,
            tool_queue=self.tools,
            embedding_queue=self.embedding,
            memory_queue=self.memory,
            wakeup_queue=self.wakeups,
            max_tenant_turns=20,
            embedder_of=lambda _database, _tenant: self.embedder,
            default_cap_usd=_PLENTY,
            clock=self.clock,
            sleep=lambda _: None,
            jitter=lambda low, _: low,
            images=ImageResolver(lambda: self.media),
        )

    def _memory_services(self) -> MemoryServices:
        return MemoryServices(
            self.database,
            lambda: {"anthropic": self.background},
            _PLENTY,
            self.memory,
            self.embedding,
            self.clock,
            lambda _: None,
            lambda low, _: low,
        )

    def _pulse_services(self) -> PulseServices:
        return PulseServices(
            self.database,
            lambda: {"anthropic": self.background},
            _PLENTY,
            _PLENTY,
            timedelta(hours=24),
            lambda _: None,
            self.clock,
            lambda _: None,
            lambda low, _: low,
        )

    def _ingest_services(self) -> ingestion.IngestDependencies:
        distiller = FileSummariser(
            self.database,
            lambda: {"anthropic": self.background},
            _PLENTY,
            self.clock,
            lambda _: None,
            lambda low, _: low,
        )
        return ingestion.IngestDependencies(
            self.database,
            self.files,
            lambda key, kind, _seconds: extract_in_sandbox(self.files.objects[key], kind),
            distiller,
            self.embedding,
            self.clock,
            lambda _: None,
        )

    def _dispatch_services(self) -> DispatchServices[tool_result_messages.PendingWakeup]:
        def resumed(
            tx: Transaction, tenant: UUID, ended: EndedCall, now: datetime
        ) -> tool_result_messages.PendingWakeup | None:
            return tool_result_messages.store_tool_result(tx, tenant, ended, now)

        return DispatchServices(
            database=self.database,
            open_database=lambda: self.database,
            endpoints={"https": self.office},
            resume=resumed,
            wake=lambda told: self.turns.send([told.message]),
            wakeups=self.wakeups,
            principal_for=lambda tx, call: users.load_access(tx, call.user_id, call.binding_id).principal_for(
                call.name
            ),
            callback_url=lambda _callback, _until, _now: "",
            clock=self.clock,
        )


def _binding(tx: Transaction, slug: str) -> UUID:
    found = bindings.find_binding_by_slug(tx, slug)
    assert found is not None, slug
    return found.id


def _taken(queue: Fifo) -> Iterator[Any]:
    while queue.waiting:
        yield queue.waiting.pop(0)


def _text(said: str) -> Answer:
    return [{"type": "text", "text": said}]


def _words(request: ModelRequest) -> str:
    """What a job tells a model and asks it first: the rest is what it was answered and asked again."""
    blocks = [*request.system, *content_blocks(request.messages[0])]
    return "\n".join(str(block.get("text", "")) for block in blocks)
