"""What the next prompts of some sessions stand on, without what was forgotten."""

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from parlour.context.lead import Lead
from parlour.context.pins import Pinned
from parlour.forgetting import store
from parlour.infra.postgres import Transaction
from parlour.turns.prompts.prompting import joined, split
from parlour.turns.prompts.store import Kept


def blank(tx: Transaction, briefed: Collection[UUID], touched: Collection[UUID]) -> None:
    """Take away the words of their pinned briefings, which are rendered anew for it; of sessions whose own turns go
    also what leads their history, which is told and cut anew from the turns that are left."""
    for row in store.standings(tx, [*briefed, *touched]):
        standing = joined(Kept(row.standing, row.briefing))
        if standing.pinned is not None:
            standing = replace(standing, pinned=_blank(standing.pinned))
        if row.session_id in touched:
            standing = replace(standing, lead=Lead())
        kept = split(standing)
        store.put_standing(tx, row.session_id, kept.standing, kept.briefing)


def _blank(pinned: Pinned) -> Pinned:
    return replace(pinned, segment=replace(pinned.segment, blocks=()), held=(), sources=(), forgotten=True)
