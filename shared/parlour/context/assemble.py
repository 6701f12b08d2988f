"""From candidates to prompts: what must be in is measured, the rest gets its share, and what cannot fit is refused.

A turn begins once: `begin` decides what all of its prompts have in common, down to the byte. Every step then adds the
tool calls so far, fitted anew (`Begun.step`). Pure: the same arguments give the same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from parlour.context import cache, calls, choose, fill, history, marks, reminder, stubs, tail
from parlour.context.budget import Profile
from parlour.context.calls import Fitted, Round
from parlour.context.ledger import Entry, Ledger
from parlour.context.materials import Materials, Moment
from parlour.context.pins import Cause
from parlour.context.plan import Plan
from parlour.context.render import Prompt, in_order, render
from parlour.context.segment import Item, Layer, Lot, Segment, Source
from parlour.context.standing import Standing
from parlour.context.stored_text import StoredText
from parlour.context.tokens import Meter
from parlour.infra.errors import PromptOverflow

_SEARCHED = ("documents",)
"""What a result holds that is to be cited."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, where its tokens went, and what the session's next prompt stands on once it was sent.

    cached  tokens that the provider should still have of the prompt before.
    """

    prompt: Prompt
    ledger: Ledger
    standing: Standing
    cached: int = 0

    @property
    def tokens_by_layer(self) -> dict[str, int]:
        """The prompt's tokens, by layer."""
        return self.ledger.tokens_by_layer


@dataclass(frozen=True, slots=True)
class Begun:
    """What all prompts of a turn have in common.

    segments   everything but the turn's calls.
    entries    every candidate.
    calls      tokens that are left for layer 12 and the repeated reminder.
    reminders  the pack's.
    standing   the session's, with this turn's cut and briefing.
    causes     what had the briefing rendered anew, and may have changed what follows it; what is told is the first.
    """

    turn: int
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    calls: int
    reminders: tuple[StoredText, ...]
    standing: Standing
    moment: Moment
    causes: tuple[Cause, ...] = ()

    def step(self, number: int, rounds: Sequence[Round]) -> Assembled:
        """The prompt of step `number`, after these rounds of calls. PromptOverflow when not even one line of each
        result fits any more."""
        meter = Meter(self.standing.factors)
        again = self._repeated(meter, rounds)
        most = tail.segment(meter, Layer.REMINDER, self._said_again(searched=True), "last").tokens if rounds else 0
        fitted = self._fitted(meter, rounds, self.calls - most)
        ordered = tuple(in_order([*self.segments, fitted.segment, again]))
        prints = cache.prints(ordered)
        served = cache.compare(
            self.standing.prints, prints, asked=self.standing.asked, at=self.moment.at,
            same_model=self.moment.model == self.standing.model, causes=self.causes,
        )  # fmt: skip
        cached = [place for place in self.standing.marked if place <= served.blocks]
        marked = marks.choose(ordered, self.standing.pace, number, self.moment.model, cached)
        ledger = Ledger(
            (*self.entries, *_called(rounds, fitted)), ordered, marked, next(iter(self.causes), None), served.miss
        )
        standing = self.standing.after_asking(self.moment.at, self.moment.model, prints, marked)
        kept = sum(one.tokens for one in prints[: max(cached, default=0)])
        return Assembled(render(ordered, marked), ledger, standing, kept)

    def after(self, asked: Standing) -> "Begun":
        """The turn after one of its prompts was sent: the next is held against that one."""
        return replace(self, standing=asked, causes=())

    def _fitted(self, meter: Meter, rounds: Sequence[Round], room: int) -> Fitted:
        """The rounds in their room; where not even the asking fits, the oldest as history would tell them."""
        fitted = calls.fit(meter, rounds, room)
        if fitted.segment.tokens > room:
            fitted = calls.fit(meter, stubs.shrunk(rounds), room)
            oldest = [(number, call) for number, one in enumerate(rounds[:-1]) for call, _ in one.results]
            fitted = replace(fitted, shortened=(*oldest, *(one for one in fitted.shortened if one not in oldest)))
        if fitted.segment.tokens > room:
            raise PromptOverflow("calls", fitted.segment.tokens, room)
        return fitted

    def _repeated(self, meter: Meter, rounds: Sequence[Round]) -> Segment:
        searched = any(key in result for one in rounds for _, result in one.results for key in _SEARCHED)
        said = self._said_again(searched=searched) if rounds else ()
        return tail.segment(meter, Layer.REMINDER, said, "last")

    def _said_again(self, *, searched: bool) -> tuple[str, ...]:
        return reminder.repeated(self.turn, self.reminders, searched=searched)


def begin(materials: Materials, standing: Standing, profile: Profile, moment: Moment) -> Begun:
    """Decide what the turn's prompts have in common.

    Tools, tiers, Pulse and record, the recap, heartbeat, reminder and the user's words are required: PromptOverflow
    names the layer when they alone exceed the budget. Everything else gets its floor, then its cap, in the profile's
    order; the history is cut where the rules say so, and the briefing is rendered anew where it is due.
    """
    standing = standing.beginning(moment.at)
    plan = Plan(lead=standing.lead)
    while True:
        try:
            filled = fill.fill(materials, standing, profile, moment, plan)
        except PromptOverflow:
            if not plan.gives_way:
                raise
            plan = plan.shorter()
            continue
        if filled.next_plan is None:
            return _begun(materials, standing, moment, filled)
        plan = filled.next_plan


def is_due(materials: Materials, standing: Standing, moment: Moment) -> bool:
    """Whether the briefing is rendered anew, whatever the budget says: what it may tell of is to be known then."""
    shown, _ = choose.seen(materials.tail, moment.clearance)
    changes = [one for one in shown if one.lot is Lot.DELTAS]
    standing = standing.beginning(moment.at)
    return bool(fill.due(Meter(standing.factors), materials, standing, moment, changes, was_cut=False))


def _begun(materials: Materials, standing: Standing, moment: Moment, filled: fill.Filled) -> Begun:
    withheld = tuple(sorted(history.withheld(materials.past)))
    fixed = replace(standing, lead=filled.lead, pinned=filled.pinned, withheld=withheld)
    return Begun(
        materials.turn, filled.segments, filled.entries, filled.calls, tuple(materials.reminders), fixed, moment,
        filled.causes,
    )  # fmt: skip


def _called(rounds: Sequence[Round], fitted: Fitted) -> tuple[Entry, ...]:
    """An entry for every result, by the model's own id of the call."""
    blocks = [block for block in fitted.segment.blocks if block.role == "user"]
    keys = [(number, call) for number, one in enumerate(rounds) for call, _ in one.results]
    return tuple(
        Entry(
            Item(Lot.CALLS, block.pieces[0], Source("tool_calls", key[1])), block.tokens, None, key in fitted.shortened
        )
        for key, block in zip(keys, blocks, strict=True)
    )
