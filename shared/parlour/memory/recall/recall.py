"""Recall of memory for a turn, and the record of what its reply used.

The session decides whose memory it is: its user with its binding, and the binding's team and persona. No argument does.
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
from parlour.memory.recall.recall_rendering import RecalledFact, RecentStatement
from parlour.memory.recall.recall_usage import RecallUsage
from parlour.memory.recall.store import EpisodeQuery
from parlour.principal import Principal
from parlour.prompts.assembly.segment import Item


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """Candidates for a turn's prompts: facts and the agent's notes.

    `max_episodes` is 0 when the user has none. Episodes are searched once the question has a vector.
    """

    items: tuple[Item, ...] = ()
    max_episodes: int = 0


def recall_memory(
    tx: Transaction, session_id: UUID, user_texts: Sequence[str], policy: MemoryPolicy, now: datetime
) -> RecalledMemory:
    """Return the facts and notes for the session's next turn, read in one statement.

    `user_texts` are the user's latest messages, oldest first. A session with other readers gets no private facts.
    """
    found = store.recall_memory(tx, session_id, "\n".join(user_texts), policy.max_facts, now)
    if found is None:
        return RecalledMemory()
    facts = recall_rendering.render_facts([_fact_from_json(one) for one in found.facts or []])
    recent = [
        RecentStatement(UUID(str(one["id"])), str(one["text"])) for one in reversed(found.recent_statements or [])
    ]
    notes = state_rendering.render_items(_visible_state(found), session_id, found.state_version or 0)
    return RecalledMemory(
        (*facts, *recall_rendering.render_statements(recent), *notes), policy.max_episodes if found.has_episodes else 0
    )


def read_agent_state(tx: Transaction, session_id: UUID, now: datetime) -> JsonObject:
    """Return the agent's notes for its summary model: what the user may see now, without provenance; {} for none."""
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
    """Record what a turn's prompts recalled and whether the reply used it, in the reply's transaction."""
    if recalled:
        store.add_recalls(tx, turn_id, recalled, now)


def _visible_state(row: store.RecalledMemoryRow) -> AgentState:
    """Return the notes that their reader may see now."""
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
        datetime.fromisoformat(str(row["holds_until"])) if row["holds_until"] else None,
        bool(row["is_doubted"]),
        bool(row["is_asked"]),
    )
