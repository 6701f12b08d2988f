"""A tenant moves to another model while everybody goes on searching."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.infra.errors import Conflict, Forbidden, Misconfigured, NotFound, ProviderUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.search.hybrid_search import Question, search
from parlour.search.index import embedding_job, reembedding
from parlour.search.index.embedders import embed_query, space_name
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from parlour.search.index.store import Reembedding
from parlour.tenancy import roles
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue, text_answer
from tests.integration.search.test_embedding_job import Model

OLD, NEW = "words@64", "other@32"
QUESTION = "retention percentage of the contract"


@dataclass
class Movers:
    """The desk's tenant, and a deployment with two models."""

    desk: ConversationHarness
    old: Model = field(default_factory=Model)
    new: Model = field(default_factory=lambda: Model("other", 32))
    queue: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)

    @property
    def spaces(self) -> EmbeddingSpaces:
        return EmbeddingSpaces([PricedEmbedder(self.old), PricedEmbedder(self.new)])

    def start(self, model: str = "other", principal: Principal | None = None) -> Reembedding:
        who = principal or self.desk.admin
        with self.desk.database.transaction(who) as tx:
            return reembedding.start_reembedding(who, tx, self.spaces, model, self.desk.clock())

    def run(self, spaces: EmbeddingSpaces | None = None, seconds: Callable[[], float] = lambda: 300.0) -> None:
        services = EmbeddingDependencies(
            self.desk.database, spaces or self.spaces, self.queue, lambda *_: True, Decimal(20), self.desk.clock
        )
        embedding_job.embed_tenant(services, self.desk.tenant_id, seconds)

    def progress(self) -> Reembedding:
        with self.desk.database.transaction(self.desk.admin) as tx:
            found = reembedding.read_progress(self.desk.admin, tx)
        assert found is not None
        return found

    def vectors(self) -> dict[str, int]:
        rows = self.desk.query("SELECT space, count(*) FROM embeddings GROUP BY space")
        return {str(model): int(str(count)) for model, count in rows}

    def found(self, spaces: EmbeddingSpaces | None = None) -> list[UUID]:
        """What a search by meaning alone finds, in the space that is the tenant's at the moment."""
        model = (spaces or self.spaces).tenant_embedder(self.desk.database, self.desk.tenant_id)
        vector = embed_query(model, QUESTION)
        with self.desk.database.transaction(self.desk.admin) as tx:
            return [row.row_id for row in search(self.desk.admin, tx, Question(text="?", vector=vector), limit=5)]


@pytest.fixture
def movers(conversation: ConversationHarness) -> Movers:
    return Movers(conversation)


def test_every_row_gets_its_vector_there_before_a_search_looks_there(movers: Movers) -> None:
    before, total = movers.found(), movers.vectors()[OLD]
    assert len(before) == 5
    seen: list[bool] = []
    movers.new.during = lambda: seen.append(movers.found() == before)
    assert (movers.start().total, movers.progress().done) == (total, 0)
    movers.run()
    assert seen == [True]
    assert movers.vectors() == {OLD: total, NEW: total}
    found = movers.progress()
    assert (found.space, found.done, found.cleared_at) == (NEW, total, None)
    assert found.finished_at is not None
    assert len(movers.found()) == 5
    assert movers.desk.query("SELECT embedding_space FROM tenants") == [(NEW,)]


def test_the_old_vectors_go_when_nobody_can_be_sent_to_them_any_more(movers: Movers) -> None:
    total = movers.vectors()[OLD]
    movers.start()
    movers.run()
    ((body, seconds),) = movers.queue.sent
    assert body == {"tenant_id": str(movers.desk.tenant_id)}
    assert 0 < seconds <= reembedding.OLD_VECTORS_KEPT.total_seconds()
    movers.run()
    assert movers.vectors() == {OLD: total, NEW: total}
    movers.desk.clock.now += timedelta(seconds=seconds)
    movers.run()
    assert movers.vectors() == {NEW: total}
    assert movers.progress().cleared_at is not None
    assert movers.desk.query("SELECT id FROM work_due WHERE kind = 'embedding'") == []


def test_a_worker_that_knows_the_old_space_for_a_moment_longer_still_finds_by_it(movers: Movers) -> None:
    clock = [0.0]
    spaces = EmbeddingSpaces([PricedEmbedder(movers.old), PricedEmbedder(movers.new)], clock=lambda: clock[0])
    before = movers.found(spaces)
    movers.start()
    movers.run()
    assert movers.found(spaces) == before
    clock[0] = 31.0
    assert spaces.tenant_embedder(movers.desk.database, movers.desk.tenant_id) is movers.new


def test_what_is_written_into_the_old_space_meanwhile_is_moved_too(movers: Movers) -> None:
    total = movers.vectors()[OLD]
    movers.start()
    movers.run()
    movers.desk.query(
        f"DELETE FROM embeddings WHERE space = '{NEW}' AND row_id = (SELECT min(row_id::text)::uuid FROM"
        " embeddings) RETURNING row_id"
    )
    movers.desk.clock.now += reembedding.OLD_VECTORS_KEPT
    movers.run()
    assert movers.vectors() == {NEW: total}


def test_it_goes_on_where_it_broke_off(movers: Movers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_job, "BATCH_ROWS", 10)
    total = movers.vectors()[OLD]
    movers.start()
    left = iter([300.0, 300.0, 300.0, 10.0])
    movers.run(seconds=lambda: next(left))
    assert (movers.progress().done, movers.queue.sent[-1][1]) == (20, 0)
    movers.new.problem = ProviderUnavailable("away")
    with pytest.raises(ProviderUnavailable):
        movers.run()
    movers.new.problem = None
    movers.run()
    assert (movers.progress().done, movers.vectors()[NEW]) == (total, total)
    texts = [text for texts in movers.new.asked for text in texts]
    assert len(texts) == total + 10  # the ten that were asked for in vain


def test_new_rows_are_found_throughout(movers: Movers) -> None:
    movers.start()
    movers.run()
    movers.desk.send_whatsapp("Who holds the retention?")
    movers.desk.model.script = [text_answer("The client.")]
    movers.desk.run_turn()
    movers.run()
    rows = movers.desk.query(
        "SELECT e.space FROM context_rows r JOIN embeddings e ON e.row_id = r.id WHERE r.kind = 'chat_message'"
    )
    assert {model for (model,) in rows} == {NEW}


def test_asked_again_it_is_the_same_move_and_another_has_to_wait(movers: Movers) -> None:
    first = movers.start()
    assert movers.start(NEW) == first
    with pytest.raises(Conflict, match=NEW):
        movers.start("words")
    movers.run()
    assert movers.start("words").space == OLD
    movers.run()
    assert movers.desk.query("SELECT embedding_space FROM tenants") == [(OLD,)]


def test_a_model_that_the_deployment_does_not_name_is_refused_with_those_it_does(movers: Movers) -> None:
    with pytest.raises(NotFound, match="words@64, other@32"):
        movers.start("large")


def test_only_an_administrator_moves_a_tenant_and_a_viewer_sees_how_far_it_is(movers: Movers) -> None:
    viewer = replace(roles.operator_principal(movers.desk.tenant_id), kind="member", roles=frozenset({"viewer"}))
    with pytest.raises(Forbidden):
        movers.start(principal=viewer)
    movers.start()
    seen = movers.progress()
    with movers.desk.database.transaction(viewer) as tx:
        assert reembedding.read_progress(viewer, tx) == seen
    nobody = replace(viewer, roles=frozenset())
    with movers.desk.database.transaction(nobody) as tx, pytest.raises(Forbidden):
        reembedding.read_progress(nobody, tx)


def test_a_neighbour_stays_where_it_is(movers: Movers, database: Database) -> None:
    other = ConversationHarness(uuid7(movers.desk.clock()), database, movers.desk.clock)
    movers.start()
    movers.run()
    assert movers.spaces.priced_embedder(None).embedder is movers.old
    assert space_name(movers.spaces.tenant_embedder(database, other.tenant_id)) == OLD


def test_rows_that_wait_for_a_model_that_is_gone_do_not_hold_up_the_move_away_from_it(movers: Movers) -> None:
    movers.desk.send_whatsapp("Who holds the retention?")
    movers.desk.model.script = [text_answer("The client.")]
    movers.desk.run_turn()
    movers.old.problem = ProviderUnavailable("gone for good")
    with pytest.raises(ProviderUnavailable):
        movers.run()
    movers.start()
    movers.run()
    assert movers.progress().finished_at is not None
    assert movers.desk.query("SELECT id FROM context_rows WHERE pending") == []
    brought = "kind = 'delta' AND metadata->>'origin' = 'pack'"  # found by words alone
    ((rows,),) = movers.desk.query(f"SELECT count(*) FROM context_rows WHERE NOT coalesce({brought}, false)")
    assert movers.vectors()[NEW] == rows


def test_rows_that_wait_for_a_model_that_is_named_no_more_do_not_either(movers: Movers) -> None:
    movers.desk.query("UPDATE tenants SET embedding_space = 'dropped@7' RETURNING slug")
    movers.desk.send_whatsapp("Who holds the retention?")
    movers.desk.model.script = [text_answer("The client.")]
    movers.desk.run_turn()
    with pytest.raises(Misconfigured, match="parlour reembed"):
        movers.run()
    movers.start()
    movers.run()
    assert movers.desk.query("SELECT embedding_space FROM tenants") == [(NEW,)]
