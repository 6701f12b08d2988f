"""Who gets how much of one turn's budget: what is required, then floors, then caps, in the profile's order. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from parlour.context import briefing, history, opening, pins, tail
from parlour.context.budget import Profile, Purse, after_required, in_proportion
from parlour.context.choose import Chosen, because_covered, best, covered_last, distinct, seen, worth
from parlour.context.history import Lead, PastTurn, Told
from parlour.context.ledger import Entry
from parlour.context.materials import Materials, Moment
from parlour.context.pins import Cause, Now, Pinned
from parlour.context.segment import Block, Item, Layer, Lot, Segment, Source, foreign
from parlour.context.standing import Standing
from parlour.context.tokens import Meter
from parlour.infra.errors import PromptOverflow
from parlour.infra.jsonable import canonical

_RANKED = (Lot.RECALL, Lot.OTHER_SESSIONS, Lot.EPISODES)
"""Lots whose scores say how much they are to the point."""

_IN_TAIL = (*_RANKED, Lot.FACTS, Lot.DELTAS, Lot.STATE)
_TAIL_LAYERS = (Layer.RECALL, Layer.MEMORY, Layer.DELTAS, Layer.STATE)
_COUNTED = 20
"""Tokens kept for a line that counts what is left out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt at a turn's budget takes as given.

    lead   what stands for the turns that history does not tell.
    cut    turns that were cut in an attempt before this one.
    tight  the briefing holds itself to its floor, so that the history need not be cut for its sake.
    """

    lead: Lead
    cut: tuple[PastTurn, ...] = ()
    tight: bool = False

    def without_pasted(self) -> "Plan":
        """The plan without the long text that the talk is about: there is no room for it."""
        return replace(self, lead=replace(self.lead, pasted=None))


@dataclass(frozen=True, slots=True)
class Filled:
    """A budget spent. `next_plan` says that something gave way, and another attempt is due.

    calls  tokens left for layer 12 and for saying the reminder again.
    """

    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    calls: int
    lead: Lead
    pinned: Pinned
    cause: Cause | None
    next_plan: Plan | None


@dataclass(slots=True)
class _Filling:
    """A budget being spent: the purse, and what was put in or left out so far."""

    meter: Meter
    profile: Profile
    purse: Purse
    items: Sequence[Item]
    pulse: str
    told: Sequence[str]
    entries: list[Entry] = field(default_factory=list)
    chosen: list[Item] = field(default_factory=list)

    def pick(self, lot: Lot, cap: int) -> None:
        """The best items of a lot, in what its layer may still take of `cap`."""
        mine = [item for item in self.items if item.lot is lot]
        if not mine:
            return
        layer = lot.layer
        frame = 0 if self.purse.taken.get(layer) else tail.frame(self.meter, layer)
        counted = _COUNTED if lot is Lot.DELTAS else 0
        picked = self._best(lot, mine, self.purse.offer(layer, cap) - frame - counted, cap - frame)
        self.entries += picked.entries
        if picked.items:
            self.chosen += picked.items
            self.purse.take(layer, picked.tokens + frame + counted)

    def refill(self, lot: Lot) -> None:
        """Give a lot what nobody else wanted: those of its items that had no room get another chance."""
        out = [
            one
            for one in self.entries
            if one.item.lot is lot and one.reason in {"over_budget", "covered_by_pulse", "too_large"}
        ]
        if out:
            self.entries = [one for one in self.entries if one not in out]
            others, self.items = self.items, [one.item for one in out]
            self.pick(lot, self.purse.left + self.purse.taken.get(lot.layer, 0))
            self.items = others

    def _best(self, lot: Lot, items: Sequence[Item], room: int, most: int) -> Chosen:
        between = tail.between(self.meter)
        if lot not in _RANKED:
            return best(self.meter, items, room, most, between=between)
        helpful, weak = worth(self.meter, items)
        fresh, twice = distinct(self.meter, helpful, self.told)
        ranked, covered = covered_last(fresh, self.pulse)
        picked = best(self.meter, ranked, room, most, between=between)
        return replace(picked, entries=(*because_covered(picked.entries, covered), *twice, *weak))


def fill(materials: Materials, standing: Standing, profile: Profile, moment: Moment, plan: Plan) -> Filled:
    """Spend the budget once. PromptOverflow when what is required exceeds it."""
    meter = Meter(standing.factors)
    about, hidden = seen(materials.briefing, moment.clearance)
    shown, unseen = seen(materials.tail, moment.clearance)
    fixed = (*opening.config(meter, materials), *opening.moment(meter, materials))
    said = opening.spoken(meter, materials)
    required = _required(meter, materials, plan, fixed, said)
    cause, purse = _briefing_due(meter, materials, standing, profile, moment, plan, required, about)
    items = [] if cause is None else [Lot.DELTAS]
    filling = _Filling(
        meter, profile, purse, [_clean(one) for one in shown if one.lot not in items],
        "\n".join(one.text for one in about if one.lot is Lot.PULSE), _texts(materials.past),
        [*hidden, *unseen, *opening.entries(meter, materials)],
    )  # fmt: skip
    pinned = _pinned(filling, materials, standing, moment, plan, cause, about)
    message = _message(filling, materials, said)
    told, calls = _spend(filling, materials, plan)
    segments = (*fixed, pinned.segment, *history.segments(meter, told), *_tail(filling), *message)
    kept = calls + filling.purse.left + opening.repeated(meter, materials)
    entries = (*filling.entries, *_told(meter, plan, told))
    return Filled(segments, entries, kept, told.lead, pinned, cause, _next(filling, plan, told))


def _required(
    meter: Meter, materials: Materials, plan: Plan, fixed: Sequence[Segment], said: Sequence[Block]
) -> dict[Layer, int]:
    """The tokens of everything that is in whatever happens, but the briefing."""
    notes = sum(opening.refused(meter, one, 99_999, 99_999).tokens for one in materials.attachments)
    tokens = {segment.layer: segment.tokens for segment in fixed}
    tokens[Layer.SUMMARY] = history.lead_size(meter, plan.lead)
    tokens[Layer.MESSAGE] = sum(block.tokens for block in said) + notes
    tokens[Layer.REMINDER] += opening.repeated(meter, materials)
    return tokens


def _briefing_due(
    meter: Meter, materials: Materials, standing: Standing, profile: Profile, moment: Moment, plan: Plan,
    required: dict[Layer, int], about: Sequence[Item],
) -> tuple[Cause | None, Purse]:  # fmt: skip
    """Why the briefing is rendered anew, None when the pinned one stays; and the purse once it is paid for."""
    changes = sum(meter.count(one.text) for one in materials.tail if one.lot is Lot.DELTAS)
    now = Now(
        moment.at, materials.about, moment.versions, moment.clearance, standing.asked, bool(plan.cut),
        moment.reclassified, moment.forgotten, changes,
    )  # fmt: skip
    cause = pins.cause(standing.pinned, now) or ("budget" if plan.tight else None)
    if cause is None and standing.pinned is not None:
        try:
            purse = after_required(profile, {**required, Layer.BRIEFING: standing.pinned.segment.tokens})
        except PromptOverflow:
            cause = "budget"
        else:
            if not purse.is_short:
                return None, purse
            cause = "budget"
    needed = briefing.needed(meter, materials.about, about)
    return cause, in_proportion(after_required(profile, {**required, Layer.BRIEFING: needed}))


def _pinned(
    filling: _Filling, materials: Materials, standing: Standing, moment: Moment, plan: Plan, cause: Cause | None,
    about: Sequence[Item],
) -> Pinned:  # fmt: skip
    """The briefing: the pinned one, or a new one with as much around the record as there is room for."""
    if cause is None and standing.pinned is not None:
        return standing.pinned
    share, ample = filling.profile.share(Layer.BRIEFING), filling.profile.share(Layer.HISTORY)
    room = filling.purse.offer(Layer.BRIEFING, share.floor if plan.tight else share.cap)
    calls = filling.profile.share(Layer.CALLS).cap if materials.tools else 0
    spare = max(0, filling.purse.offer(Layer.BRIEFING, filling.profile.total) - (ample.cap - ample.floor) - calls)
    built = briefing.build(filling.meter, materials.about, about, room, min(room, spare), share.cap)
    filling.purse.take(Layer.BRIEFING, built.segment.tokens - filling.purse.taken.get(Layer.BRIEFING, 0))
    filling.entries += built.entries
    sources = tuple(dict.fromkeys(one.item.source for one in built.entries if one.reason is None))
    return Pinned(built.segment, sources, materials.about, moment.versions, moment.clearance, moment.at)


def _message(filling: _Filling, materials: Materials, said: Sequence[Block]) -> list[Segment]:
    """Layer 11: the user's words, and what was sent with them as far as it fits; what does not is refused by name.

    The words stay as they are in the next turn's history, so that the cache may keep them: unless something that will
    not be there stands before them.
    """
    sent = []
    for item in materials.attachments:
        block = opening.attachment(filling.meter, item)
        room = filling.purse.offer(Layer.MESSAGE, filling.profile.total)
        fits = block.tokens <= room
        if fits:
            filling.purse.take(Layer.MESSAGE, block.tokens)
        sent.append(block if fits else opening.refused(filling.meter, item, block.tokens, room))
        filling.entries.append(Entry(item, block.tokens, None if fits else "too_large"))
    words = Segment(Layer.MESSAGE, "turn" if materials.floating else "append_only", "opening", tuple(said))
    return [words, *([Segment(Layer.MESSAGE, "turn", "opening", tuple(sent))] if sent else [])]


def _spend(filling: _Filling, materials: Materials, plan: Plan) -> tuple[Told, int]:
    """Give every lot its room, in the profile's order; what nobody wanted goes to what is recalled."""
    told, calls = Told(plan.lead, ()), 0
    for lot in filling.profile.fill:
        cap = filling.profile.share(lot.layer).cap
        if lot is Lot.CALLS and materials.tools:
            calls = filling.purse.offer(Layer.CALLS, cap)
            filling.purse.take(Layer.CALLS, calls)
        elif lot is Lot.HISTORY:
            told = history.tell(filling.meter, plan.lead, materials.past, filling.purse.offer(Layer.HISTORY, cap))
            filling.purse.take(Layer.HISTORY, history.size(filling.meter, told.turns))
        elif lot in _IN_TAIL:
            filling.pick(lot, cap)
    filling.purse.release()
    for lot in (Lot.RECALL, Lot.OTHER_SESSIONS):
        filling.refill(lot)
    return told, calls


def _tail(filling: _Filling) -> list[Segment]:
    """Layers 5 to 8, each in the order in which its candidates were given."""
    place = {item.source: number for number, item in enumerate(filling.items)}
    ordered = sorted(filling.chosen, key=lambda one: place.get(one.source, 0))
    out = sum(1 for one in filling.entries if one.item.lot is Lot.DELTAS and one.reason == "over_budget")
    more = [f"(and {out} earlier changes)"] if out else []
    texts = {layer: [one.text for one in ordered if one.lot.layer is layer] for layer in _TAIL_LAYERS}
    texts[Layer.DELTAS] = [*more, *texts[Layer.DELTAS]]
    return [tail.segment(filling.meter, layer, said) for layer, said in texts.items()]


def _told(meter: Meter, plan: Plan, told: Told) -> list[Entry]:
    """Entries for the history: what is verbatim, what a cut took, and what leads it."""
    kept = [Entry(one, meter.count(one.text)) for turn in told.turns for one in _items(turn)]
    cut = [Entry(one, meter.count(one.text), "cut") for turn in plan.cut for one in _items(turn)]
    recap = [
        Item(Lot.SUMMARY, line, Source("sessions", "recap", number)) for number, line in enumerate(told.lead.recap)
    ]
    lead = [*recap, *([told.lead.pasted] if told.lead.pasted else [])]
    return [*cut, *(Entry(one, meter.count(one.text)) for one in lead), *kept]


def _items(turn: PastTurn) -> list[Item]:
    called = [
        Item(Lot.HISTORY, canonical(one), Source("turns", turn.id, place)) for place, one in enumerate(turn.called)
    ]
    return [
        *(Item(Lot.HISTORY, foreign(one.text), one.source) for one in turn.asked),
        *called,
        *(Item(Lot.HISTORY, foreign(one.text), one.source) for one in turn.replied),
    ]


def _next(filling: _Filling, plan: Plan, told: Told) -> Plan | None:
    """Another attempt where history was cut: first with a smaller briefing, if room was all that it lacked."""
    if not told.cut:
        return None
    all_told = (*told.cut, *told.turns)
    is_short = sum(turn.messages for turn in all_told) <= history.MOST_MESSAGES
    fits = history.size(filling.meter, all_told) <= filling.profile.share(Layer.HISTORY).cap
    if is_short and fits and not plan.tight:
        return replace(plan, tight=True)
    return replace(plan, lead=told.lead, cut=(*plan.cut, *told.cut))


def _clean(item: Item) -> Item:
    return replace(item, text=foreign(item.text), shorter=tuple(map(foreign, item.shorter)))


def _texts(past: Sequence[PastTurn]) -> list[str]:
    return [one.text for turn in past for one in (*turn.asked, *turn.replied)]
