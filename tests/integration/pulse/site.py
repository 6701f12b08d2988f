"""A tenant with a site that has jobs, papers and Pulses: the acts of its people, its sweep and its writer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import jsonb
from parlour.knowledge.index import embedder
from parlour.knowledge.index.spaces import Offer, Spaces
from parlour.knowledge.records import backfill, edges, entities, stale
from parlour.knowledge.records.entities import Entity, NewEntity, Patch
from parlour.models.request import Model
from parlour.principal import Principal
from parlour.pulse.due.sweep import Sweeper, Swept, sweep_tenant
from parlour.pulse.pulse import Order
from parlour.pulse.reading import asking
from parlour.pulse.writing import writer
from parlour.pulse.writing.draft import Services
from tests.desk import Delayed, Desk, WordEmbedder
from tests.integration.knowledge.file_desk import FileDesk
from tests.integration.pulse.author import Author

SITE: JsonObject = {
    "semantic": "{{name}} stands at {{place}}.", "pulse": "auto", "children": "auto", "status_properties": ["state"],
    "coalesce_seconds": 30,
}  # fmt: skip
JOB: JsonObject = {"semantic": "{{name}} is {{state}}.", "status_properties": ["state"]}

_PROPERTIES: JsonObject = {"place": {"type": "text"}, "state": {"type": "text"}}

AGE = timedelta(hours=24)


@dataclass
class Site:
    """One record with Pulses, `site/harbour`, and everything around it."""

    desk: Desk
    author: Author = field(default_factory=Author)
    orders: Delayed = field(default_factory=Delayed)
    pulse_cap: Decimal = Decimal(5)
    models: Mapping[str, Model] | None = None
    ended: list[UUID] = field(default_factory=list)

    @property
    def admin(self) -> Principal:
        return self.desk.admin

    @property
    def id(self) -> UUID:
        ((found,),) = self.desk.rows("SELECT id FROM entities WHERE key = 'harbour'")
        assert isinstance(found, UUID)
        return found

    @property
    def papers(self) -> FileDesk:
        return FileDesk(self.desk.database, self.admin, self.desk.clock)

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

    def create(self, handle: str, name: str, level: int = 0, project: str | None = None, **properties: Json) -> Entity:
        kind, key = handle.split("/")
        with self.desk.database.transaction(self.admin) as tx:
            new = NewEntity(kind, name, key, properties, level, project)
            return entities.create(self.admin, tx, new, self.now, uuid7)

    def change(self, handle: str, level: int | None = None, **properties: Json) -> Entity:
        with self.desk.database.transaction(self.admin) as tx:
            patch = Patch(properties=properties, classification=level)
            return entities.change(self.admin, tx, handle, patch, None, self.now, uuid7)

    def link(self, source: str, target: str, relation: str) -> None:
        with self.desk.database.transaction(self.admin) as tx:
            edges.link(self.admin, tx, source, target, relation, self.now, uuid7)

    def upload(self, name: str, data: bytes, about: str = "site/harbour", level: int = 0) -> None:
        """A file, read and embedded."""
        papers = self.papers
        papers.upload(name, data, about, classification=level)
        papers.work()
        self.embed()

    def embed(self) -> None:
        """Every row gets its vector."""
        services = embedder.Services(
            self.desk.database, Spaces([Offer(WordEmbedder())]), Delayed(), backfill.backfill, Decimal(20),
            self.desk.clock, uuid7,
        )  # fmt: skip
        embedder.run(services, self.desk.tenant_id, lambda: 300.0)

    def services(self) -> Services:
        return Services(
            self.desk.database,
            lambda: {"anthropic": self.author} if self.models is None else self.models,
            Decimal(20), self.pulse_cap, AGE, self.ended.append, self.desk.clock, uuid7, lambda _: None,
            lambda low, _: low,
        )  # fmt: skip

    def sweep(self, after: float = 31.0) -> Swept:
        """Some seconds later the sweep looks."""
        self.desk.clock.now += timedelta(seconds=after)
        sweeper = Sweeper(self.desk.database, self.orders, Decimal(20), self.pulse_cap, self.desk.clock)
        return sweep_tenant(sweeper, self.desk.tenant_id)

    def write(self) -> int:
        """The writer does what it was sent for this site; how many orders that were. Others are thrown away."""
        sent, mine = [Order.from_json(body) for body, _ in self.orders.sent], self.id
        self.orders.sent.clear()
        for order in (one for one in sent if one.entity_id == mine):
            writer.run(self.services(), order, lambda: 300.0)
        return sum(one.entity_id == mine for one in sent)

    def refresh(self) -> None:
        """Somebody has the Pulses written now."""
        with self.desk.database.transaction(self.admin) as tx:
            asked = asking.refresh(self.admin, tx, "site/harbour", "", uuid7(self.now), self.now)
        writer.run(self.services(), asked.order, lambda: 300.0)

    def ask(self, question: str, principal: Principal | None = None) -> UUID:
        """Somebody asks about the site, and is answered."""
        who, question_id = principal or self.admin, uuid7(self.now)
        with self.desk.database.transaction(who) as tx:
            asked = asking.refresh(who, tx, "site/harbour", question, question_id, self.now)
        writer.run(self.services(), asked.order, lambda: 300.0)
        return question_id

    def pulse(self, column: str = "markdown", level: int = 0) -> Any:
        """A column of the site's Pulse of a level; None when there is none."""
        found = self.desk.rows(f"SELECT {column} FROM pulses WHERE entity_id = '{self.id}' AND level = {level}")
        return found[0][0] if found else None

    def state(self, column: str) -> Any:
        found = self.desk.rows(f"SELECT {column} FROM pulse_states WHERE entity_id = '{self.id}'")
        return found[0][0] if found else None

    def day(self, column: str) -> Any:
        ((found,),) = self.desk.rows(f"SELECT sum({column}) FROM pulse_days WHERE entity_id = '{self.id}'")
        return found

    def due_at(self) -> Any:
        found = self.desk.rows(
            f"SELECT due_at FROM work_due WHERE kind = 'pulse' AND id = '{self.id}' AND tenant_id = current_tenant()"
        )
        return found[0][0] if found else None

    def unreflected(self) -> stale.Unreflected:
        mine = self.id
        with self.desk.database.transaction(self.admin) as tx:
            found = stale.unreflected(tx, mine)
        assert found is not None
        return found


@pytest.fixture
def site(desk: Desk) -> Site:
    """The site with two jobs, embedded, and not yet told of."""
    made = Site(desk)
    made.define("site", SITE)
    made.define("job", JOB)
    made.create("site/harbour", "Harbour Office", place="the north quay", state="open")
    made.create("job/crane", "Crane hire", state="open")
    made.create("job/slab", "Ground slab", state="open")
    for job in ("job/crane", "job/slab"):
        made.link(job, "site/harbour", "part_of")
    made.embed()
    return made
