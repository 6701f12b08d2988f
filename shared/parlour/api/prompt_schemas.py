"""A turn's prompts as they go out as JSON: explained, compared and rebuilt.

`tokens` are the budget's count of one prompt, or of a part of it; a layer's are those of one step. What the provider
counted for the same step is its `usage`.
"""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from parlour.api.schemas import ResponseModel, UsdAmount
from parlour.prompts.assembly.briefing_cache import RefreshCause
from parlour.prompts.assembly.budget import ProfileName
from parlour.prompts.assembly.cache_hits import CacheMissCause
from parlour.prompts.assembly.ledger_entries import OmissionReason
from parlour.prompts.assembly.segment import LayerName, Placement, Role, SourceKind, Stability


class SourceRowView(ResponseModel):
    """A row of a table."""

    table: str
    id: str


class SourceVersionView(SourceRowView):
    """A row at a version; 0 where rows have none."""

    version: int


class TextReferenceView(ResponseModel):
    """A text of a prompt by its hash, and the layer that it belongs to."""

    layer: LayerName
    text_hash: str


class PromptTurnView(ResponseModel):
    """The turn of a prompt, its neighbours in the session, and the steps of which prompts are stored."""

    id: UUID
    session_id: UUID
    number: int
    previous_turn_id: UUID | None
    next_turn_id: UUID | None
    steps: list[int]


class BudgetProfileView(ResponseModel):
    """The budget of a prompt: tokens in `total`, and of tools and persona (`config`) at most."""

    name: ProfileName
    total: int
    config: int


class PromptLayerView(ResponseModel):
    """A layer of one prompt: its tokens, their share of the prompt's, and its limits where it has any."""

    layer: LayerName
    number: int
    tokens: int
    share: float = Field(ge=0, le=1)
    floor: int | None
    cap: int | None


class PromptBlockView(ResponseModel):
    """A block as it was sent; `number` counts the prompt's blocks from 1.

    is_json        its text is a whole block of the provider's protocol.
    is_breakpoint  the prompt was marked for the cache after it; `is_cached`: the provider had it in its cache.
    is_erased      a text of it was erased; `is_withheld`: the reader may not see one any more.
    """

    number: int
    role: Role | None
    tokens: int
    text_hashes: list[str]
    is_json: bool
    is_breakpoint: bool
    is_cached: bool
    is_erased: bool
    is_withheld: bool


class PromptSegmentView(ResponseModel):
    """A layer's blocks in one place of the prompt; `stability`: how long their bytes stay the same."""

    layer: LayerName
    stability: Stability
    placement: Placement
    tokens: int
    blocks: list[PromptBlockView]


class CandidateView(ResponseModel):
    """A candidate for a prompt.

    tokens        what it takes, or would have taken.
    reason        why it is out; null: it is in, whole or shortened.
    text_hash     its text is read by this hash, unless it was erased or is withheld.
    """

    kind: SourceKind
    layer: LayerName
    source: SourceVersionView
    title: str
    tokens: int
    score: float
    is_included: bool
    reason: OmissionReason | None
    is_shortened: bool
    text_hash: str
    is_erased: bool
    is_withheld: bool


class FirstBlocksView(ResponseModel):
    """The first `blocks` blocks of a prompt and their tokens together."""

    blocks: int
    tokens: int


class BriefingView(ResponseModel):
    """The briefing of a prompt: when it was rendered, and from which rows."""

    rendered_at: datetime
    rendered_in_this_turn: bool
    has_record: bool
    sources: list[SourceVersionView]


class CacheMissView(ResponseModel):
    """What the provider's cache could have served and did not: from which layer on, and why. `cost_usd` is null where
    the price is unknown."""

    layer: LayerName
    cause: CacheMissCause
    tokens: int
    cost_usd: UsdAmount | None


class StepUsageView(ResponseModel):
    """What the provider counted for one step.

    prompt_tokens  the whole prompt: `input_tokens`, which no cache was used for, and those read from the cache or
                   written to it.
    """

    prompt_tokens: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: UsdAmount | None


class PromptStepView(ResponseModel):
    """The prompt of one step.

    restarted       the turn was restarted with this step, which shares nothing with the steps before.
    tokens          of this prompt, by the budget's count; its layers add up to it.
    refresh_causes  why the briefing was rendered for this turn.
    cached          the blocks that the provider had in its cache.
    usage           the provider's count; null when the call failed or is not finished.
    """

    step: int
    restarted: bool
    at: datetime
    model: str
    prompt_hash: str
    tokens: int
    layers: list[PromptLayerView]
    segments: list[PromptSegmentView]
    candidates: list[CandidateView]
    breakpoints: list[FirstBlocksView]
    refresh_causes: list[RefreshCause]
    briefing: BriefingView | None
    cached: FirstBlocksView
    cache_miss: CacheMissView | None
    usage: StepUsageView | None


class PromptExplanationView(ResponseModel):
    """The prompts of a turn, or of one of its steps."""

    turn: PromptTurnView
    profile: BudgetProfileView
    deleted_sources: list[SourceRowView]
    steps: list[PromptStepView]


class PromptTextsView(ResponseModel):
    """Texts by their hashes; null for an erased one. A withheld one is a placeholder; unknown hashes are left out."""

    texts: dict[str, str | None]


class ComparedPromptView(ResponseModel):
    """One of two compared prompts."""

    turn_id: UUID
    number: int
    step: int
    hash: str
    tokens: int
    restarted: bool


class SegmentChangeView(ResponseModel):
    """What changed in a segment, and its tokens before and after. `grown`: everything stays, and more follows."""

    layer: LayerName
    placement: Placement
    change: Literal["same", "added", "removed", "grown", "changed"]
    before: int
    after: int
    delta: int


class FirstChangeView(ResponseModel):
    """Where the bytes of two prompts part, and how both go on.

    byte    from the prompt's first block on; `within`: from the beginning of this block.
    """

    block: int
    layer: LayerName
    within: int
    byte: int
    before: str
    after: str


class PromptDiffView(ResponseModel):
    """Two prompts compared: by segment, by byte, and by candidate (new, gone, now included, now left out)."""

    before: ComparedPromptView
    after: ComparedPromptView
    is_same: bool
    segments: list[SegmentChangeView]
    first_change: FirstChangeView | None
    added: list[CandidateView]
    removed: list[CandidateView]
    now_in: list[CandidateView]
    now_out: list[CandidateView]


class ReassemblyView(ResponseModel):
    """A prompt assembled again under another budget, compared with the recorded one, which has `tokens_before`."""

    budget: int
    tokens: int
    tokens_before: int
    layers: list[PromptLayerView]
    refresh_causes: list[RefreshCause]
    dropped: list[CandidateView]
    shortened: list[CandidateView]
    added: list[CandidateView]


class RebuiltPromptView(ResponseModel):
    """A rebuilt prompt.

    text        the canonical JSON of [tools, system, messages]; `hash` is its SHA-256. Both are null where texts were
                erased, or are withheld from this reader.
    reassembly  what another budget changes; null without one.
    """

    turn_id: UUID
    step: int
    recorded_hash: str
    hash: str | None
    is_identical: bool
    text: str | None
    erased: list[TextReferenceView]
    withheld: list[TextReferenceView]
    deleted_sources: list[SourceRowView]
    reassembly: ReassemblyView | None
