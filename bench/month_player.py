"""Plays a script of `bench.month_script` through the product: turns with what they write down, and the work of memory
when it is due, on the script's own clock. A person's phone and their web sessions are one user, as once they are
linked."""

import heapq
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from uuid import UUID

from bench.month_script import Kept, Month, Session, Turn, plain
from bench.turn_rounds import Round
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import consolidation_job, extraction_job
from parlour.memory.memory_job import MemoryJob
from parlour.memory.summaries import summary_job
from parlour.models.model import Model, ModelRequest, content_blocks
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.records import backfill
from parlour.search.index import embedding_job as indexing
from parlour.search.index.embedders import Embedder
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from parlour.tenancy import bindings, roles, users
from tests.conversation_harness import ConversationHarness, TickingClock, text_answer, tool_call

_BINDING, _TOOL = "site-desk", "look_up"
_PLENTY = Decimal(1_000_000)
_NOTHING_MORE = "Thank you."
_AFTERWARDS = timedelta(days=2)
"""What is silent for a day is consolidated."""

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of memory. served: when the turns began whose prompts it stood in."""

    id: UUID
    who: str
    key: str
    value: str
    origin: str
    valid_from: datetime
    valid_until: datetime | None = None
    ended: str = ""
    served: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Survival:
    """Whether a later prompt has what must survive, as it is or once a question names its subject. compactions: of its
    conversation, since it was said."""

    kept: Kept
    compactions: int
    in_prompt: bool
    recalled: bool


@dataclass(frozen=True, slots=True)
class Played:
    """What is there of a month that was played.

    decisions                      how often each was made of a proposed fact.
    prompts                        the texts of each turn's last prompt, by person and time of the turn.
    tokens_read, tokens_written    by the work of facts, and what it cost.
    """

    facts: list[Fact]
    decisions: dict[str, int]
    survived: list[Survival]
    episodes: int
    summaries: int
    prompts: dict[tuple[str, datetime], str] = field(default_factory=dict)
    tokens_read: int = 0
    tokens_written: int = 0
    cost_usd: Decimal = Decimal()


@dataclass
class Player:
    """A tenant, its people, and the queue of the work of memory.

    models    who is asked for that work, by provider; none where no model is there at all.
    threads   what each person says on their phone; opened: the conversation of each session, by its place.
    """

    desk: ConversationHarness
    month: Month
    models: Mapping[str, Model]
    users: dict[str, UUID] = field(default_factory=dict)
    threads: dict[str, UUID] = field(default_factory=dict)
    opened: dict[int, UUID] = field(default_factory=dict)
    due: list[tuple[datetime, int, JsonObject]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    prompts: dict[tuple[str, datetime], str] = field(default_factory=dict)

    def play(self) -> Played:
        """The whole month, and what there is in the end. Its numbers are free for the next tenant then."""
        said = [(turn, place) for place, session in enumerate(self.month.sessions) for turn in session.turns]
        for turn, place in sorted(said, key=lambda one: one[0].at):
            self._work_until(turn.at)
            session = self.month.sessions[place]
            if place not in self.opened:
                self.opened[place] = self._open(session)
            self._turn(session, self.opened[place], turn)
        self._work_until(self.month.turns[-1].at + _AFTERWARDS)
        found = self._found()
        self.desk.query(f"DELETE FROM routing_keys WHERE tenant_id = '{self.desk.tenant_id}' RETURNING key")
        return found

    def _turn(self, session: Session, session_id: UUID, turn: Turn) -> None:
        desk = self.desk
        desk.clock.now = max(desk.clock.now, turn.at)
        self._write(session, session_id, turn.user)
        desk.model.script = [*([tool_call(_TOOL)] if turn.tool else []), text_answer(turn.agent)]
        desk.builtins[_TOOL] = lambda _context, _arguments: {"ok": True, "text": turn.tool}
        desk.run_turn()
        self.prompts[turn.who, turn.at] = " ".join(_texts(desk.model.requests[-1]).split())
        self._collect()
        self._embed()

    def _open(self, session: Session) -> UUID:
        if session.channel == "whatsapp":
            return self.threads[session.who]
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            binding = bindings.find_binding_by_slug(tx, _BINDING)
            assert binding is not None
            principal = users.load_user_principal(tx, self.users[session.who], binding.id)
            opened = users.open_session(
                principal,
                tx,
                binding_id=binding.id,
                visibility="shared" if session.shared else "private",
                now=self.desk.clock(),
            )
        return opened.id

    def _write(self, session: Session, session_id: UUID, text: str) -> None:
        if session.channel == "whatsapp":
            sender = _phone(self.month, session.who)
            self.desk.send_whatsapp(text, f"m{next(self.numbers)}", sender=sender, metadata={})
            return
        user = Principal(self.desk.tenant_id, "user", self.users[session.who])
        self.desk.send_web(user, session_id, text)

    def _collect(self) -> None:
        """What was sent to the memory queue comes when its time has come."""
        for body, seconds in self.desk.memory.sent:
            at = self.desk.clock.now + timedelta(seconds=seconds)
            heapq.heappush(self.due, (at, next(self.numbers), body))
        self.desk.memory.sent.clear()

    def _work_until(self, until: datetime) -> None:
        """All the work of memory whose message comes by then, and once an hour what a sweep finds."""
        while True:
            swept = self.desk.clock.now + _HOUR
            come = self.due[0][0] if self.due else until
            if min(come, swept) >= until:
                self.desk.clock.now = max(self.desk.clock.now, until)
                break
            self.desk.clock.now = max(self.desk.clock.now, min(come, swept))
            if come <= swept:
                self._do(MemoryJob.from_json(heapq.heappop(self.due)[2]))
            else:
                self._sweep()

    def _sweep(self) -> None:
        rows = self.desk.query(
            "SELECT kind, id FROM work_due WHERE kind IN ('extraction', 'summary', 'consolidation')"
            f" AND tenant_id = '{self.desk.tenant_id}' AND due_at <= '{self.desk.clock.now.isoformat()}'"
        )
        for kind, one in rows:
            self._do(
                MemoryJob.from_json({"tenant_id": str(self.desk.tenant_id), "kind": str(kind), "target_id": str(one)})
            )

    def _do(self, order: MemoryJob) -> None:
        services = self._services()
        if order.kind == "summary":
            summary_job.run_summary(services, order, _in_time)
        elif order.kind == "consolidation":
            consolidation_job.run_consolidation(services, order, _in_time)
        else:
            extraction_job.run_extraction(services, order, _in_time)
        self._collect()
        self._embed()

    def _services(self) -> MemoryDependencies:
        return MemoryDependencies(
            self.desk.database,
            lambda: self.models,
            _PLENTY,
            self.desk.memory,
            self.desk.embedding,
            self.desk.clock,
            lambda _: None,
            lambda low, _: low,
        )

    def _embed(self) -> None:
        """Rows and messages have their vectors before anything else happens."""
        spaces = EmbeddingSpaces([PricedEmbedder(self.desk.embedder)])
        services = indexing.EmbeddingDependencies(
            self.desk.database, spaces, self.desk.embedding, backfill.run_backfill, _PLENTY, self.desk.clock
        )
        indexing.embed_tenant(services, self.desk.tenant_id, _in_time)

    def _found(self) -> Played:
        names = {user: who for who, user in self.users.items()}
        ((episodes, summaries),) = self.desk.query(
            "SELECT (SELECT count(*) FROM episodes), (SELECT count(*) FROM summaries)"
        )
        facts = [
            Fact(key, names[user], name, value, origin, since, until, ended or "", tuple(served or ()))  # type: ignore[arg-type,index]
            for key, user, name, value, origin, since, until, ended, served in self.desk.query(_FACTS)
        ]
        decisions = self.desk.query("SELECT decision, count(*) FROM fact_decisions GROUP BY decision ORDER BY decision")
        survived = [
            self._survival(session, self.opened[place], turn, kept)
            for place, session in enumerate(self.month.sessions)
            for turn in session.turns
            for kept in turn.keeps
        ]
        counts = {str(decision): int(str(count)) for decision, count in decisions}
        ((tokens_read, tokens_written, cost),) = self.desk.query(
            "SELECT COALESCE(sum(input_tokens), 0), COALESCE(sum(output_tokens), 0), COALESCE(sum(cost_usd), 0)"
            f" FROM llm_calls WHERE purpose = 'memory' AND tenant_id = '{self.desk.tenant_id}'"
        )
        return Played(
            facts,
            counts,
            survived,
            int(str(episodes)),
            int(str(summaries)),
            self.prompts,
            int(str(tokens_read)),
            int(str(tokens_written)),
            Decimal(str(cost)),
        )

    def _survival(self, session: Session, session_id: UUID, turn: Turn, kept: Kept) -> Survival:
        """Look into the next prompt of the conversation, with nothing asked and with a question for it."""
        text = turn.user.replace("'", "''")
        ((compactions,),) = self.desk.query(
            f"SELECT count(*) FROM summaries s WHERE s.session_id = '{session_id}' AND s.until_turn >= ("
            f"SELECT min(t.number) FROM messages m JOIN turns t ON t.id = m.turn_id"
            f" WHERE m.session_id = '{session_id}' AND m.body = '{text}')"
        )
        is_there = [
            _squashed(kept.value) in _squashed(self._prompt(session, session_id, asked))
            for asked in (_NOTHING_MORE, kept.ask)
        ]
        return Survival(kept, int(str(compactions)), *is_there)

    def _prompt(self, session: Session, session_id: UUID, text: str) -> str:
        """The words of the prompt that this message would make; the conversation is as before."""
        self.desk.clock.now += timedelta(minutes=1)
        looked_at = Round(self.desk, session_id, lambda: self._write(session, session_id, text))
        words = looked_at.run().text
        looked_at.take_back()
        return words


def opened(database: Database, month: Month, embedder: Embedder, models: Mapping[str, Model]) -> Player:
    """A new tenant with the example pack and the people of the month, a day before it begins."""
    begins = month.begins.astimezone(UTC) - timedelta(days=1)
    tenant_id = uuid7(begins)
    pack = validate(folder.read_folder(Path("packs/construction")))
    apply(roles.operator_principal(tenant_id), database, embedder, pack, begins)
    desk = ConversationHarness(tenant_id, database, TickingClock(begins), embedder=embedder)
    desk.add_tool(_TOOL, lambda _context, _arguments: {"ok": True}, writes=False, idempotent=True)
    player = Player(desk, month, models)
    with database.transaction(tenant_id) as tx:
        binding = bindings.find_binding_by_slug(tx, _BINDING)
        assert binding is not None
        for who in month.people:
            contact = users.find_or_create_contact(
                tx,
                channel="whatsapp",
                address=_phone(month, who),
                display_name=None,
                binding_id=binding.id,
                now=begins,
            )
            player.users[who], player.threads[who] = contact.user_id, contact.session_id
    return player


def _texts(request: ModelRequest) -> str:
    """Return all texts of a prompt's messages."""
    blocks = [block for message in request.messages for block in content_blocks(message)]
    return "\n".join(str(block.get("text", block.get("content", ""))) for block in blocks)


def _in_time() -> float:
    return 600.0


def _phone(month: Month, who: str) -> str:
    return f"+9198000{month.people.index(who):05d}"


def _squashed(text: str) -> str:
    """Spaces and group marks aside."""
    return re.sub(r"[\s,]", "", plain(text))


_FACTS = """
SELECT f.id, f.user_id, f.key, f.value, f.origin, f.valid_from, f.valid_until, f.end_reason,
       (SELECT array_agg(t.frozen_at ORDER BY t.frozen_at) FROM recalls r JOIN turns t ON t.id = r.turn_id
         WHERE r.fact_id = f.id)
  FROM facts f WHERE f.user_id IS NOT NULL ORDER BY f.created_at, f.id
"""
