"""Who gets how much of one turn's budget: what is required, then floors, then caps, in the profile's order. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from parlour.context import briefing, history, lead, opening, pins, tail
from parlour.context.budget import Profile, Purse, after_required, in_proportion
from parlour.context.choose import Chosen, because_covered, best, covered, distinct, seen, worth
from parlour.context.history import Told
from parlour.context.lead import Lead
from parlour.context.ledger import Entry, Reason
from parlour.context.materials import Materials, Moment
from parlour.context.past import Message
from parlour.context.pins import Cause, Now, Pinned
from parlour.context.plan import Plan, told_of
from parlour.context.segment import Block, Item, Layer, Lot, Segment, foreign
from parlour.context.standing import Standing
from parlour.context.tokens import Meter
from parlour.infra.errors import PromptOverflow

_RANKED = (Lot.RECALL, Lot.OTHER_SESSIONS, Lot.EPISODES)
"""Lots whose scores say how much they are to the point."""

_IN_TAIL = (*_RANKED, Lot.FACTS, Lot.DELTAS, Lot.STATE)
_TAIL_LAYERS = (Layer.RECALL, Layer.MEMORY, Layer.DELTAS, Layer.STATE)


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
    causes: tuple[Cause, ...]
    next_plan: Plan | None


@dataclass(slots=True)
class Filling:
    """A budget being spent: the purse, and what was put in or left out so far.

    told    messages that stand in the prompt word for word.
    counts  there is room for a line that counts the changes that are left out.
    shown   what was sent with this turn's words and is in the prompt.
    calls   what was set aside for the turn's calls; history: what is told of it, its lead alone until it had its turn.
    """

    meter: Meter
    profile: Profile
    purse: Purse
    items: Sequence[Item]
    pulse: str
    told: Sequence[Message]
    history: Told
    entries: list[Entry] = field(default_factory=list)
    chosen: list[Item] = field(default_factory=list)
    counts: bool = False
    shown: list[Item] = field(default_factory=list)
    calls: int = 0

    def pick(self, lot: Lot, cap: int) -> None:
        """The best items of a lot, in what its layer may still take of `cap`."""
        mine = [item for item in self.items if item.lot is lot]
        if not mine:
            return
        layer = lot.layer
        frame = 0 if self.purse.taken.get(layer) else tail.frame(self.meter, layer)
        counted = tail.counted(self.meter, len(mine)) if lot is Lot.DELTAS else 0
        offer = self.purse.offer(layer, cap)
        picked = self._best(lot, mine, offer - frame - counted, cap - frame - counted)
        self.entries += picked.entries
        self.chosen += picked.items
        self.counts = self.counts or 0 < counted <= offer - frame
        if picked.items or (counted and self.counts):
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
        told = [*(one.text for one in self.told), *(one.text for one in self.chosen)]
        fresh, twice = distinct(self.meter, helpful, told, {one.source for one in self.told})
        last = covered(fresh, self.pulse)
        picked = best(self.meter, fresh, room, most, between=between, last=last)
        return replace(picked, entries=(*because_covered(picked.entries, last), *twice, *weak))


def fill(materials: Materials, standing: Standing, profile: Profile, moment: Moment, plan: Plan) -> Filled:
    """Allocate the budget: first what is required, then each lot's share in the profile's order; what is left over goes
    to what was recalled. Raises PromptOverflow when what is required exceeds the budget."""
    meter = Meter(standing.factors)
    about, hidden = seen(materials.briefing, moment.clearance)
    shown, unseen = seen(materials.tail, moment.clearance)
    fixed = (*opening.config(meter, materials), *opening.moment(meter, materials))
    said = (*opening.floating(meter, materials), *opening.spoken(meter, materials))
    required = _required(meter, materials, plan, fixed, said)
    changes = [one for one in shown if one.lot is Lot.DELTAS]
    causes, purse = _briefing_due(meter, materials, standing, profile, moment, plan, required, about, changes)
    anew = [Entry(one, meter.count(one.text), "duplicate") for one in changes] if causes else []
    filling = Filling(
        meter,
        profile,
        purse,
        _items(shown, causes),
        pulse="\n".join(one.text for one in about if one.lot is Lot.PULSE),
        told=_verbatim(materials, plan),
        history=Told(plan.lead),
        entries=[*anew, *opening.entries(meter, materials)],
    )
    pinned = _pinned(filling, materials, standing, moment, plan, causes, about)
    message = _message(filling, materials)
    _spend(filling, materials, plan)
    filling.purse.release()
    for lot in (Lot.RECALL, Lot.OTHER_SESSIONS):
        filling.refill(lot)
    told = filling.history
    segments = (*fixed, pinned.segment, *history.segments(meter, told), *_tail(filling), message)
    kept = filling.calls + filling.purse.left + opening.repeated(meter, materials)
    withheld = (*hidden, *unseen) if causes else unseen
    entries = (*withheld, *filling.entries, *told_of(meter, standing.lead, plan, told))
    following = _next(filling, materials, plan, told, causes)
    return Filled(segments, entries, kept, told.lead, pinned, causes, following)


def _required(
    meter: Meter, materials: Materials, plan: Plan, fixed: Sequence[Segment], said: Sequence[Block]
) -> dict[Layer, int]:
    """The tokens of everything that is in whatever happens, but the briefing."""
    notes = sum(history.refused(meter, one).tokens for one in materials.attachments)
    tokens = {segment.layer: segment.tokens for segment in fixed}
    tokens[Layer.SUMMARY] = lead.size(meter, plan.lead)
    tokens[Layer.MESSAGE] = sum(block.tokens for block in said) + notes
    tokens[Layer.REMINDER] += opening.repeated(meter, materials)
    return tokens


def _briefing_due(
    meter: Meter, materials: Materials, standing: Standing, profile: Profile, moment: Moment, plan: Plan,
    required: dict[Layer, int], about: Sequence[Item], changes: Sequence[Item],
) -> tuple[tuple[Cause, ...], Purse]:  # fmt: skip
    """Why the briefing is rendered anew, nothing when the pinned one stays; and the purse once it is paid for."""
    known = due(meter, materials, standing, moment, changes, was_cut=bool(plan.cut))
    causes = known or (("budget",) if plan.tight or plan.lost else ())
    needed = briefing.needed(meter, materials.about, about)
    pinned = standing.pinned.segment.tokens if standing.pinned else needed
    if not causes:
        try:
            purse = after_required(profile, {**required, Layer.BRIEFING: pinned})
        except PromptOverflow:
            if needed >= pinned:
                raise
        else:
            if needed >= pinned or not purse.is_short:
                return (), _kept(purse, plan, required)
    purse = after_required(profile, {**required, Layer.BRIEFING: needed})
    return causes or ("budget",), _kept(purse, plan, required)


def due(
    meter: Meter, materials: Materials, standing: Standing, moment: Moment, changes: Sequence[Item], *, was_cut: bool
) -> tuple[Cause, ...]:  # fmt: skip
    """Why the briefing is rendered anew, as far as that is known before the budget is spent."""
    now = Now(
        moment.at, materials.about, moment.versions, moment.clearance, standing.asked, was_cut, moment.reclassified,
        moment.forgotten, sum(meter.count(one.text) for one in changes),
    )  # fmt: skip
    return pins.causes(standing.pinned, now)


def _kept(purse: Purse, plan: Plan, required: dict[Layer, int]) -> Purse:
    """The purse with promises that can be kept. Before any is broken, a long text that the talk is about gives way."""
    if purse.is_short and plan.lead.pasted:
        raise PromptOverflow(Layer.SUMMARY.name.lower(), required[Layer.SUMMARY], purse.left)
    return in_proportion(purse)


def _pinned(
    filling: Filling, materials: Materials, standing: Standing, moment: Moment, plan: Plan,
    causes: Sequence[Cause], about: Sequence[Item],
) -> Pinned:  # fmt: skip
    """The briefing: the pinned one, or a new one with as much around the record as there is room for."""
    if not causes and standing.pinned is not None:
        filling.entries += briefing.told(standing.pinned)
        return standing.pinned
    share, ample = filling.profile.share(Layer.BRIEFING), filling.profile.share(Layer.HISTORY)
    room = filling.purse.offer(Layer.BRIEFING, share.floor if plan.tight else share.cap)
    calls = filling.profile.share(Layer.CALLS).cap if materials.tools else 0
    spare = max(0, filling.purse.offer(Layer.BRIEFING, filling.profile.total) - (ample.cap - ample.floor) - calls)
    built = briefing.build(filling.meter, materials.about, about, room, min(room, spare), share.cap)
    if standing.pinned and set(causes) <= {"cut", "age"}:
        most = room + filling.purse.taken[Layer.BRIEFING]
        built = briefing.unless_changed(filling.meter, built, standing.pinned.segment, most)
    filling.purse.take(Layer.BRIEFING, built.segment.tokens - filling.purse.taken.get(Layer.BRIEFING, 0))
    filling.entries += built.entries
    told = [one.item for one in built.entries if one.reason is None]
    sources = tuple(dict.fromkeys(source for one in told for source in (one.source, *one.also)))
    return Pinned(
        built.segment, sources, materials.about, moment.versions, moment.clearance, moment.at, briefing.held(built)
    )  # fmt: skip


def _message(filling: Filling, materials: Materials) -> Segment:
    """Layer 11: the user's words after what was sent with them, as far as it fits; what does not is refused by name.

    All of it stays as it is in the next turn's history, so that the cache may keep it: unless something that will not
    be there stands before it.
    """
    blocks = list(opening.floating(filling.meter, materials))
    for item in materials.attachments:
        block = history.attachment(filling.meter, item)
        room = filling.purse.offer(Layer.MESSAGE, filling.profile.total)
        fits = block.tokens <= room and history.pictured((), item, *filling.shown) <= history.MOST_PICTURED
        if fits:
            filling.shown.append(item)
            filling.purse.take(Layer.MESSAGE, block.tokens)
        blocks.append(block if fits else history.refused(filling.meter, item))
        filling.entries.append(Entry(history.recorded(item), block.tokens, _why_not(item, fits=fits)))
    blocks += opening.spoken(filling.meter, materials)
    return Segment(Layer.MESSAGE, "turn" if materials.floating else "append_only", "opening", tuple(blocks))


def _why_not(item: Item, *, fits: bool) -> Reason | None:
    """Why an attachment is told by its name alone."""
    if not item.text:
        return "unreadable"
    return None if fits else "too_large"


def _spend(filling: Filling, materials: Materials, plan: Plan) -> None:
    """Give every lot its room, in the profile's order."""
    for lot in filling.profile.fill:
        cap = filling.profile.share(lot.layer).cap
        if lot is Lot.CALLS and materials.tools:
            filling.calls = filling.purse.offer(Layer.CALLS, cap)
            filling.purse.take(Layer.CALLS, filling.calls)
        elif lot is Lot.HISTORY:
            room = filling.purse.offer(Layer.HISTORY, cap)
            left = history.MOST_PICTURED - history.pictured((), *filling.shown)
            given = plan.stand_in(materials, filling.profile)
            told = history.tell(filling.meter, plan.lead, materials.past, room, materials.words, left, given)
            filling.purse.take(Layer.HISTORY, told.tokens)
            filling.history = told
        elif lot in _IN_TAIL:
            filling.pick(lot, cap)


def _tail(filling: Filling) -> list[Segment]:
    """Layers 5 to 8, each in the order in which its candidates were given."""
    place = {item.source: number for number, item in enumerate(filling.items)}
    ordered = sorted(filling.chosen, key=lambda one: place.get(one.source, 0))
    out = sum(one.item.lot is Lot.DELTAS and one.reason in {"over_budget", "too_large"} for one in filling.entries)
    more = [tail.more(out)] if out and filling.counts else []
    texts = {layer: [one.text for one in ordered if one.lot.layer is layer] for layer in _TAIL_LAYERS}
    texts[Layer.DELTAS] = [*more, *texts[Layer.DELTAS]]
    return [tail.segment(filling.meter, layer, said) for layer, said in texts.items()]


def _next(
    filling: Filling, materials: Materials, plan: Plan, told: Told, causes: Sequence[Cause]
) -> Plan | None:  # fmt: skip
    """Another attempt where history was cut: first with a smaller briefing, if room was all that it lacked and the
    briefing is rendered anew in any case. One that the cache has is worth more than the words of a few turns."""
    if not told.cut:
        return None
    all_told = (*told.cut, *told.turns)
    cap = filling.profile.share(Layer.HISTORY).cap
    is_short = not history.is_long(filling.meter, all_told, cap, plan.stand_in(materials, filling.profile))
    fits = history.size(filling.meter, all_told) <= cap
    fits = fits and history.pictured(all_told, *filling.shown) <= history.MOST_PICTURED
    if is_short and fits and causes and not plan.tight:
        return replace(plan, tight=True)
    return replace(plan, lead=told.lead, cut=(*plan.cut, *told.cut), out=told.out, tight=False)


def _items(shown: Sequence[Item], causes: Sequence[Cause]) -> list[Item]:
    """Candidates of the tail: no changes beside a briefing that is rendered anew and tells of them."""
    return [_clean(one) for one in shown if not causes or one.lot is not Lot.DELTAS]


def _clean(item: Item) -> Item:
    return replace(item, text=foreign(item.text), shorter=tuple(map(foreign, item.shorter)))


def _verbatim(materials: Materials, plan: Plan) -> list[Message]:
    """What is said word for word: nothing of it is recalled besides."""
    kept = [turn for turn in materials.past if turn.number >= plan.lead.since]
    return [*materials.words, *(one for turn in kept for one in (*turn.asked, *turn.replied))]
