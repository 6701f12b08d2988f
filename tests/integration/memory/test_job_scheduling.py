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


def swept(conversation: ConversationHarness, after: timedelta) -> SweepResult:
    """What the sweep does to memory's work after a while."""
    conversation.query(f"DELETE FROM work_due WHERE kind <> ALL('{{{','.join(MEMORY_JOB_KINDS)}}}') RETURNING 1")
    conversation.memory.sent.clear()
    conversation.clock.now += after
    return sweep(dependencies(conversation), lambda: 60.0)


def orders(conversation: ConversationHarness) -> list[Any]:
    return [(body["kind"], body["target_id"], seconds) for body, seconds in conversation.memory.sent]


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> ExtractionConversation:
    made = ExtractionConversation(conversation)
    made.say("I live in Pune.")
    return made


def test_turns_that_nobody_looked_through_are_sent_again_and_again(
    conversation: ConversationHarness, web_conversation: ExtractionConversation
) -> None:
    assert swept(conversation, job_scheduling.EXTRACTION_DELAY + MINUTE).woken_count == 0
    for _ in range(2):
        assert swept(conversation, timedelta(hours=1)).woken_count == 1
        assert orders(conversation) == [("extraction", str(web_conversation.session), 0.0)]
    web_conversation.run_extraction(extraction_answer())
    assert swept(conversation, timedelta(hours=9)).woken_count == 0


def test_what_somebody_is_at_is_left_alone(
    conversation: ConversationHarness, web_conversation: ExtractionConversation
) -> None:
    now = conversation.clock()
    with conversation.database.transaction(conversation.tenant_id) as tx:
        assert work_due.lease(tx, "extraction", web_conversation.session, now + timedelta(hours=2), now)
    conversation.query("UPDATE work_due SET due_at = now() - interval '1 year' WHERE kind = 'extraction' RETURNING 1")
    assert (swept(conversation, timedelta(minutes=30)).busy_count, orders(conversation)) == (1, [])


@pytest.mark.parametrize("kind", MEMORY_JOB_KINDS)
def test_every_kind_goes_to_the_queue_of_memory(
    conversation: ConversationHarness, web_conversation: ExtractionConversation, kind: MemoryJobKind
) -> None:
    work = UUID(int=7)
    conversation.query("DELETE FROM work_due RETURNING 1")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        work_due.schedule(tx, kind, work, conversation.clock())
    swept(conversation, MINUTE)
    assert orders(conversation) == [(kind, str(work), 0.0)]


def test_a_wake_up_of_its_own_does_as_much(
    conversation: ConversationHarness, web_conversation: ExtractionConversation
) -> None:
    ((due_at,),) = web_conversation.due_rows()
    conversation.clock.now = due_at + MINUTE  # type: ignore[assignment, operator]
    conversation.memory.sent.clear()
    handle_wakeup(
        dependencies(conversation),
        DueWork(
            conversation.tenant_id, "extraction", web_conversation.session, conversation.clock() - SWEEP_DELAY
        ).to_json(),
    )
    assert orders(conversation) == [("extraction", str(web_conversation.session), 0.0)]
