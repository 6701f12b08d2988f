"""The given history of one attempt at a turn's budget, and its ledger entries. Pure."""

from dataclasses import dataclass, replace

from parlour.infra.json_values import canonical_json
from parlour.prompts.assembly import compaction, history
from parlour.prompts.assembly.budget import BudgetProfile
from parlour.prompts.assembly.compaction import MAX_COMPACTED_TOKENS, CompactedHistory, CompactionInput
from parlour.prompts.assembly.history import HistorySelection
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.materials import PromptMaterials
from parlour.prompts.assembly.past_turn import PastTurn
from parlour.prompts.assembly.segment import Item, Layer, Source, SourceKind, escape_untrusted
from parlour.text.token_counter import TokenCounter

_COMPACTED_DIVISOR = 5
"""What leads the history takes a fifth of a budget at most: 1,500 tokens of 7,700."""


@dataclass(frozen=True, slots=True)
class AllocationPlan:
    """The given history of one attempt at a turn's budget.

    compacted_history     what replaces the turns before the history.
    cut_turns             turns that earlier attempts cut.
    omitted_entries       candidates of the compacted history without room in it.
    is_briefing_at_floor  the briefing uses only its floor, so that the history may stay.
    dropped_items         parts of the compacted history that were dropped: a pasted text, then the summary.
    """

    compacted_history: CompactedHistory
    cut_turns: tuple[PastTurn, ...] = ()
    omitted_entries: tuple[LedgerEntry, ...] = ()
    is_briefing_at_floor: bool = False
    dropped_items: tuple[Item, ...] = ()

    @property
    def can_shrink(self) -> bool:
        """Whether a part of the compacted history can be dropped."""
        return (
            self.compacted_history.pasted_text is not None
            or compaction.summary_item(self.compacted_history) is not None
        )

    def shrink(self) -> "AllocationPlan":
        """Return the plan without the pasted text, or without the summary where there is no pasted text."""
        if self.compacted_history.pasted_text is not None:
            return replace(
                self,
                compacted_history=replace(self.compacted_history, pasted_text=None),
                dropped_items=(*self.dropped_items, self.compacted_history.pasted_text),
            )
        gone = compaction.compacted_items(replace(self.compacted_history, recap=()))
        return replace(
            self,
            compacted_history=compaction.without_summary(self.compacted_history),
            dropped_items=(*self.dropped_items, *gone),
        )

    def compaction_input(self, materials: PromptMaterials, profile: BudgetProfile) -> CompactionInput:
        """Return what may replace cut turns. A small budget has no room for a long summary."""
        if any(one.kind is SourceKind.SUMMARY for one in self.dropped_items):
            return history.NO_COMPACTION_INPUT
        most = min(
            profile.limits_of(Layer.SUMMARY).cap, profile.total_tokens // _COMPACTED_DIVISOR, MAX_COMPACTED_TOKENS
        )
        return CompactionInput(materials.summary, materials.is_summary_pending, most)


def history_entries(
    counter: TokenCounter, compacted_before: CompactedHistory, plan: AllocationPlan, selection: HistorySelection
) -> list[LedgerEntry]:
    """Return ledger entries for verbatim and cut turns, and for the compacted history before and after the cut."""
    kept = [LedgerEntry(one, counter.count(one.text)) for turn in selection.verbatim_turns for one in _turn_items(turn)]
    cut = [
        LedgerEntry(one, counter.count(one.text), "compacted") for turn in plan.cut_turns for one in _turn_items(turn)
    ]
    led = [LedgerEntry(one, counter.count(one.text)) for one in compaction.compacted_items(selection.compacted_history)]
    lost = [LedgerEntry(one, counter.count(one.text), "over_budget") for one in plan.dropped_items]
    if compacted_before.pasted_text and compacted_before.pasted_text not in {
        selection.compacted_history.pasted_text,
        *plan.dropped_items,
    }:
        lost.append(
            LedgerEntry(compacted_before.pasted_text, counter.count(compacted_before.pasted_text.text), "compacted")
        )
    return [*cut, *led, *plan.omitted_entries, *lost, *kept]


def _turn_items(turn: PastTurn) -> list[Item]:
    called = [
        Item(SourceKind.HISTORY, canonical_json(one), Source("turns", turn.id, place))
        for place, one in enumerate(turn.tool_messages)
    ]
    return [
        *(replace(history.as_recorded_attachment(one), kind=SourceKind.HISTORY) for one in turn.attachments),
        *(Item(SourceKind.HISTORY, escape_untrusted(one.text), one.source) for one in turn.user_messages),
        *called,
        *(Item(SourceKind.HISTORY, escape_untrusted(one.text), one.source) for one in turn.replies),
    ]
