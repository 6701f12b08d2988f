"""Several workers write what is known of one user at the same moment: there is one live row of a key, and no error."""

import threading
from collections.abc import Callable
from datetime import timedelta

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.memory.facts import fact_merge
from parlour.memory.facts.fact import FactCandidate, MemoryScope
from tests.conversation_harness import ConversationHarness
from tests.integration.web_conversation import WebConversation

WORKERS, EACH = 4, 12
CITIES = ("Pune", "Goa", "Delhi", "Chennai")


def test_one_live_row_a_key_whoever_writes(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    talk = WebConversation(conversation)
    ((user_id, binding_id),) = conversation.query(
        f"SELECT user_id, binding_id FROM sessions WHERE id = '{talk.session}'"
    )
    scope, start = MemoryScope(user_id, binding_id), conversation.clock()  # type: ignore[arg-type]
    problems: list[BaseException] = []
    ready = threading.Barrier(WORKERS)

    def write(worker: int) -> None:
        database = open_database()
        try:
            ready.wait(10)
            for number in range(EACH):
                at = start + timedelta(seconds=number * WORKERS + worker)
                said = [
                    FactCandidate(key, CITIES[(number + worker) % 4], 0.9, "stated", at, (uuid7(at),))
                    for key in ("city", "home_town")
                ]
                ids = fact_merge.allocate_ids(said, (), at)
                database.run(
                    conversation.tenant_id,
                    lambda tx, said=said, ids=ids, at=at: fact_merge.merge_candidates(
                        tx, scope, talk.session, None, fact_merge.FactBatch(said, (), ids), at
                    ),  # type: ignore[misc]
                )
        except BaseException as problem:  # noqa: BLE001 - told by the assertion below
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(WORKERS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert problems == []
    live = conversation.query("SELECT key, value FROM facts WHERE valid_until IS NULL ORDER BY key")
    last = CITIES[(EACH - 1 + WORKERS - 1) % 4]
    assert live == [("city", last), ("home_town", last)]
    assert conversation.query("SELECT count(*) FROM fact_decisions") == [(WORKERS * EACH * 2,)]
    assert conversation.query("SELECT count(*) FROM facts WHERE valid_until < valid_from") == [(0,)]
