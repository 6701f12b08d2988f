"""A turn's memory: what is recalled when it begins, and the plans of what its end writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.context.past import Message, PastTurn
from parlour.context.segment import Layer, Source
from parlour.context.tokens import Meter
from parlour.infra.jsonable import canonical
from parlour.infra.postgres import Transaction
from parlour.memory import waking
from parlour.memory.extracting import store as extracting
from parlour.memory.facts import keep, obvious
from parlour.memory.facts.fact import Candidate, Scope, Utterance
from parlour.memory.facts.store import scope_of
from parlour.memory.order import Order
from parlour.memory.policy import policy
from parlour.memory.recalling import recall, used
from parlour.memory.recalling.recall import Remembered
from parlour.memory.recalling.used import Told
from parlour.memory.state.done import Done, done
from parlour.memory.summary.stretch import is_wanted
from parlour.memory.waking import Later
from parlour.tenancy.bindings import Persona
from parlour.turns import polite
from parlour.turns.records import Inbound, Lease
from parlour.turns.running import Running

#: How many of the user's last messages are the query of recall. A message like "and the second one?" names nothing.
_QUERY_MESSAGES = 2


def recall_memories(
    tx: Transaction, lease: Lease, persona: Persona, past: Sequence[PastTurn], inputs: Sequence[Inbound], now: datetime
) -> Remembered:
    """Return what a turn that begins is told without a search: facts about its user, and the agent's notes."""
    written = [message.text for turn in past for message in turn.asked]
    query = [*written, *(polite.as_read(message) for message in inputs)][-_QUERY_MESSAGES:]
    return recall.remembered(tx, lease.id, query, policy(persona.agent.memory_policy), now)


@dataclass(frozen=True, slots=True)
class FactWrites:
    """Facts that a turn's messages state, and the ids that writing them may need."""

    candidates: tuple[Candidate, ...]
    ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class UsageWrites:
    """How a turn used memory: `recalled` with whether the reply used it, and the changes of records by its tools."""

    recalled: tuple[Told, ...] = ()
    record_changes: tuple[Done, ...] = ()


def plan_fact_writes(running: Running, now: datetime) -> FactWrites:
    """Return the facts that the user's messages state obviously. A model extracts all others later.

    Results of tools, which the user did not write, and overlong messages state none.
    """
    written = [
        message
        for message in running.inputs
        if message.kind != polite.TOOL_RESULT and len(message.body) <= polite.LONGEST_TEXT
    ]
    candidates = obvious.find_facts([Utterance(one.id, one.body, one.received_at) for one in written])
    return FactWrites(tuple(candidates), tuple(keep.new_ids(candidates, (), running.services.new_id, now)))


def write_facts(tx: Transaction, running: Running, facts: FactWrites, now: datetime) -> None:
    """Write the facts under their user's lock. A session with other readers, or an agent without memory, keeps none."""
    lease, turn = running.lease, running.turn
    scope = scope_of(tx, lease.id, turn.number) if facts.candidates else None
    if scope is not None and policy(scope.memory_policy).facts:
        user = Scope(scope.user_id, scope.binding_id)
        keep.keep(tx, user, lease.id, turn.id, facts.candidates, (), facts.ids, now)


def schedule_extraction(tx: Transaction, running: Running, now: datetime) -> list[Later]:
    """Count the turn as one to extract memories from; returns the job to send, if one is due."""
    session_id = running.lease.id
    noted = extracting.note_turn(tx, session_id, running.turn.number, waking.due_by(now))
    if noted is None:
        return []
    tenant_id = running.feed.principal.tenant_id
    return waking.of_new_turns(tenant_id, session_id, is_first=noted.is_first, behind=noted.behind)


def plan_usage_writes(running: Running, reply: str) -> UsageWrites:
    """Return what the turn's prompts recalled and whether the reply used it, and what its tools did to records.

    `reply` is "" where no model wrote it: then no recall is judged. A long call's changes belong to the turn that
    receives its result.
    """
    prompting = running.prompting
    if prompting is None:
        return UsageWrites()
    tools = {tool.name: tool for tool in running.tools}
    arguments: list[str] = []
    changes: list[Done] = []
    for round_ in prompting.rounds:
        requests = {str(block["id"]): block for block in round_.blocks if block.get("type") == "tool_use"}
        arguments += [canonical(request["input"]) for request in requests.values()]
        for call_id, result in round_.results:
            tool = tools.get(str(requests[call_id]["name"])) if call_id in requests else None
            if tool and (change := done(tool, result)):
                changes.append(change)
    if not (reply and prompting.recorded and prompting.begun):
        return UsageWrites(record_changes=tuple(changes))
    question = "\n".join(message.text for message in prompting.materials.words)
    recalled = used.judged(used.told(prompting.begun.entries), "\n".join([reply, *arguments]), question)
    return UsageWrites(tuple(recalled), tuple(changes))


def plan_summary_job(running: Running, reply: str) -> Later | None:
    """Return the job that summarises the session's older turns; None when none is needed, or one is planned already."""
    prompting = running.prompting
    if prompting is None or prompting.wanted:
        return None
    standing = prompting.begun.standing if prompting.begun and prompting.recorded else prompting.standing
    materials = prompting.materials
    answers = (Message(reply, Source("messages", "")),) if reply else ()
    turn = PastTurn(materials.turn, str(running.turn.id), tuple(materials.words), prompting.called(), answers)
    cap = prompting.profile.share(Layer.HISTORY).cap
    if not is_wanted(Meter(standing.factors), standing.lead, [*materials.past, turn], materials.summary, cap):
        return None
    return Later(Order(running.feed.principal.tenant_id, "summary", running.lease.id), 0.0)
