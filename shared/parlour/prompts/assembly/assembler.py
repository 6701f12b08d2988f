"""Prompt assembly: measure the required parts, share the rest of the budget, refuse what cannot fit.

`prepare_turn` decides once what all prompts of a turn share, down to the byte. `PreparedTurn.assemble_step` then adds
the tool calls so far. Pure: the same arguments give the same bytes.
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
from parlour.prompts.assembly.reminder import Closing
from parlour.prompts.assembly.rendering import Prompt, render_prompt, sort_segments
from parlour.prompts.assembly.segment import Item, Layer, Segment, Source, SourceKind
from parlour.prompts.assembly.stored_text import StoredText
from parlour.prompts.assembly.tool_rounds import FittedRounds, ToolRound
from parlour.text.token_counter import TokenCounter

_CITABLE_KEYS = ("documents", "entities")
"""What a result holds that is to be cited."""


@dataclass(frozen=True, slots=True)
class AssembledPrompt:
    """A prompt, its ledger, and the cache state for the session's next prompt.

    cached_tokens  tokens of the previous prompt that the provider should still have.
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
    """What all prompts of a turn share.

    segments        everything except the turn's tool calls.
    entries         every candidate.
    calls_tokens    tokens left for layer 12 and the repeated reminder.
    reminders       the reminders of the pack.
    cache_state     the session's, with this turn's compaction and briefing.
    refresh_causes  why the briefing was rendered again; the ledger shows the first.
    acting_tools    tools whose calls do something.
    """

    turn: int
    segments: tuple[Segment, ...]
    entries: tuple[LedgerEntry, ...]
    calls_tokens: int
    reminders: tuple[StoredText, ...]
    cache_state: PromptCacheState
    context: AssemblyContext
    refresh_causes: tuple[RefreshCause, ...] = ()
    acting_tools: tuple[str, ...] = ()

    def assemble_step(self, number: int, rounds: Sequence[ToolRound], closing: Closing = "") -> AssembledPrompt:
        """Assemble the prompt of step `number`, after these rounds of tool calls.

        A step that may call no tool is reminded of that. Raises PromptOverflow when not even one line per result fits.
        """
        meter = TokenCounter(self.cache_state.token_factors)
        closing_texts = (reminder.CLOSING_REMINDERS[closing],) if closing else ()
        searched = any(key in result for one in rounds for _, result in one.results for key in _CITABLE_KEYS)
        reminders = (*(self._reminder_texts(searched=searched) if rounds else ()), *closing_texts)
        again = tail.tail_segment(meter, Layer.REMINDER, reminders, "last")
        longest = (*(self._reminder_texts(searched=True) if rounds else ()), *closing_texts)
        most = tail.tail_segment(meter, Layer.REMINDER, longest, "last").tokens
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
        keys = [
            key
            for place, one in enumerate(rounds)
            for key in (
                *((place, Source("tool_calls", call)) for call, _ in one.results),
                *((place, Source("messages", message_id)) for message_id, _ in one.messages),
            )
        ]
        result_entries = tuple(
            LedgerEntry(
                Item(SourceKind.CALLS, block.pieces[0], source),
                block.tokens,
                None,
                (place, source.id) in fitted.shortened,
            )
            for (place, source), block in zip(keys, blocks, strict=True)
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
        """Return the turn after one of its prompts was sent: the next prompt is compared with that one."""
        return replace(self, cache_state=cache_state, refresh_causes=())

    def _fit_rounds(self, counter: TokenCounter, rounds: Sequence[ToolRound], max_tokens: int) -> FittedRounds:
        """Fit the rounds into their tokens; where the calls alone are too long, replace older results by stubs."""
        fitted = tool_rounds.fit_rounds(counter, rounds, max_tokens)
        if fitted.segment.tokens > max_tokens:
            fitted = tool_rounds.fit_rounds(
                counter, call_stubs.stub_older_rounds(rounds, self.acting_tools), max_tokens
            )
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
    """Decide what the turn's prompts share.

    Tools, tiers, Pulse and record, the recap, turn metadata, reminder and the user's message are required. Everything
    else gets its floor, then its cap, in the profile's order. History is cut and the briefing is rendered again where
    that is due.

    Raises PromptOverflow, with the largest layer, when the required parts exceed the budget.
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
                materials.acting_tools,
            )
        plan = filled.next_plan


def is_briefing_due(materials: PromptMaterials, cache_state: PromptCacheState, context: AssemblyContext) -> bool:
    """Return whether the briefing must be rendered again whatever the budget, so that its candidates must be loaded."""
    shown, _ = selection.filter_by_clearance(materials.tail_candidates, context.clearance)
    changes = [one for one in shown if one.kind is SourceKind.DELTAS]
    cache_state = cache_state.at_turn_start(context.at)
    return bool(
        allocation.find_refresh_causes(
            TokenCounter(cache_state.token_factors), materials, cache_state, context, changes, is_compacted=False
        )
    )
