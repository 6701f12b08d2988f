"""What one attempt at a turn's budget takes as given of its history, and what becomes of that in the ledger. Pure."""

from dataclasses import dataclass, replace

from parlour.context import history, lead
from parlour.context.budget import Profile
from parlour.context.history import Told
from parlour.context.lead import LEAD_TOKENS, Lead, StandIn
from parlour.context.ledger import Entry
from parlour.context.materials import Materials
from parlour.context.past import PastTurn
from parlour.context.segment import Item, Layer, Lot, Source, foreign
from parlour.context.tokens import Meter
from parlour.infra.jsonable import canonical

_LEADS = 5
"""What leads the history takes a fifth of a budget at most: 1,500 tokens of 7,700."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt at a turn's budget takes as given.

    lead   what stands for the turns that history does not tell.
    cut    turns that were cut in an attempt before this one, and `out` what their lead had no room for.
    tight  the briefing holds itself to its floor, so that the history need not be cut for its sake.
    lost   what led the history and has no room any more: a long text that the talk was about, then the summary.
    """

    lead: Lead
    cut: tuple[PastTurn, ...] = ()
    out: tuple[Entry, ...] = ()
    tight: bool = False
    lost: tuple[Item, ...] = ()

    @property
    def gives_way(self) -> bool:
        """Whether the lead can be told shorter."""
        return self.lead.pasted is not None or lead.summarised(self.lead) is not None

    def shorter(self) -> "Plan":
        """The plan without the long text that the talk is about, or where there is none without the summary."""
        if self.lead.pasted is not None:
            return replace(self, lead=replace(self.lead, pasted=None), lost=(*self.lost, self.lead.pasted))
        gone = lead.items(replace(self.lead, recap=()))
        return replace(self, lead=lead.bare(self.lead), lost=(*self.lost, *gone))

    def stand_in(self, materials: Materials, profile: Profile) -> StandIn:
        """What may stand for turns that are cut. A small budget is no place for a long summary."""
        if any(one.lot is Lot.SUMMARY for one in self.lost):
            return history.NO_STAND_IN
        most = min(profile.share(Layer.SUMMARY).cap, profile.total // _LEADS, LEAD_TOKENS)
        return StandIn(materials.summary, materials.awaited, most)


def told_of(meter: Meter, before: Lead, plan: Plan, told: Told) -> list[Entry]:
    """Entries for the history: what is verbatim, what a cut took, and what leads it now or did `before`."""
    kept = [Entry(one, meter.count(one.text)) for turn in told.turns for one in _items(turn)]
    cut = [Entry(one, meter.count(one.text), "cut") for turn in plan.cut for one in _items(turn)]
    led = [Entry(one, meter.count(one.text)) for one in lead.items(told.lead)]
    lost = [Entry(one, meter.count(one.text), "over_budget") for one in plan.lost]
    if before.pasted and before.pasted not in {told.lead.pasted, *plan.lost}:
        lost.append(Entry(before.pasted, meter.count(before.pasted.text), "cut"))
    return [*cut, *led, *plan.out, *lost, *kept]


def _items(turn: PastTurn) -> list[Item]:
    called = [
        Item(Lot.HISTORY, canonical(one), Source("turns", turn.id, place)) for place, one in enumerate(turn.called)
    ]
    return [
        *(replace(history.recorded(one), lot=Lot.HISTORY) for one in turn.attached),
        *(Item(Lot.HISTORY, foreign(one.text), one.source) for one in turn.asked),
        *called,
        *(Item(Lot.HISTORY, foreign(one.text), one.source) for one in turn.replied),
    ]
