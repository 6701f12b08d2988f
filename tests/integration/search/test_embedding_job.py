"""Rows get their vectors seconds after they were written: in batches, once, by one worker, and nothing is forgotten."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Barrier, Thread
from uuid import UUID

import pytest

from parlour.infra.errors import MalformedPayload, ProviderRejected, ProviderUnavailable, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, SecondsLeft
from parlour.jobs import work_due
from parlour.search.index import embedding_job, scheduling
from parlour.search.index.context_rows import RowDraft
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from parlour.search.index.store import RowOwner, add_rows
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue, WordEmbedder, text_answer


@dataclass
class Model:
    """An embedder that counts, fails as it is told, and does something while it is asked."""

    model: str = "words"
    dimensions: int = 64
    asked: list[list[str]] = field(default_factory=list)
    problem: BaseException | None = None
    refuses: str = ""
    during: Callable[[], None] = lambda: None

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        self.asked.append(list(texts))
        during, self.during = self.during, lambda: None
        during()
        if self.problem:
            raise self.problem
        if self.refuses and any(self.refuses in text for text in texts):
            raise ProviderRejected("too odd a text")
        return [vector[: self.dimensions] for vector in WordEmbedder().embed(texts)]


@dataclass
class Room:
    """The desk's tenant, and the embedder's function around it."""

    desk: ConversationHarness
    model: Model = field(default_factory=Model)
    provider: str = ""
    queue: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    described: list[UUID] = field(default_factory=list)

    def services(self, database: Database | None = None) -> EmbeddingDependencies:
        def backfill(_: Database, tenant_id: UUID, type_id: UUID, now: datetime, left: SecondsLeft) -> bool:
            assert tenant_id == self.desk.tenant_id
            assert left() > 0
            self.described.append(type_id)
            self.desk.query(f"DELETE FROM work_due WHERE kind = 'record_type' AND id = '{type_id}' RETURNING id")
            return True

        spaces = EmbeddingSpaces([PricedEmbedder(self.model, self.provider)])
        return EmbeddingDependencies(
            database or self.desk.database, spaces, self.queue, backfill, Decimal(20), self.desk.clock
        )

    def run(self, seconds: float = 300.0, database: Database | None = None) -> None:
        embedding_job.embed_tenant(self.services(database), self.desk.tenant_id, lambda: seconds)

    def write(self, *texts: str) -> None:
        """Rows whose vectors come later, marked as their writers mark them."""
        now = self.desk.clock()
        drafts = [RowDraft("delta", n, "Delta", text, 0, {"kind": "change"}) for n, text in enumerate(texts)]
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            add_rows(tx, [(uuid7(now), RowOwner(None, None), draft) for draft in drafts], now, is_pending=True)
            scheduling.schedule_embedding(tx, self.desk.tenant_id, now)

    def left(self) -> int:
        ((count,),) = self.desk.query("SELECT count(*) FROM context_rows WHERE pending")
        assert isinstance(count, int)
        return count

    def vectors_of(self, kind: str) -> list[str]:
        return [
            str(text)
            for (text,) in self.desk.query(
                "SELECT r.content FROM context_rows r JOIN embeddings e ON e.row_id = r.id AND e.space = 'words@64'"
                f" WHERE r.kind = '{kind}' AND NOT r.pending ORDER BY r.created_at, r.ordinal, r.id"
            )
        ]

    def marks(self) -> list[tuple[object, ...]]:
        return self.desk.query("SELECT due_at, leased_until FROM work_due WHERE kind = 'embedding'")


@pytest.fixture
def room(conversation: ConversationHarness) -> Room:
    return Room(conversation)


class TestRows:
    def test_get_their_vectors_and_the_mark_goes(self, room: Room) -> None:
        room.write("The crack is wider.", "The crane is late.")
        room.run()
        assert room.vectors_of("delta") == ["The crack is wider.", "The crane is late."]
        assert (room.left(), room.marks(), room.queue.sent) == (0, [], [])

    def test_are_embedded_in_batches_and_a_second_nudge_finds_nothing(self, room: Room) -> None:
        room.write(*(f"Change number {number}." for number in range(150)))
        room.run()
        room.run()
        assert [len(texts) for texts in room.model.asked] == [64, 64, 22]
        assert len(room.vectors_of("delta")) == 150

    def test_written_while_others_are_embedded_come_along(self, room: Room) -> None:
        room.write("First.")
        room.model.during = lambda: room.write("Second.")
        room.run()
        assert room.vectors_of("delta") == ["First.", "Second."]
        assert room.marks() == []

    def test_that_are_deleted_meanwhile_harm_nothing(self, room: Room) -> None:
        room.write("Gone soon.")

        def delete() -> None:
            room.desk.query("DELETE FROM context_rows WHERE pending RETURNING id")

        room.model.during = delete
        room.run()
        assert (room.vectors_of("delta"), room.marks()) == ([], [])

    def test_that_do_not_fit_into_the_time_are_left_to_a_nudge_at_once(self, room: Room) -> None:
        room.write("Later.")
        room.run(seconds=60)
        assert (room.model.asked, room.left()) == ([], 1)
        assert room.queue.sent == [({"tenant_id": str(room.desk.tenant_id)}, 0)]
        ((_, held_until),) = room.marks()
        assert held_until is None

    def test_of_a_type_that_is_described_anew_are_made_first(self, room: Room) -> None:
        type_id = uuid7(room.desk.clock())
        with room.desk.database.transaction(room.desk.tenant_id) as tx:
            work_due.schedule(tx, "record_type", type_id, room.desk.clock())
        room.run()
        assert room.described == [type_id]
        assert room.desk.query("SELECT id FROM work_due WHERE kind NOT IN ('session', 'pulse', 'archive')") == []


class TestWorkers:
    def test_a_tenant_has_one_at_a_time(self, room: Room) -> None:
        room.write("Only once.")
        room.model.during = room.run  # a second nudge while the first is at it
        room.run()
        assert [texts for texts in room.model.asked if texts] == [["Only once."]]

    def test_two_at_the_same_moment_embed_everything_once(
        self, room: Room, open_database: Callable[[], Database]
    ) -> None:
        room.write(*(f"Change number {number}." for number in range(100)))
        barrier = Barrier(2)

        def run(database: Database) -> None:
            barrier.wait()
            room.run(database=database)

        workers = [Thread(target=run, args=(open_database(),)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sum(map(len, room.model.asked)) == 100
        assert (room.left(), room.marks()) == (0, [])

    def test_one_that_died_is_followed_when_its_time_is_over(self, room: Room) -> None:
        room.write("Still here.")
        room.model.problem = KeyboardInterrupt()

        with pytest.raises(KeyboardInterrupt):
            room.run()
        room.model.problem = None
        room.run()
        assert room.left() == 1  # the dead one's time is not over
        room.desk.clock.now += timedelta(seconds=301)
        room.run()
        assert room.vectors_of("delta") == ["Still here."]


class TestModelsThatFail:
    @pytest.mark.parametrize("problem", [ProviderUnavailable("away"), ProviderRejected("wrong key")])
    def test_the_nudge_comes_again_and_nobody_holds_the_tenant(self, room: Room, problem: Exception) -> None:
        room.write("Patience.")
        room.model.problem = problem
        with pytest.raises(type(problem)):
            room.run()
        assert room.left() == 1
        ((due_at, held_until),) = room.marks()
        assert isinstance(due_at, datetime)
        assert (due_at > room.desk.clock(), held_until) == (True, None)
        room.model.problem = None
        room.run()
        assert (room.left(), room.marks()) == (0, [])

    def test_a_text_that_no_model_takes_is_left_to_words_and_keeps_nobody_waiting(self, room: Room) -> None:
        room.write("Fine.", "Something odd.", "Fine too.")
        room.model.refuses = "odd"
        room.run()
        assert room.vectors_of("delta") == ["Fine.", "Fine too."]
        assert (room.left(), room.marks()) == (0, [])


class TestMoney:
    def test_what_vectors_cost_is_set_aside_settled_and_reported(self, room: Room) -> None:
        room.model.model, room.provider = "amazon.titan-embed-text-v2:0", "bedrock"
        room.write("The crack at C4 is 0.6 mm wide.")
        room.run()
        ((purpose, tokens, cost),) = room.desk.query("SELECT purpose, input_tokens, cost_usd FROM llm_calls")
        assert purpose == "embedding"
        assert isinstance(tokens, int)
        assert tokens > 5
        assert cost == (Decimal(tokens) * Decimal("0.02") / 1_000_000).quantize(Decimal("0.00000001"))
        assert room.desk.query("SELECT spent_usd FROM spend_days") == [(cost,)]
        assert room.desk.query("SELECT id FROM spend_reservations") == []

    def test_without_room_under_the_cap_rows_wait_for_later_and_that_is_no_error(self, room: Room) -> None:
        room.model.model, room.provider = "amazon.titan-embed-text-v2:0", "bedrock"
        room.desk.query("UPDATE tenants SET daily_cap_usd = 0 RETURNING slug")
        room.write("Too dear today.")
        room.run()
        ((due_at, held_until),) = room.marks()
        assert isinstance(due_at, datetime)
        assert timedelta(minutes=55) < due_at - room.desk.clock() < timedelta(minutes=65)
        assert (room.left(), held_until, room.model.asked) == (1, None, [])


class TestMessages:
    def say(self, room: Room) -> None:
        room.desk.send_whatsapp("How wide is the crack at C4?")
        room.desk.model.script = [text_answer("It is 0.6 mm wide.")]
        room.desk.run_turn()

    def test_of_a_turn_are_found_again_with_who_said_them_and_when(self, room: Room) -> None:
        self.say(room)
        assert room.desk.embedding.sent == [({"tenant_id": str(room.desk.tenant_id)}, 5.0)]
        room.run()
        said = room.vectors_of("chat_message")
        assert said[0].endswith("] Priya: How wide is the crack at C4?")
        assert said[1].endswith(": It is 0.6 mm wide.")
        date = room.desk.clock.now.date().isoformat()
        assert all(text.startswith(f"[{date}] ") for text in said)

    def test_belong_to_their_conversation_and_are_as_closed_as_it_is(self, room: Room) -> None:
        self.say(room)
        room.desk.query("UPDATE bindings SET clearance = 2 RETURNING id")
        room.run()
        rows = room.desk.query(
            "SELECT r.session_id = m.session_id, r.classification, r.entity_id FROM context_rows r"
            " JOIN messages m ON m.id = r.message_id WHERE r.kind = 'chat_message'"
        )
        assert rows == [(True, 2, None)] * 2

    def test_have_one_row_each_however_often_it_is_looked(self, room: Room) -> None:
        self.say(room)
        room.run()
        room.desk.query("UPDATE messages SET indexed = false RETURNING id")
        room.run()
        assert len(room.vectors_of("chat_message")) == 2
        assert room.desk.query("SELECT id FROM messages WHERE NOT indexed") == []

    def test_that_are_no_speech_have_none(self, room: Room) -> None:
        self.say(room)
        room.desk.query("UPDATE messages SET kind = 'tool_result' WHERE direction = 'inbound' RETURNING id")
        room.run()
        assert [text.rpartition(": ")[2] for text in room.vectors_of("chat_message")] == ["It is 0.6 mm wide."]

    def test_a_turn_ends_even_when_the_nudge_is_lost_and_the_mark_is_there(self, room: Room) -> None:
        room.desk.embedding.error = QueueUnavailable()
        self.say(room)
        assert room.desk.query("SELECT state FROM turns") == [("answered",)]
        assert len(room.marks()) == 1


def test_a_nudge_that_names_no_tenant_is_refused() -> None:
    assert embedding_job.parse_message({"tenant_id": str(UUID(int=7))}) == UUID(int=7)
    for body in ({}, {"tenant_id": "me"}):
        with pytest.raises(MalformedPayload):
            embedding_job.parse_message(body)  # type: ignore[arg-type]
