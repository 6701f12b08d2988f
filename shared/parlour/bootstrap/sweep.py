"""What is due, to the queue that does it."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.channels import outbox
from parlour.conversations import approval_answers, event_retention, inbound_messages, inbox_clock
from parlour.conversations.linking import expired_codes
from parlour.conversations.tool_result_messages import PendingWakeup
from parlour.files import uploads
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.queues import DelayedQueue, FifoQueue
from parlour.infra.settings import SweepSettings, load_settings
from parlour.jobs.sweep import Finder, SweepDependencies, SweepResult, handle_wakeup, sweep
from parlour.jobs.work_due import WorkKind
from parlour.memory import job_scheduling
from parlour.memory.memory_job import MEMORY_JOB_KINDS
from parlour.notifications import notifications
from parlour.prompts.ledger import retention
from parlour.search.index import scheduling
from parlour.tenancy import visitor_retention
from parlour.tools import calls


@functools.cache
def build_sweep() -> Callable[[SecondsLeft], SweepResult]:
    """Everything that is due, as far as the time allows."""
    settings, dependencies = _dependencies()

    def sweeping(seconds_left: SecondsLeft) -> SweepResult:
        dependencies.database.set_time_limit(seconds_left)
        try:
            return sweep(dependencies, seconds_left)
        finally:
            if settings.database_idle:
                dependencies.database.close()

    return sweeping


@functools.cache
def build_wakeup() -> MessageHandler[JsonObject]:
    """One wake-up: the piece of work that it is about."""
    settings, dependencies = _dependencies()

    def wake(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        handle_wakeup(dependencies, body)

    return with_time_limit(dependencies.database, settings, wake)


@functools.cache
def _dependencies() -> tuple[SweepSettings, SweepDependencies]:
    settings = load_settings(SweepSettings)
    queues = SweepQueues(
        turns={
            "whatsapp": clients.make_fifo_queue(settings.turns_messaging_queue_url),
            "web": clients.make_fifo_queue(settings.turns_web_queue_url),
        },
        outbox=clients.make_fifo_queue(settings.outbox_queue_url),
        tools=clients.make_fifo_queue(settings.tools_queue_url),
        ingest=clients.make_fifo_queue(settings.ingest_queue_url),
        embedding=clients.make_delayed_queue(settings.embedding_queue_url),
        memory=clients.make_delayed_queue(settings.memory_queue_url),
    )
    dependencies = SweepDependencies(
        database=make_database(settings, clients.make_secret_store()),
        finders=finders(queues, settings.ledger_days),
        wakeup_queue=clients.make_delayed_queue(settings.wakeups_queue_url),
        clock=lambda: datetime.now(UTC),
    )
    return settings, dependencies


@dataclass(frozen=True, slots=True)
class SweepQueues:
    """The queues whose workers a sweep wakes. `turns`: by a session's channel."""

    turns: Mapping[str, FifoQueue]
    outbox: FifoQueue
    tools: FifoQueue
    ingest: FifoQueue
    embedding: DelayedQueue
    memory: DelayedQueue


def finders(queues: SweepQueues, ledger_days: int = 30) -> Mapping[WorkKind, Finder]:
    """Return what every room offers to the sweep, by the kind of its work.

    ledger_days  for which the records of prompts are kept at least.
    """

    def wake_agent(wakeup: PendingWakeup) -> None:
        queues.turns[wakeup.queue_channel].send([wakeup.message])

    return {
        "session": inbound_messages.unanswered_session_finder(queues.turns),
        "outbox": outbox.finder(queues.outbox),
        "tool_call": calls.finder(queues.tools),
        "embedding": scheduling.finder(queues.embedding),
        "record_type": scheduling.record_type_finder(queues.embedding),
        "file": uploads.finder(queues.ingest),
        "inbox": inbox_clock.finder(queues.outbox, wake_agent),
        "notification": notifications.finder(queues.outbox),
        "approval": approval_answers.expired_question_finder(wake_agent),
        "phone_link": expired_codes.find_expired_code,
        "visitor_retention": visitor_retention.find_silent_visitors,
        "event_retention": event_retention.find_passing_events,
        "prompt_retention": retention.expired_prompt_finder(ledger_days),
        **{kind: job_scheduling.stale_work_finder(queues.memory, kind) for kind in MEMORY_JOB_KINDS},
    }
