"""Who gets how much of one turn's budget: what is required, then floors, then caps, in the profile's order. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from parlour.infra.errors import PromptOverflow
from parlour.prompts.assembly import briefing, briefing_cache, compaction, history, required_segments, tail
from parlour.prompts.assembly.allocation_plan import AllocationPlan, history_entries
from parlour.prompts.assembly.briefing_cache import BriefingConditions, CachedBriefing, RefreshCause
from parlour.prompts.assembly.budget import BudgetProfile, RemainingBudget, budget_after_required, shrink_floors
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import CompactedHistory
from parlour.prompts.assembly.history import HistorySelection
from parlour.prompts.assembly.ledger_entries import LedgerEntry, OmissionReason
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import Message
from parlour.prompts.assembly.segment import Item, Layer, Segment, SourceKind, escape_untrusted
from parlour.prompts.assembly.selection import (
    Selection,
    deduplicate,
    filter_by_clearance,
    filter_by_score,
    find_covered_by_pulse,
    mark_covered_by_pulse,
    select_best,
)
from parlour.text.token_counter import TokenCounter

_SCORED_KINDS = (SourceKind.RECALL, SourceKind.OTHER_SESSIONS, SourceKind.EPISODES)
"""Lots whose scores say how much they are to the point."""

_TAIL_KINDS = (*_SCORED_KINDS, SourceKind.FACTS, SourceKind.DELTAS, SourceKind.STATE)
_TAIL_LAYERS = (Layer.RECALL, Layer.MEMORY, Layer.DELTAS, Layer.STATE)


@dataclass(frozen=True, slots=True)
class AllocationResult:
    """The result of one attempt to share the budget. `next_plan` is set when something gave way and another attempt is
    due.

    calls_tokens  tokens left for layer 12 and for repeating the reminder.
    """

    segments: tuple[Segment, ...]
    entries: tuple[LedgerEntry, ...]
    calls_tokens: int
    compacted_history: CompactedHistory
    cached_briefing: CachedBriefing
    refresh_causes: tuple[RefreshCause, ...]
    next_plan: AllocationPlan | None


@dataclass(slots=True)
class Allocation:
    """A budget in use: the tokens that remain, and the candidates that are in or out so far.

    verbatim_messages  messages that the prompt holds word for word.
    history_selection  the history; only the compacted history until turns are selected.
    has_omission_line  there is room for a line that counts the omitted changes.
    shown_attachments  attachments of this turn's message that are in the prompt.
    calls_tokens       tokens reserved for the turn's tool calls.
    """

    counter: TokenCounter
    profile: BudgetProfile
    budget: RemainingBudget
    items: Sequence[Item]
    pulse_text: str
    verbatim_messages: Sequence[Message]
    history_selection: HistorySelection
    entries: list[LedgerEntry] = field(default_factory=list)
    selected_items: list[Item] = field(default_factory=list)
    has_omission_line: bool = False
    shown_attachments: list[Item] = field(default_factory=list)
    calls_tokens: int = 0

    def allocate_kind(self, lot: SourceKind, cap: int) -> None:
        """Select the best items of a source kind, in the tokens that its layer may still use of `cap`."""
        mine = [item for item in self.items if item.kind is lot]
        if not mine:
            return
        layer = lot.layer
        frame = 0 if self.budget.used_tokens.get(layer) else tail.wrapping_tokens(self.counter, layer)
        counted = tail.omission_line_tokens(self.counter, len(mine)) if lot is SourceKind.DELTAS else 0
        offer = self.budget.available_tokens(layer, cap)
        picked = self._select(lot, mine, offer - frame - counted, cap - frame - counted)
        self.entries += picked.entries
        self.selected_items += picked.items
        self.has_omission_line = self.has_omission_line or 0 < counted <= offer - frame
        if picked.items or (counted and self.has_omission_line):
            self.budget.spend(layer, picked.tokens + frame + counted)

    def retry_kind(self, lot: SourceKind) -> None:
        """Offer the unused tokens to those items of a source kind that had no room."""
        out = [
            one
            for one in self.entries
            if one.item.kind is lot and one.reason in {"over_budget", "covered_by_pulse", "too_large"}
        ]
        if out:
            self.entries = [one for one in self.entries if one not in out]
            others, self.items = self.items, [one.item for one in out]
            self.allocate_kind(lot, self.budget.tokens_left + self.budget.used_tokens.get(lot.layer, 0))
            self.items = others

    def _select(self, lot: SourceKind, items: Sequence[Item], room: int, most: int) -> Selection:
        between = tail.separator_tokens(self.counter)
        if lot not in _SCORED_KINDS:
            return select_best(self.counter, items, room, most, separator_tokens=between)
        helpful, weak = filter_by_score(self.counter, items)
        told = [*(one.text for one in self.verbatim_messages), *(one.text for one in self.selected_items)]
        fresh, twice = deduplicate(self.counter, helpful, told, {one.source for one in self.verbatim_messages})
        last = find_covered_by_pulse(fresh, self.pulse_text)
        picked = select_best(self.counter, fresh, room, most, separator_tokens=between, ranked_last=last)
        return replace(picked, entries=(*mark_covered_by_pulse(picked.entries, last), *twice, *weak))


def allocate(
    materials: PromptMaterials,
    cache_state: PromptCacheState,
    profile: BudgetProfile,
    context: AssemblyContext,
    plan: AllocationPlan,
) -> AllocationResult:
    """Allocate the budget: first the required parts, then each source kind in the profile's order.

    Recalled items get the tokens that are left over.

    Raises PromptOverflow when the required parts exceed the budget.
    """
    meter = TokenCounter(cache_state.token_factors)
    about, hidden = filter_by_clearance(materials.briefing_candidates, context.clearance)
    shown, unseen = filter_by_clearance(materials.tail_candidates, context.clearance)
    fixed = (
        *required_segments.config_segments(meter, materials),
        *required_segments.metadata_segments(meter, materials),
    )
    said = (
        *required_segments.floating_instructions_block(meter, materials),
        *required_segments.user_blocks(meter, materials),
    )
    notes = sum(history.refused_attachment_block(meter, one).tokens for one in materials.attachments)
    tokens = {segment.layer: segment.tokens for segment in fixed}
    tokens[Layer.SUMMARY] = compaction.compacted_tokens(meter, plan.compacted_history)
    tokens[Layer.MESSAGE] = sum(block.tokens for block in said) + notes
    tokens[Layer.REMINDER] += required_segments.repeated_reminder_tokens(meter, materials)
    required = tokens
    changes = [one for one in shown if one.kind is SourceKind.DELTAS]
    causes = find_refresh_causes(meter, materials, cache_state, context, changes, is_compacted=bool(plan.cut_turns))
    if not causes and (plan.is_briefing_at_floor or plan.dropped_items):
        causes = ("budget",)
    needed = briefing.required_tokens(meter, materials.record_handle, about)
    causes, purse = _check_briefing_budget(profile, cache_state, plan, required, needed, causes)
    anew = [LedgerEntry(one, meter.count(one.text), "duplicate") for one in changes] if causes else []
    filling = Allocation(
        meter,
        profile,
        purse,
        [_escape_item(one) for one in shown if not causes or one.kind is not SourceKind.DELTAS],
        pulse_text="\n".join(one.text for one in about if one.kind is SourceKind.PULSE),
        verbatim_messages=_verbatim_messages(materials, plan),
        history_selection=HistorySelection(plan.compacted_history),
        entries=[*anew, *required_segments.required_entries(meter, materials)],
    )
    pinned = _render_or_reuse_briefing(filling, materials, cache_state, context, plan, causes, about)
    message = _message_segment(filling, materials)
    _allocate_kinds(filling, materials, plan)
    filling.budget.release_floors()
    for lot in (SourceKind.RECALL, SourceKind.OTHER_SESSIONS):
        filling.retry_kind(lot)
    told = filling.history_selection
    segments = (*fixed, pinned.segment, *history.history_segments(meter, told), *_tail_segments(filling), message)
    kept = (
        filling.calls_tokens + filling.budget.tokens_left + required_segments.repeated_reminder_tokens(meter, materials)
    )
    withheld = (*hidden, *unseen) if causes else unseen
    entries = (*withheld, *filling.entries, *history_entries(meter, cache_state.compacted_history, plan, told))
    following = _next_plan(filling, materials, plan, told, causes)
    return AllocationResult(segments, entries, kept, told.compacted_history, pinned, causes, following)


def _check_briefing_budget(
    profile: BudgetProfile,
    cache_state: PromptCacheState,
    plan: AllocationPlan,
    required: dict[Layer, int],
    needed: int,
    causes: tuple[RefreshCause, ...],
) -> tuple[tuple[RefreshCause, ...], RemainingBudget]:
    """Return why the briefing is rendered again, and the budget that is left after it.

    `needed` is what a new briefing takes at least. Without a cause the cached briefing stays, unless it leaves other
    layers below their floors: then the cause is the budget.
    """
    pinned = cache_state.cached_briefing.segment.tokens if cache_state.cached_briefing else needed
    if not causes:
        try:
            purse = budget_after_required(profile, {**required, Layer.BRIEFING: pinned})
        except PromptOverflow:
            if needed >= pinned:
                raise
        else:
            if needed >= pinned or not purse.is_below_floors:
                return (), _with_reachable_floors(purse, plan, required)
    purse = budget_after_required(profile, {**required, Layer.BRIEFING: needed})
    return causes or ("budget",), _with_reachable_floors(purse, plan, required)


def find_refresh_causes(
    counter: TokenCounter,
    materials: PromptMaterials,
    cache_state: PromptCacheState,
    context: AssemblyContext,
    changes: Sequence[Item],
    *,
    is_compacted: bool,
) -> tuple[RefreshCause, ...]:
    """Return why the briefing must be rendered again, as far as the causes do not depend on the budget."""
    now = BriefingConditions(
        context.at,
        materials.record_handle,
        context.persona_versions,
        context.clearance,
        cache_state.last_asked_at,
        is_compacted,
        context.has_restricted_source,
        context.has_erased_source,
        sum(counter.count(one.text) for one in changes),
    )
    return briefing_cache.refresh_causes(cache_state.cached_briefing, now)


def _with_reachable_floors(
    budget: RemainingBudget, plan: AllocationPlan, required: dict[Layer, int]
) -> RemainingBudget:
    """Return the budget with floors that fit.

    Raises PromptOverflow when floors do not fit and a pasted text can be dropped first.
    """
    if budget.is_below_floors and plan.compacted_history.pasted_text:
        raise PromptOverflow(Layer.SUMMARY.name.lower(), required[Layer.SUMMARY], budget.tokens_left)
    return shrink_floors(budget)


def _render_or_reuse_briefing(
    filling: Allocation,
    materials: PromptMaterials,
    cache_state: PromptCacheState,
    context: AssemblyContext,
    plan: AllocationPlan,
    refresh_causes: Sequence[RefreshCause],
    about: Sequence[Item],
) -> CachedBriefing:
    """Return the cached briefing, or where there is a cause a new one with as many optional items as have room."""
    if not refresh_causes and cache_state.cached_briefing is not None:
        filling.entries += briefing.entries_of_cached(cache_state.cached_briefing)
        return cache_state.cached_briefing
    share, ample = filling.profile.limits_of(Layer.BRIEFING), filling.profile.limits_of(Layer.HISTORY)
    room = filling.budget.available_tokens(Layer.BRIEFING, share.floor if plan.is_briefing_at_floor else share.cap)
    calls = filling.profile.limits_of(Layer.CALLS).cap if materials.tools else 0
    spare = max(
        0,
        filling.budget.available_tokens(Layer.BRIEFING, filling.profile.total_tokens)
        - (ample.cap - ample.floor)
        - calls,
    )
    built = briefing.render_briefing(filling.counter, materials.record_handle, about, room, min(room, spare), share.cap)
    if cache_state.cached_briefing and set(refresh_causes) <= {"compaction", "age"}:
        most = room + filling.budget.used_tokens[Layer.BRIEFING]
        built = briefing.keep_if_equivalent(filling.counter, built, cache_state.cached_briefing.segment, most)
    filling.budget.spend(Layer.BRIEFING, built.segment.tokens - filling.budget.used_tokens.get(Layer.BRIEFING, 0))
    filling.entries += built.entries
    told = [one.item for one in built.entries if one.reason is None]
    sources = tuple(dict.fromkeys(source for one in told for source in (one.source, *one.further_sources)))
    return CachedBriefing(
        built.segment,
        sources,
        materials.record_handle,
        context.persona_versions,
        context.clearance,
        context.at,
        briefing.cached_entries(built),
    )


def _message_segment(filling: Allocation, materials: PromptMaterials) -> Segment:
    """Render layer 11: the attachments and then the user's message. An attachment without room is refused by name.

    The next turn's history repeats these bytes, so the cache can keep them, unless floating instructions precede them.
    """
    blocks = list(required_segments.floating_instructions_block(filling.counter, materials))
    for item in materials.attachments:
        block = history.attachment_block(filling.counter, item)
        room = filling.budget.available_tokens(Layer.MESSAGE, filling.profile.total_tokens)
        fits = (
            block.tokens <= room
            and history.image_bytes((), item, *filling.shown_attachments) <= history.MAX_IMAGE_BYTES
        )
        if fits:
            filling.shown_attachments.append(item)
            filling.budget.spend(Layer.MESSAGE, block.tokens)
        blocks.append(block if fits else history.refused_attachment_block(filling.counter, item))
        reason: OmissionReason | None = None if fits else "too_large"
        if not item.text:
            reason = "unreadable"
        filling.entries.append(LedgerEntry(history.as_recorded_attachment(item), block.tokens, reason))
    blocks += required_segments.user_blocks(filling.counter, materials)
    return Segment(
        Layer.MESSAGE, "turn" if materials.floating_instructions else "append_only", "opening", tuple(blocks)
    )


def _allocate_kinds(filling: Allocation, materials: PromptMaterials, plan: AllocationPlan) -> None:
    """Allocate tokens to each source kind, in the profile's order."""
    for lot in filling.profile.allocation_order:
        cap = filling.profile.limits_of(lot.layer).cap
        if lot is SourceKind.CALLS and materials.tools:
            filling.calls_tokens = filling.budget.available_tokens(Layer.CALLS, cap)
            filling.budget.spend(Layer.CALLS, filling.calls_tokens)
        elif lot is SourceKind.HISTORY:
            room = filling.budget.available_tokens(Layer.HISTORY, cap)
            left = history.MAX_IMAGE_BYTES - history.image_bytes((), *filling.shown_attachments)
            given = plan.compaction_input(materials, filling.profile)
            told = history.select_history(
                filling.counter,
                plan.compacted_history,
                materials.past_turns,
                room,
                materials.user_messages,
                left,
                given,
            )
            filling.budget.spend(Layer.HISTORY, told.tokens)
            filling.history_selection = told
        elif lot in _TAIL_KINDS:
            filling.allocate_kind(lot, cap)


def _tail_segments(filling: Allocation) -> list[Segment]:
    """Render layers 5 to 8, each in the order of its candidates."""
    place = {item.source: number for number, item in enumerate(filling.items)}
    ordered = sorted(filling.selected_items, key=lambda one: place.get(one.source, 0))
    out = sum(
        one.item.kind is SourceKind.DELTAS and one.reason in {"over_budget", "too_large"} for one in filling.entries
    )
    more = [tail.omission_line(out)] if out and filling.has_omission_line else []
    texts = {layer: [one.text for one in ordered if one.kind.layer is layer] for layer in _TAIL_LAYERS}
    texts[Layer.DELTAS] = [*more, *texts[Layer.DELTAS]]
    return [tail.tail_segment(filling.counter, layer, said) for layer, said in texts.items()]


def _next_plan(
    filling: Allocation,
    materials: PromptMaterials,
    plan: AllocationPlan,
    told: HistorySelection,
    refresh_causes: Sequence[RefreshCause],
) -> AllocationPlan | None:
    """Plan another attempt where history was cut.

    If only room was missing and the briefing is rendered again anyway, a smaller briefing is tried first. A cached
    briefing is kept: its cache is worth more than the text of a few turns.
    """
    if not told.cut_turns:
        return None
    all_told = (*told.cut_turns, *told.verbatim_turns)
    cap = filling.profile.limits_of(Layer.HISTORY).cap
    is_short = not history.has_too_many_messages(
        filling.counter, all_told, cap, plan.compaction_input(materials, filling.profile)
    )
    fits = history.history_tokens(filling.counter, all_told) <= cap
    fits = fits and history.image_bytes(all_told, *filling.shown_attachments) <= history.MAX_IMAGE_BYTES
    if is_short and fits and refresh_causes and not plan.is_briefing_at_floor:
        return replace(plan, is_briefing_at_floor=True)
    return replace(
        plan,
        compacted_history=told.compacted_history,
        cut_turns=(*plan.cut_turns, *told.cut_turns),
        omitted_entries=told.omitted_entries,
        is_briefing_at_floor=False,
    )


def _escape_item(item: Item) -> Item:
    return replace(
        item, text=escape_untrusted(item.text), shorter_texts=tuple(map(escape_untrusted, item.shorter_texts))
    )


def _verbatim_messages(materials: PromptMaterials, plan: AllocationPlan) -> list[Message]:
    """Return the messages that the prompt holds word for word, so that recall does not repeat them."""
    kept = [turn for turn in materials.past_turns if turn.number >= plan.compacted_history.since_turn]
    return [*materials.user_messages, *(one for turn in kept for one in (*turn.user_messages, *turn.replies))]
