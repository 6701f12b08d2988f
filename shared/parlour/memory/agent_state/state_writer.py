"""A session's notes, changed: by what its turns' tools did at once, by its summariser later.

Whoever changes them holds their row, so that a turn's end and a summary's never lose each other's notes. The row of the
session, if it is to be held too, comes before it.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import Json
from parlour.infra.postgres import Transaction
from parlour.memory.agent_state import agent_state, state_updates, store
from parlour.memory.agent_state.agent_state import AgentState
from parlour.memory.agent_state.record_changes import RecordChanges, apply_record_changes
from parlour.memory.agent_state.state_updates import UpdateResult

__all__ = ["UpdateResult", "apply_summary_updates", "record_tool_changes"]


def record_tool_changes(tx: Transaction, session_id: UUID, calls: Sequence[RecordChanges], now: datetime) -> None:
    """Note what a turn's calls did to records, in the transaction that ends the turn. Nothing is touched where they
    did nothing, nor where the session was put away meanwhile."""
    held = store.lock_state(tx, session_id, now) if calls else None
    if held is None:
        return
    state = agent_state.from_json(held.state)
    _store_if_changed(tx, session_id, state, apply_record_changes(state, calls, now), now)


def apply_summary_updates(
    tx: Transaction, session_id: UUID, summary_version: int, item_updates: Json, now: datetime
) -> UpdateResult:
    """Take what a summariser proposes: its `agent_state_item_updates` as they were given,
    parsed from JSON and not looked at. Nothing that it says can fail: what makes no sense is among the refusals. It may
    name records that the session's user may see, and no others. Nothing is taken for a session that was put away.

    version  of the summary that it wrote at the same time: what that was drawn from, the notes were.
    """
    known = store.find_visible_handles(tx, session_id, state_updates.proposed_handles(item_updates))
    held = store.lock_state(tx, session_id, now)
    if held is None:
        return UpdateResult(agent_state.EMPTY_STATE, 0, ())
    before = agent_state.from_json(held.state)
    applied = state_updates.apply_updates(
        before, item_updates, known_handles=known | before.handles, summary_version=summary_version, now=now
    )
    _store_if_changed(tx, session_id, before, applied.state, now)
    return applied


def _store_if_changed(
    tx: Transaction, session_id: UUID, previous: AgentState, current: AgentState, now: datetime
) -> None:
    if current != previous:
        store.store_state(tx, session_id, agent_state.to_json(current), now)
