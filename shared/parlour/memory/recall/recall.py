"""What a turn is told of what is remembered, and what became of that once it had answered.

Whose memory it is the session says: its user with its binding, the binding's team and persona. No argument names them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.memory.agent_state import agent_state, state_rendering
from parlour.memory.agent_state.agent_state import AgentState
from parlour.memory.memory_policy import MemoryPolicy
from parlour.memory.recall import recall_rendering, store
from parlour.memory.recall.recall_rendering import RecalledFact
from parlour.memory.recall.recall_usage import RecallUsage
from parlour.memory.recall.store import EpisodeQuery
from parlour.principal import Principal
from parlour.prompts.assembly.segment import Item


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """Candidates for a turn's prompts: facts and the agent's notes. `episodes`: how many may be told, 0 where there are
    none; which of them are to the point is asked once the question has its vector."""

    items: tuple[Item, ...] = ()
    max_episodes: int = 0


def recall_memory(
    tx: Transaction, session_id: UUID, user_texts: Sequence[str], policy: MemoryPolicy, now: datetime
) -> RecalledMemory:
    """What the session's next turn may be told of at once, in one statement; `asked`: what the user wrote last, oldest
    first. In a session that others may read, nothing that its user said in confidence."""
    found = store.recall_memory(tx, session_id, "\n".join(user_texts), policy.max_facts, now)
    if found is None:
        return RecalledMemory()
    facts = recall_rendering.render_facts([_fact_from_json(one) for one in found.facts or []])
    notes = state_rendering.render_items(_visible_state(found), session_id, found.state_version or 0)
    return RecalledMemory((*facts, *notes), policy.max_episodes if found.has_episodes else 0)


def read_agent_state(tx: Transaction, session_id: UUID, now: datetime) -> JsonObject:
    """The agent's notes as its summariser may be told of them: what the session's user may see by now, and without
    what the notes rest on. {} where there are none."""
    found = store.recall_memory(tx, session_id, "", 0, now)
    return agent_state.to_json(agent_state.without_provenance(_visible_state(found))) if found else {}


def recall_episodes(
    principal: Principal,
    tx: Transaction,
    session_id: UUID,
    query: EpisodeQuery,
    now: datetime,
) -> list[Item]:
    """Return the episodes nearest to a question that the principal is cleared for."""
    episodes = store.find_episodes(tx, session_id, query, clearance=principal.clearance, now=now)
    return recall_rendering.render_episodes(episodes)


def record_recalls(tx: Transaction, turn_id: UUID, recalled: Sequence[RecallUsage], now: datetime) -> None:
    """Write down what a turn's prompts were told and whether its reply used it, with the reply."""
    if recalled:
        store.add_recalls(tx, turn_id, recalled, now)


def _visible_state(row: store.RecalledMemoryRow) -> AgentState:
    """The notes as their reader may be told of them now."""
    if not row.agent_state:
        return agent_state.EMPTY_STATE
    state, gone = agent_state.from_json(row.agent_state), set(row.withheld_summary_versions or ())
    return agent_state.restrict_to_records(
        agent_state.without_summaries(state, gone) if gone else state, set(row.visible_handles or ())
    )


def _fact_from_json(row: JsonObject) -> RecalledFact:
    return RecalledFact(
        UUID(str(row["id"])),
        str(row["scope"]),
        str(row["key"]),
        str(row["value"]),
        float(str(row["confidence"])),
        float(str(row["relevance"])),
    )
