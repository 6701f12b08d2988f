"""A tenant with a site that has jobs, papers and Pulses: the acts of its people, its sweep and its writer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import jsonb
from parlour.models.model import Model
from parlour.principal import Principal
from parlour.pulse.due.sweep import PulseSweepDependencies, PulseSweepResult, sweep_tenant
from parlour.pulse.pulse import PulseJob
from parlour.pulse.reading import refresh_requests
from parlour.pulse.writing import writing_job
from parlour.pulse.writing.level_draft import PulseDependencies
from parlour.records import backfill, crud, record_links, staleness
from parlour.records.crud import Record, RecordInput, RecordPatch
from parlour.search.index import embedding_job
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue, WordEmbedder
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.pulse.scripted_pulse_model import ScriptedPulseModel

SITE: JsonObject = {
    "semantic": "{{name}} stands at {{place}}.",
    "pulse": "auto",
    "children": "auto",
    "status_properties": ["state"],
    "coalesce_seconds": 30,
}
JOB: JsonObject = {"semantic": "{{name}} is {{state}}.", "status_properties": ["state"]}

_PROPERTIES: JsonObject = {"place": {"type": "text"}, "state": {"type": "text"}}

AGE = timedelta(hours=24)


@dataclass
class PulseHarness:
    """One record with Pulses, `site/harbour`, and everything around it."""

    desk: ConversationHarness
    model: ScriptedPulseModel = field(default_factory=ScriptedPulseModel)
    pulse_queue: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    default_pulse_cap: Decimal = Decimal(5)
    models: Mapping[str, Model] | None = None
    written_tenants: list[UUID] = field(default_factory=list)

    @property
    def admin(self) -> Principal:
        return self.desk.admin

    @property
    def id(self) -> UUID:
        ((found,),) = self.desk.query("SELECT id FROM entities WHERE key = 'harbour'")
        assert isinstance(found, UUID)
        return found

    @property
    def file_harness(self) -> UploadHarness:
        return UploadHarness(self.desk.database, self.admin, self.desk.clock)

    def define(self, key: str, rag: JsonObject) -> None:
        """A kind of the tenant's own."""
        with self.desk.database.transaction(self.admin) as tx:
            tx._connection.execute(
                "INSERT INTO entity_types (tenant_id, id, key, display_name, properties, rag, created_at, updated_at)"
                " VALUES (current_tenant(), %s, %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (tenant_id, key) DO UPDATE SET rag = EXCLUDED.rag",
                (uuid7(self.now), key, key.capitalize(), jsonb(_PROPERTIES), jsonb(rag), self.now, self.now),
            )

    @property
    def now(self) -> datetime:
        return self.desk.clock()

    def create(self, handle: str, name: str, level: int = 0, project: str | None = None, **properties: Json) -> Record:
        kind, key = handle.split("/")
        with self.desk.database.transaction(self.admin) as tx:
            new = RecordInput(kind, name, key, properties, level, project)
            return crud.create_record(self.admin, tx, new, self.now)

    def change(self, handle: str, level: int | None = None, **properties: Json) -> Record:
        with self.desk.database.transaction(self.admin) as tx:
            patch = RecordPatch(properties=properties, classification=level)
            return crud.update_record(self.admin, tx, handle, patch, None, self.now)

    def link(self, source: str, target: str, relation: str) -> None:
        with self.desk.database.transaction(self.admin) as tx:
            record_links.link(self.admin, tx, source, target, relation, self.now)

    def upload(self, name: str, data: bytes, about: str = "site/harbour", level: int = 0) -> None:
        """A file, read and embedded."""
        papers = self.file_harness
        papers.upload(name, data, about, classification=level)
        papers.run_ingestion()
        self.embed()

    def embed(self) -> None:
        """Every row gets its vector."""
        services = embedding_job.EmbeddingDependencies(
            self.desk.database,
            EmbeddingSpaces([PricedEmbedder(WordEmbedder())]),
            FakeDelayedQueue(),
            backfill.run_backfill,
            Decimal(20),
            self.desk.clock,
        )
        embedding_job.embed_tenant(services, self.desk.tenant_id, lambda: 300.0)

    def make_dependencies(self) -> PulseDependencies:
        return PulseDependencies(
            self.desk.database,
            lambda: {"anthropic": self.model} if self.models is None else self.models,
            Decimal(20),
            self.default_pulse_cap,
            AGE,
            self.written_tenants.append,
            self.desk.clock,
            lambda _: None,
            lambda low, _: low,
        )

    def sweep(self, after: float = 31.0) -> PulseSweepResult:
        """Some seconds later the sweep looks."""
        self.desk.clock.now += timedelta(seconds=after)
        sweeper = PulseSweepDependencies(
            self.desk.database, self.pulse_queue, Decimal(20), self.default_pulse_cap, self.desk.clock
        )
        return sweep_tenant(sweeper, self.desk.tenant_id)

    def run_writers(self) -> int:
        """The writer does what it was sent for this site; how many orders that were. Others are thrown away."""
        sent, mine = [PulseJob.from_json(body) for body, _ in self.pulse_queue.sent], self.id
        self.pulse_queue.sent.clear()
        for order in (one for one in sent if one.entity_id == mine):
            writing_job.run_pulse_job(self.make_dependencies(), order, lambda: 300.0)
        return sum(one.entity_id == mine for one in sent)

    def refresh(self) -> None:
        """Somebody has the Pulses written now."""
        with self.desk.database.transaction(self.admin) as tx:
            asked = refresh_requests.request_refresh(self.admin, tx, "site/harbour", "", uuid7(self.now), self.now)
        writing_job.run_pulse_job(self.make_dependencies(), asked.job, lambda: 300.0)

    def ask(self, question: str, principal: Principal | None = None) -> UUID:
        """Somebody asks about the site, and is answered."""
        who, question_id = principal or self.admin, uuid7(self.now)
        with self.desk.database.transaction(who) as tx:
            asked = refresh_requests.request_refresh(who, tx, "site/harbour", question, question_id, self.now)
        writing_job.run_pulse_job(self.make_dependencies(), asked.job, lambda: 300.0)
        return question_id

    def pulse_column(self, column: str = "markdown", level: int = 0) -> Any:
        """A column of the site's Pulse of a level; None when there is none."""
        found = self.desk.query(f"SELECT {column} FROM pulses WHERE entity_id = '{self.id}' AND level = {level}")
        return found[0][0] if found else None

    def state_column(self, column: str) -> Any:
        found = self.desk.query(f"SELECT {column} FROM pulse_states WHERE entity_id = '{self.id}'")
        return found[0][0] if found else None

    def day_total(self, column: str) -> Any:
        ((found,),) = self.desk.query(f"SELECT sum({column}) FROM pulse_days WHERE entity_id = '{self.id}'")
        return found

    def due_at(self) -> Any:
        found = self.desk.query(
            f"SELECT due_at FROM work_due WHERE kind = 'pulse' AND id = '{self.id}' AND tenant_id = current_tenant()"
        )
        return found[0][0] if found else None

    def pending_changes(self) -> staleness.PendingChanges:
        mine = self.id
        with self.desk.database.transaction(self.admin) as tx:
            found = staleness.read_pending_changes(tx, mine)
        assert found is not None
        return found


@pytest.fixture
def pulse_harness(conversation: ConversationHarness) -> PulseHarness:
    """The site with two jobs, embedded, and not yet told of."""
    made = PulseHarness(conversation)
    made.define("site", SITE)
    made.define("job", JOB)
    made.create("site/harbour", "Harbour Office", place="the north quay", state="open")
    made.create("job/crane", "Crane hire", state="open")
    made.create("job/slab", "Ground slab", state="open")
    for job in ("job/crane", "job/slab"):
        made.link(job, "site/harbour", "part_of")
    made.embed()
    return made
