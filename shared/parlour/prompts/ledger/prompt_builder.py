"""Building the prompts of one turn, and what is stored of each: its record and the next cache state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models.model_routing import FUNCTION_PROVIDER, KEYLESS_PROVIDERS
from parlour.prompts.assembly import call_stubs, history, token_factors
from parlour.prompts.assembly import compaction as leading
from parlour.prompts.assembly.assembler import AssembledPrompt, PreparedTurn, prepare_turn
from parlour.prompts.assembly.budget import BudgetProfile
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import CompactionInput, Summary
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import PastTurn
from parlour.prompts.assembly.reminder import Closing
from parlour.prompts.assembly.segment import Item, SourceKind
from parlour.prompts.assembly.stored_text import HASH_LENGTH, TextsErased
from parlour.prompts.assembly.tool_rounds import ToolRound
from parlour.prompts.ledger import store
from parlour.prompts.ledger.past_turns import MAX_PAST_TURNS, past_turns_from_rows, summary_from_row
from parlour.prompts.ledger.prompt_record import (
    MIN_IDENTIFYING_CHARS,
    PromptInputs,
    PromptStepRecord,
    deserialize_part,
    restore_part,
    serialize_part,
)
from parlour.prompts.ledger.retention import month_end, month_of
from parlour.prompts.ledger.store import LedgerRow, PreviousPromptsRow, PromptWrites, StepRequest, StoredCacheState
from parlour.text.token_counter import TokenCounter

MAX_CLEARANCE = 3
"""The highest clearance: a turn reads its own records, whoever may see them."""


@dataclass(slots=True)
class PromptBuilder:
    """Builds a turn's prompts from its materials.

    cache_state           the session's as the turn began.
    prepared_turn         what the turn's prompts share; None before the first prompt.
    writing_tools         tools that change something: history keeps what they changed.
    tool_rounds           the turn's calls so far, and `last_step` its newest prompt.
    is_recorded           the first prompt was sent, and the prompt inputs are stored.
    max_episodes          how many of the user's earlier conversations recall may add.
    is_summary_requested  a summary of the session is already requested.
    read_surrounding      reads further candidates of a new briefing; None once they were read.
    """

    materials: PromptMaterials
    profile: BudgetProfile
    context: AssemblyContext
    cache_state: PromptCacheState
    prepared_turn: PreparedTurn | None = None
    writing_tools: frozenset[str] = frozenset()
    tool_rounds: tuple[ToolRound, ...] = ()
    last_step: int = 0
    is_recorded: bool = False
    max_episodes: int = 0
    is_summary_requested: bool = False
    read_surrounding: Callable[[], Sequence[Item]] | None = None

    @property
    def has_written(self) -> bool:
        """Whether a call of this turn may have changed something."""
        asked = [block for one in self.tool_rounds for block in one.blocks if block.get("type") == "tool_use"]
        done = {call for one in self.tool_rounds for call, result in one.results if result.get("ok") is not False}
        return any(block["name"] in self.writing_tools and block["id"] in done for block in asked)

    def next_prompt(self, step: int, rounds: Sequence[ToolRound], model: str, closing: Closing = "") -> AssembledPrompt:
        """Return the prompt of `step` for `model` (provider/model).

        Raises PromptOverflow when it cannot fit.
        """
        self.context = replace(self.context, model=model)
        begun = replace(self.prepared_turn or self._prepare(), context=self.context)
        self.prepared_turn = begun
        self.set_tool_rounds(rounds)
        return begun.assemble_step(step, self.tool_rounds, closing)

    def _prepare(self) -> PreparedTurn:
        """Decide what the prompts share. If the briefing is rendered again, read the surrounding rows and decide once
        more.
        """
        begun = prepare_turn(self.materials, self.cache_state, self.profile, self.context)
        if not (begun.refresh_causes and self.read_surrounding):
            return begun
        self.materials = replace(
            self.materials, briefing_candidates=[*self.materials.briefing_candidates, *self.read_surrounding()]
        )
        self.read_surrounding = None
        return prepare_turn(self.materials, self.cache_state, self.profile, self.context)

    def add_recalled_items(self, found: Sequence[Item]) -> None:
        """Add what was recalled to the tail, after what changed."""
        self.materials = replace(self.materials, tail_candidates=(*self.materials.tail_candidates, *found))

    def set_tool_rounds(self, rounds: Sequence[ToolRound]) -> None:
        """Set the turn's calls so far.

        A result that was read back from the database has another key order, so known results keep their first order.
        """
        told = {call: result for one in self.tool_rounds for call, result in one.results}
        self.tool_rounds = tuple(
            replace(
                one,
                results=tuple((call, _with_previous_key_order(told.get(call), result)) for call, result in one.results),
            )
            for one in rounds
        )

    def mark_sent(self, step: int, assembled: AssembledPrompt) -> None:
        """Mark a recorded prompt as sent: the next one is compared with it."""
        self.is_recorded, self.last_step = True, max(step, self.last_step)
        if self.prepared_turn is not None:
            self.prepared_turn = self.prepared_turn.after_sending(assembled.cache_state)

    def to_prompt_inputs(self) -> PromptInputs:
        """Return the inputs of the turn's prompts.

        Raises LookupError before the first prompt.
        """
        if self.prepared_turn is None:
            raise LookupError("no prompt of this turn was made yet")
        return PromptInputs(self.materials, self.cache_state, self.profile, self.prepared_turn)

    def plan_prompt_writes(
        self, asking: StepRequest, step: int, assembled: AssembledPrompt, closing: Closing = ""
    ) -> PromptWrites:
        """Return what to store of a step's prompt before its model is asked."""
        basis, texts = (None, {}) if self.is_recorded else serialize_part(self.to_prompt_inputs())
        made, more = serialize_part(PromptStepRecord.from_assembled(self.tool_rounds, assembled, closing))
        month = month_of(self.context.at)
        row = LedgerRow(step, month, self.context.at, self.context.model, assembled.prompt.hash, basis, made)
        anew = assembled.ledger.refresh_cause is not None
        standing = assembled.cache_state if anew else replace(assembled.cache_state, cached_briefing=None)
        known = self._known_texts(assembled)
        texts = {key: text for key, text in (texts | more).items() if text not in known}
        refused = self._omitted_attachment_ids() if basis is not None and self.materials.attachments else None
        return PromptWrites(
            asking, row, texts, StoredCacheState.from_cache_state(standing), anew, month_end(month), refused
        )

    def _known_texts(self, assembled: AssembledPrompt) -> set[str]:
        """Return the texts that the session's last prompt stored this month, even if erased since."""
        before = self.cache_state
        if before.hash_length != HASH_LENGTH:  # an older release stored them under other hashes
            return set()
        if before.last_asked_at is None or month_of(before.last_asked_at) != month_of(self.context.at):
            return set()
        hashes_before = {one.hash for one in before.fingerprints}
        blocks = [one for each in assembled.ledger.segments if each.placement != "last" for one in each.blocks]
        prints = zip(blocks, assembled.cache_state.fingerprints, strict=True)
        pieces = {piece for block, one in prints if one.hash in hashes_before for piece in block.pieces}
        return {one for one in pieces if len(one) >= MIN_IDENTIFYING_CHARS}

    def _omitted_attachment_ids(self) -> tuple[UUID, ...]:
        """Return the turn's attachments that were too large; later prompts omit them too."""
        entries = self.prepared_turn.entries if self.prepared_turn else ()
        out = [one.item for one in entries if one.item.kind is SourceKind.ATTACHMENTS and one.reason == "too_large"]
        return tuple(UUID(item.source.id) for item in out)

    def usage_json(self, step: int, assembled: AssembledPrompt) -> JsonObject:
        """Return what the event stream shows of a prompt: its tokens by layer and its likely cached share."""
        total = sum(assembled.tokens_by_layer.values())
        return {
            "step": step,
            "tokens": total,
            "budget": self.profile.total_tokens,
            "tokens_by_layer": dict(assembled.tokens_by_layer),
            "cached_share": round(assembled.cached_tokens / total, 3),
        }

    def learned_factor(self, assembled: AssembledPrompt, provider: str, reported: int) -> tuple[str, float] | None:
        """Return the prompt's script and how many tokens the model counts for one of ours; None when not known.

        `reported`: input tokens by the model's report. The offline model and the demo model only estimate them.
        """
        if provider in {*KEYLESS_PROVIDERS, FUNCTION_PROVIDER}:  # a loop reports the sum of its model calls
            return None
        return token_factors.learn_token_factor(assembled.ledger.segments, reported, self.cache_state.token_factors)

    def history_messages(self) -> tuple[JsonObject, ...]:
        """Return the turn's calls as history shows them: each with one line for its result."""
        return call_stubs.history_messages(self.tool_rounds, self.materials.acting_tools)

    def next_cache_state(self) -> JsonObject | None:
        """Return what the session's next prompt continues from after the turn; None where nothing was sent.

        A compaction and a briefing that no model received are not continued.
        """
        standing = self.prepared_turn.cache_state if self.prepared_turn and self.is_recorded else self.cache_state
        if all(one.is_in_next_turn for one in standing.fingerprints):
            return None
        return StoredCacheState.from_cache_state(
            standing.after_turn(max(self.last_step, len(self.tool_rounds)))
        ).cache_state


def model_key(provider: str, model: str) -> str:
    """Return the name under which a model's prompts are recorded."""
    return f"{provider}/{model}"


@dataclass(frozen=True, slots=True)
class PreviousPrompts:
    """What a turn's prompts continue from, as their reader may see it.

    past_turns               the finished turns since the last cut.
    summary                  the newest, used from the next cut on.
    is_summary_requested     a newer summary is requested, and `is_summary_pending`: it is being written.
    has_withholding_changed  other texts are withheld than in the last prompt.
    """

    cache_state: PromptCacheState
    past_turns: Sequence[PastTurn]
    summary: Summary | None
    is_summary_requested: bool
    is_summary_pending: bool
    has_withholding_changed: bool


def load_previous_prompts(
    tx: Transaction, session_id: UUID, turn_number: int, model_key: str, clearance: int, now: datetime
) -> PreviousPrompts:
    """Load what the prompts of turn `turn_number` continue from, for a reader of this clearance.

    A new session takes the model's learned token factors and keeps them. A cut does not wait where there is no real
    model: no summary will come.
    """
    found = store.read_previous_prompts(
        tx, session_id, model=model_key, before_turn=turn_number, limit=MAX_PAST_TURNS, clearance=clearance, now=now
    )
    standing, past = _cache_state(found), past_turns_from_rows(found.past_turns or [], clearance)
    closed = frozenset(found.restricted_turns or ())
    summary = leading.without_restricted_details(summary_from_row(found.summary), closed) if found.summary else None
    lead = leading.withhold_turns(
        standing.compacted_history, closed, is_summary_restricted=bool(found.is_summary_restricted)
    )
    if leading.is_summary_withheld(lead):
        lead = leading.with_newest_summary(TokenCounter(standing.token_factors), lead, CompactionInput(summary))
    is_changed = lead != standing.compacted_history or history.has_withholding_changed(past, standing.withheld_ids)
    awaited = bool(found.is_summary_pending) and model_key.partition("/")[0] not in KEYLESS_PROVIDERS
    return PreviousPrompts(
        replace(standing, compacted_history=lead),
        past,
        summary,
        found.is_summary_pending is not None,
        awaited,
        is_changed,
    )


def _cache_state(found: PreviousPromptsRow) -> PromptCacheState:
    if found.cache_state is None:
        return PromptCacheState(token_factors=found.token_factors or {})
    return StoredCacheState(found.cache_state, found.briefing).to_cache_state()


def _with_previous_key_order(before: JsonObject | None, result: JsonObject) -> JsonObject:
    return before if before == result and before is not None else result


def load_recorded_prompts(
    tx: Transaction, session_id: UUID, turn_id: UUID
) -> tuple[PromptInputs, tuple[ToolRound, ...], int] | None:
    """Load the recorded inputs, tool rounds and last step of a turn that continues.

    Returns None when no model was asked yet, when a text was erased, or when the retention is over.
    """
    begun = store.group_by_inputs(store.list_ledger_rows(tx, turn_id, MAX_CLEARANCE))
    if not begun or (rows := begun[-1])[0].prompt_inputs is None:
        return None
    hashes = (
        deserialize_part(PromptInputs, rows[0].prompt_inputs)[1]
        | deserialize_part(PromptStepRecord, rows[-1].step_record)[1]
    )
    texts = store.read_texts(tx, rows[0].month, sorted(hashes))
    try:
        inputs, step = (
            restore_part(PromptInputs, rows[0].prompt_inputs, texts),
            restore_part(PromptStepRecord, rows[-1].step_record, texts),
        )
    except TextsErased:
        return None
    asked = _cache_state(
        store.read_previous_prompts(
            tx, session_id, model="", before_turn=0, limit=0, clearance=MAX_CLEARANCE, now=rows[-1].at
        )
    )
    return replace(inputs, prepared_turn=inputs.prepared_turn.after_sending(asked)), step.rounds, rows[-1].step
