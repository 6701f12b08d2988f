"""What is to be remembered and whose message got lost is found by the sweep."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.jobs import work_due
from parlour.jobs.sweep import SweepResult, handle_wakeup, sweep
from parlour.jobs.work_due import SWEEP_DELAY, DueWork
from parlour.memory import job_scheduling
from parlour.memory.memory_job import MEMORY_JOB_KINDS, MemoryJobKind
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.extraction_harness import ExtractionConversation, extraction_answer
from tests.integration.sweeping import dependencies

MINUTE = timedelta(minutes=1)


def swept(desk: ConversationHarness, after: timedelta) -> SweepResult:
    """What the sweep does to memory's work after a while."""
    desk.query(f"DELETE FROM work_due WHERE kind <> ALL('{{{','.join(MEMORY_JOB_KINDS)}}}') RETURNING 1")
    desk.memory.sent.clear()
    desk.clock.now += after
    return sweep(dependencies(desk), lambda: 60.0)


def orders(desk: ConversationHarness) -> list[Any]:
    return [(body["kind"], body["id"], seconds) for body, seconds in desk.memory.sent]


@pytest.fixture
def talk(desk: ConversationHarness) -> ExtractionConversation:
    made = ExtractionConversation(desk)
    made.say("I live in Pune.")
    return made


def test_turns_that_nobody_looked_through_are_sent_again_and_again(
    desk: ConversationHarness, talk: ExtractionConversation
) -> None:
    assert swept(desk, job_scheduling.EXTRACTION_DELAY + MINUTE).woken_count == 0
    for _ in range(2):
        assert swept(desk, timedelta(hours=1)).woken_count == 1
        assert orders(desk) == [("extraction", str(talk.session), 0.0)]
    talk.run_extraction(extraction_answer())
    assert swept(desk, timedelta(hours=9)).woken_count == 0


def test_what_somebody_is_at_is_left_alone(desk: ConversationHarness, talk: ExtractionConversation) -> None:
    now = desk.clock()
    with desk.database.transaction(desk.tenant_id) as tx:
        assert work_due.lease(tx, "extraction", talk.session, now + timedelta(hours=2), now)
    desk.query("UPDATE work_due SET due_at = now() - interval '1 year' WHERE kind = 'extraction' RETURNING 1")
    assert (swept(desk, timedelta(minutes=30)).busy_count, orders(desk)) == (1, [])


@pytest.mark.parametrize("kind", MEMORY_JOB_KINDS)
def test_every_kind_goes_to_the_queue_of_memory(
    desk: ConversationHarness, talk: ExtractionConversation, kind: MemoryJobKind
) -> None:
    work = UUID(int=7)
    desk.query("DELETE FROM work_due RETURNING 1")
    with desk.database.transaction(desk.tenant_id) as tx:
        work_due.schedule(tx, kind, work, desk.clock())
    swept(desk, MINUTE)
    assert orders(desk) == [(kind, str(work), 0.0)]


def test_a_wake_up_of_its_own_does_as_much(desk: ConversationHarness, talk: ExtractionConversation) -> None:
    ((due_at,),) = talk.due_rows()
    desk.clock.now = due_at + MINUTE  # type: ignore[assignment, operator]
    desk.memory.sent.clear()
    handle_wakeup(
        dependencies(desk), DueWork(desk.tenant_id, "extraction", talk.session, desk.clock() - SWEEP_DELAY).to_json()
    )
    assert orders(desk) == [("extraction", str(talk.session), 0.0)]
