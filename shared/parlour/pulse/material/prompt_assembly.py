"""A Pulse's prompt, through the engine that makes a conversation's: the same budget, choice and record. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from parlour.prompts.assembly import assembler
from parlour.prompts.assembly.assembler import AssembledPrompt
from parlour.prompts.assembly.budget import BudgetProfile, TokenLimits
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import Message
from parlour.prompts.assembly.segment import Item, Layer, Source, SourceKind
from parlour.prompts.ledger.prompt_record import PromptInputs
from parlour.pulse.material.numbered_sources import NumberedSource

MAX_ANSWER_TOKENS = 1_000
MAX_MATERIAL_TOKENS = 4_000
MAX_TOTAL_TOKENS = 8_000
"""Tokens: of the answer, of the material, and of both with the instructions (design section 8)."""

PULSE_PROFILE = BudgetProfile(
    "pulse",
    total_tokens=MAX_TOTAL_TOKENS - MAX_ANSWER_TOKENS,
    config_cap=3_000,
    limits_by_layer={Layer.BRIEFING: TokenLimits(0, MAX_MATERIAL_TOKENS)},
    eviction_order=(SourceKind.NEAREST, SourceKind.FILE_SUMMARIES),
)


@dataclass(frozen=True, slots=True)
class PulsePrompt:
    """A prompt for one level of one record.

    documents  those that are in it, with their words as they stand there.
    inputs     what it was made of, for its record.
    """

    assembled: AssembledPrompt
    documents: tuple[NumberedSource, ...]
    inputs: PromptInputs

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Everything that stands in it or was counted there, as table/id."""
        return tuple(dict.fromkeys(one for document in self.documents for one in document.source_ids))


def assemble_prompt(
    record_label: str,
    system_prompt: str,
    user_text: str,
    candidates: Sequence[NumberedSource],
    level: int,
    model: str,
    now: datetime,
) -> PulsePrompt:
    """Assemble the prompt for `model` (provider/model) with as many of the documents as fit.

    PromptOverflow when the instructions leave no room for the record itself.
    """
    materials = PromptMaterials(
        turn_number=1,
        tools=(),
        tiers=[Item(SourceKind.AGENT, system_prompt, Source("entity_types", record_label))],
        turn_metadata=f"Today is {now:%Y-%m-%d}.",
        user_messages=[Message(user_text, Source("pulses", record_label))],
        record_handle=record_label,
        briefing_candidates=[one.to_item() for one in candidates],
    )
    # A Pulse's prompt is sent once: as after long pauses and single steps, no cache breakpoint is set.
    standing = PromptCacheState(turn_pauses=(86_400.0, 86_400.0), steps_per_turn=(1,))
    begun = assembler.prepare_turn(materials, standing, PULSE_PROFILE, AssemblyContext(now, level, model, {}))
    assembled = begun.assemble_step(1, ())
    texts = {one.item.source: one.item.text for one in begun.entries if one.reason is None}
    included_documents = tuple(
        replace(one, text=one.without_number(texts[one.source]), shorter_texts=())
        for one in candidates
        if one.source in texts
    )
    return PulsePrompt(assembled, included_documents, PromptInputs(materials, standing, PULSE_PROFILE, begun))
