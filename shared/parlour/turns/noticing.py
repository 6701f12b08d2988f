"""What a turn's messages obviously state of their writer becomes a fact with the turn's reply; everything else is left
to a model, later."""

from collections.abc import Callable
from datetime import datetime

from parlour.infra.postgres import Transaction
from parlour.memory import waking
from parlour.memory.extracting import store as extracting
from parlour.memory.facts import keep, obvious
from parlour.memory.facts.fact import Candidate, Scope, Utterance
from parlour.memory.facts.store import scope_of
from parlour.memory.policy import policy
from parlour.memory.waking import Later
from parlour.turns import polite
from parlour.turns.running import Running


def noticing(running: Running, now: datetime) -> Callable[[Transaction], list[Later]]:
    """How to write down, with the end of a turn that was answered, what its messages say; who is told once that is
    committed comes of it. Nothing is kept of a session that others read along, or where nothing is remembered."""
    candidates, new_id = _said(running), running.services.new_id
    ids = keep.new_ids(candidates, (), new_id, now)
    lease, turn, tenant_id = running.lease, running.turn, running.feed.principal.tenant_id

    def note(tx: Transaction) -> list[Later]:
        found = scope_of(tx, lease.id, turn.number) if candidates else None
        if found is not None and policy(found.memory_policy).facts:
            keep.keep(tx, Scope(found.user_id, found.binding_id), lease.id, turn.id, candidates, (), ids, now)
        noted = extracting.note_turn(tx, lease.id, turn.number, waking.due_by(now))
        if noted is None:
            return []
        return waking.of_new_turns(tenant_id, lease.id, is_first=noted.is_first, behind=noted.behind)

    return note


def _said(running: Running) -> list[Candidate]:
    """Of what the user wrote, as long as it can be read; what a tool answered they did not write."""
    written = [one for one in running.inputs if one.kind != polite.TOOL_RESULT and len(one.body) <= polite.LONGEST_TEXT]
    return obvious.find_facts([Utterance(one.id, one.body, one.received_at) for one in written])
