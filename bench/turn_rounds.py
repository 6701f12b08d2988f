"""One turn up to its first call to a model, on the real database, and taken back: what benchmarks measure of turns, and
look into their prompts by."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from uuid import UUID

from parlour.conversations import store
from parlour.conversations.event_feed import EventFeed
from parlour.conversations.loaded_turn import LoadedTurn, load_turn
from parlour.conversations.stage_timer import StageTimer
from parlour.conversations.turn_context import TurnContext, TurnDependencies
from parlour.conversations.turn_recall import add_recalled_items
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Query
from parlour.models.model import content_blocks
from parlour.principal import system_principal
from parlour.prompts.assembly.assembler import AssembledPrompt
from parlour.prompts.ledger import store as prompts
from parlour.prompts.ledger.store import StepRequest
from parlour.records.linked_records import LinkedRecordsCache
from tests.conversation_harness import ConversationHarness

_MODEL = "anthropic/claude-sonnet-5-5"
_LEASE_SECONDS = 60.0


@dataclass
class Ran:
    """What a round took, without what it waited for its embedder, and the prompt that it came to."""

    seconds: float
    statements: int
    assembled: AssembledPrompt

    @property
    def text(self) -> str:
        """All words of the prompt."""
        prompt = self.assembled.prompt
        blocks = [*prompt.system, *(block for message in prompt.messages for block in content_blocks(message))]
        return "\n".join(str(block.get("text", block.get("content", ""))) for block in blocks)


@dataclass
class Round:
    """One turn, from its material to its record.

    write    puts the user's words into the session, at the desk's time.
    recalls  whether older messages and episodes are looked for.
    waited   seconds that the embedder has been waited for so far.
    """

    desk: ConversationHarness
    session_id: UUID
    write: Callable[[], object]
    recalls: bool = True
    links: LinkedRecordsCache = field(default_factory=LinkedRecordsCache)
    waited: Callable[[], float] = lambda: 0.0

    def __post_init__(self) -> None:
        self.write()
        self._standing = self._rows_of("SELECT cache_state, briefing FROM session_prompts")
        self.running = self._begun(replace(self.desk.make_dependencies(), linked_records_cache=self.links))
        ((self._blobs,),) = self.desk.query("SELECT COALESCE(sum(pg_column_size(b.*)), 0) FROM ledger_texts b")

    def run(self) -> Ran:
        """The turn, and what it took."""
        running, services = self.running, self.running.dependencies
        waited, counted = self.waited(), self.desk.database.statements.count
        begun = time.perf_counter()
        transact, now = partial(services.database.run, running.feed.principal), services.clock()

        def read(tx: Transaction) -> LoadedTurn:
            return load_turn(tx, running, now, read_in_own_transaction=transact)

        loaded: LoadedTurn = transact(read)
        if self.recalls:
            add_recalled_items(running, loaded)
        assembled = loaded.prompt_builder.next_prompt(1, (), _MODEL)
        provider, model = _MODEL.split("/")
        asking = StepRequest(running.lease.id, running.turn.id, provider, model, services.clock())
        prompt = loaded.prompt_builder.plan_prompt_writes(asking, 1, assembled)

        def commit(tx: Transaction) -> None:
            prompts.insert_prompt_record(tx, prompt)
            if prompt.refused is not None:
                prompts.mark_omitted_attachments(tx, running.turn.id, prompt.refused)

        transact(commit)
        seconds = time.perf_counter() - begun - (self.waited() - waited)
        return Ran(seconds, self.desk.database.statements.count - counted, assembled)

    def kept(self) -> int:
        """Bytes of the record."""
        ((row, blobs),) = self.desk.query(
            "SELECT (SELECT sum(pg_column_size(l.*)) FROM ledgers l"
            f" WHERE turn_id = '{self.running.turn.id}'), sum(pg_column_size(b.*)) FROM ledger_texts b"
        )
        return int(str(row)) + int(str(blobs)) - int(str(self._blobs))

    def take_back(self) -> None:
        """The conversation as it was before."""
        turn = self.running.turn.id
        self.desk.query(f"DELETE FROM messages WHERE turn_id = '{turn}' RETURNING id")
        self.desk.query(f"DELETE FROM turns WHERE id = '{turn}' RETURNING id")
        self.desk.query(f"DELETE FROM citation_numbers WHERE session_id = '{self.session_id}' RETURNING row_id")
        self.desk.query(f"UPDATE sessions SET lease_until = NULL WHERE id = '{self.session_id}' RETURNING id")
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            for standing, briefing in self._standing:
                tx.run(_RESTORE, session_id=self.session_id, standing=standing, briefing=briefing)

    def _begun(self, services: TurnDependencies) -> TurnContext:
        now = services.clock()
        holder, turn_id = uuid7(now), uuid7(now)
        with services.database.transaction(self.desk.tenant_id) as tx:
            lease = store.acquire_lease(tx, self.session_id, holder, now, now + timedelta(seconds=_LEASE_SECONDS))
            assert lease is not None
            turn = store.open_or_resume_turn(tx, lease, turn_id, now)
            assert turn is not None
            inputs = tuple(store.list_input_messages(tx, turn.id))
        feed = EventFeed(
            system_principal(self.desk.tenant_id), services.database, lease, turn.id, services.clock, is_followed=True
        )
        return TurnContext(services, lease, turn, inputs, feed, StageTimer(services.clock), lambda: _LEASE_SECONDS)

    def _rows_of(self, statement: str) -> list[tuple[object, ...]]:
        return self.desk.query(f"{statement} WHERE session_id = '{self.session_id}'")


_RESTORE = Query(
    "bench.restore",
    "What a conversation's next prompt stands on, as it was.",
    "UPDATE session_prompts SET cache_state = %(standing)s, briefing = %(briefing)s WHERE session_id = %(session_id)s",
)
