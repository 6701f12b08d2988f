"""From candidates to prompts: what must be in is measured, the rest gets its share, and what cannot fit is refused.

A turn begins once: `begin` decides what all of its prompts have in common, down to the byte. Every step then adds the
tool calls so far, fitted anew (`Begun.step`). Pure: the same arguments give the same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from parlour.infra.errors import PromptOverflow
from parlour.prompts.assembly import allocation, cache_hits, call_stubs, history, reminder, selection, tail, tool_rounds
from parlour.prompts.assembly.allocation_plan import AllocationPlan
from parlour.prompts.assembly.breakpoints import choose_cache_breakpoints
from parlour.prompts.assembly.briefing_cache import RefreshCause
from parlour.prompts.assembly.budget import BudgetProfile
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.ledger_entries import LedgerEntry, PromptLedger
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.rendering import Prompt, render_prompt, sort_segments
from parlour.prompts.assembly.segment import Item, Layer, Segment, Source, SourceKind
from parlour.prompts.assembly.stored_text import StoredText
from parlour.prompts.assembly.tool_rounds import FittedRounds, ToolRound
from parlour.text.token_counter import TokenCounter

_CITABLE_KEYS = ("documents",)
"""What a result holds that is to be cited."""


@dataclass(frozen=True, slots=True)
class AssembledPrompt:
    """A prompt, where its tokens went, and what the session's next prompt stands on once it was sent.

    cached  tokens that the provider should still have of the prompt before.
    """

    prompt: Prompt
    ledger: PromptLedger
    cache_state: PromptCacheState
    cached_tokens: int = 0

    @property
    def tokens_by_layer(self) -> dict[str, int]:
        """The prompt's tokens, by layer."""
        return self.ledger.tokens_by_layer


@dataclass(frozen=True, slots=True)
class PreparedTurn:
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
    entries: tuple[LedgerEntry, ...]
    calls_tokens: int
    reminders: tuple[StoredText, ...]
    cache_state: PromptCacheState
    context: AssemblyContext
    refresh_causes: tuple[RefreshCause, ...] = ()

    def assemble_step(self, number: int, rounds: Sequence[ToolRound]) -> AssembledPrompt:
        """The prompt of step `number`, after these rounds of calls. PromptOverflow when not even one line of each
        result fits any more."""
        meter = TokenCounter(self.cache_state.token_factors)
        searched = any(key in result for one in rounds for _, result in one.results for key in _CITABLE_KEYS)
        said = self._reminder_texts(searched=searched) if rounds else ()
        again = tail.tail_segment(meter, Layer.REMINDER, said, "last")
        most = (
            tail.tail_segment(meter, Layer.REMINDER, self._reminder_texts(searched=True), "last").tokens
            if rounds
            else 0
        )
        fitted = self._fit_rounds(meter, rounds, self.calls_tokens - most)
        ordered = tuple(sort_segments([*self.segments, fitted.segment, again]))
        prints = cache_hits.fingerprint_blocks(ordered)
        served = cache_hits.compare_prompts(
            self.cache_state.fingerprints,
            prints,
            last_asked_at=self.cache_state.last_asked_at,
            at=self.context.at,
            is_same_model=self.context.model == self.cache_state.model,
            refresh_causes=self.refresh_causes,
        )
        cached = [place for place in self.cache_state.breakpoints if place <= served.block_count]
        marked = choose_cache_breakpoints(
            ordered, self.cache_state.turn_pauses, self.cache_state.steps_per_turn, number, self.context.model, cached
        )
        blocks = [block for block in fitted.segment.blocks if block.role == "user"]
        keys = [(number, call) for number, one in enumerate(rounds) for call, _ in one.results]
        result_entries = tuple(
            LedgerEntry(
                Item(SourceKind.CALLS, block.pieces[0], Source("tool_calls", key[1])),
                block.tokens,
                None,
                key in fitted.shortened,
            )
            for key, block in zip(keys, blocks, strict=True)
        )
        ledger = PromptLedger(
            (*self.entries, *result_entries),
            ordered,
            marked,
            next(iter(self.refresh_causes), None),
            served.miss,
        )
        standing = self.cache_state.after_prompt(self.context.at, self.context.model, prints, marked)
        kept = sum(one.tokens for one in prints[: max(cached, default=0)])
        return AssembledPrompt(render_prompt(ordered, marked), ledger, standing, kept)

    def after_sending(self, cache_state: PromptCacheState) -> "PreparedTurn":
        """The turn after one of its prompts was sent: the next is held against that one."""
        return replace(self, cache_state=cache_state, refresh_causes=())

    def _fit_rounds(self, counter: TokenCounter, rounds: Sequence[ToolRound], max_tokens: int) -> FittedRounds:
        """The rounds in their room; where not even the asking fits, the oldest as history would tell them."""
        fitted = tool_rounds.fit_rounds(counter, rounds, max_tokens)
        if fitted.segment.tokens > max_tokens:
            fitted = tool_rounds.fit_rounds(counter, call_stubs.stub_older_rounds(rounds), max_tokens)
            oldest = [(number, call) for number, one in enumerate(rounds[:-1]) for call, _ in one.results]
            fitted = replace(fitted, shortened=(*oldest, *(one for one in fitted.shortened if one not in oldest)))
        if fitted.segment.tokens > max_tokens:
            raise PromptOverflow("calls", fitted.segment.tokens, max_tokens)
        return fitted

    def _reminder_texts(self, *, searched: bool) -> tuple[str, ...]:
        return reminder.repeated_reminders(self.turn, self.reminders, has_searched=searched)


def prepare_turn(
    materials: PromptMaterials, cache_state: PromptCacheState, profile: BudgetProfile, context: AssemblyContext
) -> PreparedTurn:
    """Decide what the turn's prompts have in common.

    Tools, tiers, Pulse and record, the recap, heartbeat, reminder and the user's words are required: PromptOverflow
    names the layer when they alone exceed the budget. Everything else gets its floor, then its cap, in the profile's
    order; the history is cut where the rules say so, and the briefing is rendered anew where it is due.
    """
    cache_state = cache_state.at_turn_start(context.at)
    plan = AllocationPlan(compacted_history=cache_state.compacted_history)
    while True:
        try:
            filled = allocation.allocate(materials, cache_state, profile, context, plan)
        except PromptOverflow:
            if not plan.can_shrink:
                raise
            plan = plan.shrink()
            continue
        if filled.next_plan is None:
            withheld = tuple(sorted(history.withheld_ids(materials.past_turns)))
            fixed = replace(
                cache_state,
                compacted_history=filled.compacted_history,
                cached_briefing=filled.cached_briefing,
                withheld_ids=withheld,
            )
            return PreparedTurn(
                materials.turn_number,
                filled.segments,
                filled.entries,
                filled.calls_tokens,
                tuple(materials.reminders),
                fixed,
                context,
                filled.refresh_causes,
            )
        plan = filled.next_plan


def is_briefing_due(materials: PromptMaterials, cache_state: PromptCacheState, context: AssemblyContext) -> bool:
    """Whether the briefing is rendered anew, whatever the budget says: what it may tell of is to be known then."""
    shown, _ = selection.filter_by_clearance(materials.tail_candidates, context.clearance)
    changes = [one for one in shown if one.kind is SourceKind.DELTAS]
    cache_state = cache_state.at_turn_start(context.at)
    return bool(
        allocation.find_refresh_causes(
            TokenCounter(cache_state.token_factors), materials, cache_state, context, changes, is_compacted=False
        )
    )
