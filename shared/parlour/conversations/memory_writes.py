"""A turn's memory: what is recalled when it begins, and the plans of what its end writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from parlour.conversations.rows import InboundMessage, Lease
from parlour.conversations.turn_context import TurnContext
from parlour.infra.json_values import canonical_json
from parlour.infra.postgres import Transaction
from parlour.memory import job_scheduling
from parlour.memory.agent_state.record_changes import RecordChanges, record_changes_of_call
from parlour.memory.extraction import store as extracting
from parlour.memory.facts import explicit_facts, fact_merge
from parlour.memory.facts.fact import MemoryScope, UserMessage
from parlour.memory.facts.fact_merge import FactBatch
from parlour.memory.facts.store import find_scope
from parlour.memory.job_scheduling import DelayedJob
from parlour.memory.memory_job import MemoryJob
from parlour.memory.memory_policy import parse_memory_policy
from parlour.memory.recall import recall, recall_usage
from parlour.memory.recall.recall import RecalledMemory
from parlour.memory.recall.recall_usage import RecallUsage
from parlour.memory.summaries.summary_window import is_summary_due
from parlour.prompts.assembly import user_message
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.segment import Layer, Source
from parlour.tenancy.bindings import Persona
from parlour.text.token_counter import TokenCounter

#: How many of the user's last messages are the query of recall. A message like "and the second one?" names nothing.
_QUERY_MESSAGES = 2


def recall_memories(
    tx: Transaction,
    lease: Lease,
    persona: Persona,
    past: Sequence[PastTurn],
    inputs: Sequence[InboundMessage],
    now: datetime,
) -> RecalledMemory:
    """Return what a turn that begins is told without a search: facts about its user, and the agent's notes."""
    written = [message.text for turn in past for message in turn.user_messages]
    query = [*written, *(user_message.effective_text(message) for message in inputs)][-_QUERY_MESSAGES:]
    return recall.recall_memory(tx, lease.id, query, parse_memory_policy(persona.agent.memory_policy), now)


@dataclass(frozen=True, slots=True)
class UsageWrites:
    """How a turn used memory: `recalled` with whether the reply used it, and the changes of records by its tools."""

    recalled: tuple[RecallUsage, ...] = ()
    record_changes: tuple[RecordChanges, ...] = ()


def plan_fact_writes(running: TurnContext, now: datetime) -> FactBatch:
    """Return the facts that the user's messages state obviously. A model extracts all others later.

    Results of tools, which the user did not write, and overlong messages state none.
    """
    written = [
        message
        for message in running.input_messages
        if message.kind != user_message.TOOL_RESULT_KIND and len(message.body) <= user_message.MAX_TEXT_CHARS
    ]
    candidates = explicit_facts.find_explicit_facts([UserMessage(one.id, one.body, one.received_at) for one in written])
    return FactBatch(candidates, (), fact_merge.allocate_ids(candidates, (), now))


def write_facts(tx: Transaction, running: TurnContext, facts: FactBatch, now: datetime) -> None:
    """Write the facts under their user's lock. A session with other readers, or an agent without memory, keeps none."""
    lease, turn = running.lease, running.turn
    scope = find_scope(tx, lease.id, turn.number) if facts.candidates else None
    if scope is not None and parse_memory_policy(scope.memory_policy).max_facts:
        user = MemoryScope(scope.user_id, scope.binding_id)
        fact_merge.merge_candidates(tx, user, lease.id, turn.id, facts, now)


def schedule_extraction(tx: Transaction, running: TurnContext, now: datetime) -> list[DelayedJob]:
    """Count the turn as one to extract memories from; returns the job to send, if one is due."""
    session_id = running.lease.id
    noted = extracting.schedule_extraction(tx, session_id, running.turn.number, job_scheduling.sweep_due_at(now))
    if noted is None:
        return []
    tenant_id = running.feed.principal.tenant_id
    return job_scheduling.jobs_for_new_turns(
        tenant_id, session_id, is_first=noted.is_first, unread_turns=noted.unread_turns
    )


def plan_usage_writes(running: TurnContext, reply: str) -> UsageWrites:
    """Return what the turn's prompts recalled and whether the reply used it, and what its tools did to records.

    `reply` is "" where no model wrote it: then no recall is judged. A long call's changes belong to the turn that
    receives its result.
    """
    prompting = running.prompt_builder
    if prompting is None:
        return UsageWrites()
    tools = {tool.name: tool for tool in running.tools}
    arguments: list[str] = []
    changes: list[RecordChanges] = []
    for round_ in prompting.tool_rounds:
        requests = {str(block["id"]): block for block in round_.blocks if block.get("type") == "tool_use"}
        arguments += [canonical_json(request["input"]) for request in requests.values()]
        for call_id, result in round_.results:
            tool = tools.get(str(requests[call_id]["name"])) if call_id in requests else None
            if tool and (change := record_changes_of_call(tool, result)):
                changes.append(change)
    if not (reply and prompting.is_recorded and prompting.prepared_turn):
        return UsageWrites(record_changes=tuple(changes))
    question = "\n".join(message.text for message in prompting.materials.user_messages)
    recalled = recall_usage.measure_usage(
        recall_usage.recalled_items(prompting.prepared_turn.entries), "\n".join([reply, *arguments]), question
    )
    return UsageWrites(tuple(recalled), tuple(changes))


def plan_summary_job(running: TurnContext, reply: str) -> DelayedJob | None:
    """Return the job that summarises the session's older turns; None when none is needed, or one is planned already."""
    prompting = running.prompt_builder
    if prompting is None or prompting.is_summary_requested:
        return None
    standing = (
        prompting.prepared_turn.cache_state
        if prompting.prepared_turn and prompting.is_recorded
        else prompting.cache_state
    )
    materials = prompting.materials
    answers = (Message(reply, Source("messages", "")),) if reply else ()
    turn = PastTurn(
        materials.turn_number,
        str(running.turn.id),
        tuple(materials.user_messages),
        prompting.history_messages(),
        answers,
    )
    cap = prompting.profile.limits_of(Layer.HISTORY).cap
    if not is_summary_due(
        TokenCounter(standing.token_factors),
        standing.compacted_history,
        [*materials.past_turns, turn],
        materials.summary,
        cap,
    ):
        return None
    return DelayedJob(MemoryJob(running.feed.principal.tenant_id, "summary", running.lease.id), 0.0)
