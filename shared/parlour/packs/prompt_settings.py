"""What a pack may say of an agent's prompts: what they may come to, layer by layer, and what a request may lead to."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import JsonObject
from parlour.packs.pack_model import PackModel
from parlour.packs.serialization import to_json_value
from parlour.packs.source_positions import FieldPath
from parlour.prompts.assembly import budget
from parlour.prompts.assembly.compaction import MAX_COMPACTED_TOKENS

type AgentMode = Literal["clarify", "inform", "act"]

MIN_PROMPT_TOKENS, MAX_PROMPT_TOKENS = 2_000, 200_000
"""Tokens of a whole prompt."""

_Tokens = Annotated[int, Field(ge=0, le=MAX_PROMPT_TOKENS)]
_REQUIRED_HINT = "it is always included and has no limits of its own; only `tokens` limits it"
_TURN_METADATA_HINT = "it is a line of at most 60 tokens and always included; it has no limits to set"
_BELONGS_TO_HINT = "it belongs to the layer "


class TokenLimits(PackModel):
    """The limits of one layer, in tokens."""

    field_hints: ClassVar[Mapping[str, str]] = {"min": "use `floor`", "max": "use `cap`"}

    floor: _Tokens | None = Field(default=None, description="Tokens that the layer keeps, whatever else there is.")
    cap: _Tokens | None = Field(default=None, description="Most tokens that the layer takes.")


class SummaryLimits(TokenLimits):
    """The limits of the summary, which is never written longer than MAX_COMPACTED_TOKENS."""

    cap: Annotated[int, Field(ge=0, le=MAX_COMPACTED_TOKENS)] | None = Field(
        default=None, description="Most tokens that the layer takes."
    )


class LayerLimits(PackModel):
    """Limits of the layers that can shrink; a layer that is left out keeps the limits of its profile."""

    field_hints: ClassVar[Mapping[str, str]] = {
        "tools": _REQUIRED_HINT,
        "tiers": _REQUIRED_HINT,
        "message": _REQUIRED_HINT,
        "heartbeat": _TURN_METADATA_HINT,
        "facts": f"{_BELONGS_TO_HINT}`memory`",
        "episodes": f"{_BELONGS_TO_HINT}`memory`",
        "tool_results": "use `calls`",
    }

    briefing: TokenLimits | None = Field(default=None, description="What is known about the conversation's record.")
    summary: SummaryLimits | None = Field(default=None, description="The summary of older turns.")
    history: TokenLimits | None = Field(default=None, description="The latest messages, word for word.")
    recall: TokenLimits | None = Field(default=None, description="Older messages that fit the question.")
    memory: TokenLimits | None = Field(
        default=None, description="Facts about the user and summaries of earlier conversations."
    )
    deltas: TokenLimits | None = Field(default=None, description="What changed since the conversation began.")
    state: TokenLimits | None = Field(default=None, description="The agent's own notes.")
    reminder: TokenLimits | None = Field(default=None, description="The agent's `reminders`.")
    calls: TokenLimits | None = Field(default=None, description="Tool calls and their results.")


type EvictableKind = Literal["other_sessions", "recall", "episodes", "facts", "history"]
"""The briefing has an order of its own: records near by are left out first, then summaries of files."""


class BudgetOverride(PackModel):
    """The token budget of a prompt."""

    field_hints: ClassVar[Mapping[str, str]] = {"total": "use `tokens`", "floors": "set them in `layers`"}

    profile: Literal["entity", "messaging"] | None = Field(
        default=None, description="The budget to begin with: entity has 12,000 tokens, messaging 7,700."
    )
    tokens: Annotated[int, Field(ge=MIN_PROMPT_TOKENS, le=MAX_PROMPT_TOKENS)] | None = Field(
        default=None, description="Tokens of a whole prompt: tools, persona, message and results included."
    )
    layers: LayerLimits = Field(default=LayerLimits(), description="Limits of single layers.")
    eviction_order: Annotated[tuple[EvictableKind, ...], Field(strict=False)] | None = Field(
        default=None,  # a list, once `expand_number` had it in hand
        description="What is left out first, second and so on when not everything fits.",
    )


class AgentBudget(BudgetOverride):
    """The context budget: a profile, and what differs from it."""

    profile: Literal["entity", "messaging"] = Field(
        default="messaging", description="The budget to begin with: entity has 12,000 tokens, messaging 7,700."
    )


def expand_number(value: object) -> object:
    """Expand a mere number to the total of an OwnBudget."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if not MIN_PROMPT_TOKENS <= value <= MAX_PROMPT_TOKENS:
        raise ValueError(f"must be at least {MIN_PROMPT_TOKENS} and at most {MAX_PROMPT_TOKENS} tokens")
    return BudgetOverride(tokens=value)


def budget_settings(given: BudgetOverride) -> JsonObject:
    """Return a budget as JSON."""
    said = to_json_value(given)
    return said if isinstance(said, dict) else {}


def find_budget_problem(agent_budget: JsonObject, override: JsonObject | None = None) -> tuple[FieldPath, str] | None:
    """Where, from `budget` on, and what is wrong; None when the budget makes sense. `own` is a kind's."""
    try:
        budget.resolve_profile(agent_budget, override)
    except Misconfigured as error:
        key, _, message = str(error).partition(" ")
        return tuple(key.rstrip(":").split(".")), message
    return None
