"""The prompts of a month that was played, as the product recorded them: which layer told what."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from uuid import UUID

from bench.stale import Layer, Prompt
from parlour.context.segment import Item, Lot
from parlour.tenancy import roles
from parlour.turns.prompts import recorded
from tests.desk import Desk

_LAYERS: dict[Lot, Layer] = {
    Lot.HISTORY: "messages", Lot.FACTS: "facts", Lot.EPISODES: "episodes", Lot.STATE: "notes",
}  # fmt: skip
_LEADS: dict[str, Layer] = {"summaries": "summary", "sessions": "recap"}
_FOUND = (Lot.RECALL, Lot.OTHER_SESSIONS)


def prompts(desk: Desk, names: Mapping[UUID, str]) -> Iterator[Prompt]:
    """The last prompt of every turn, in their order; names: whose a user's are."""
    operator = roles.operator(desk.tenant_id)
    for turn_id, user_id, at in desk.rows(_TURNS):
        assert isinstance(turn_id, UUID)
        assert isinstance(user_id, UUID)
        assert isinstance(at, datetime)
        with desk.database.transaction(operator) as tx:
            found = recorded.read(operator, tx, turn_id)
        told = [entry.item for entry in found.asked[-1].entries if not entry.reason]
        parts = [(layer, found.words[item.text]) for item in told if (layer := layer_of(item))]
        yield Prompt(names[user_id], at, tuple(parts))


def layer_of(item: Item) -> Layer | None:
    """Which layer of a prompt an item is of, as far as it tells of people; None for what is no matter of memory."""
    if item.lot is Lot.SUMMARY:
        return _LEADS.get(item.source.table, "kept")
    if item.lot in _FOUND:
        return "messages" if item.source.table == "messages" else "anchors"
    return _LAYERS.get(item.lot)


_TURNS = """
SELECT t.id, s.user_id, t.frozen_at FROM turns t JOIN sessions s ON s.id = t.session_id
 WHERE EXISTS (SELECT FROM ledgers l WHERE l.turn_id = t.id) ORDER BY t.frozen_at, t.id
"""
