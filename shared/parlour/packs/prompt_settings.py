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

type AgentMode = Literal["clarify", "inform", "act"]

MIN_PROMPT_TOKENS, MAX_PROMPT_TOKENS = 2_000, 200_000
"""Tokens of a whole prompt."""

_Tokens = Annotated[int, Field(ge=0, le=MAX_PROMPT_TOKENS)]
_REQUIRED_HINT = "it is always included and has no limits of its own; only `tokens` limits it"
_BELONGS_TO_HINT = "it belongs to the layer "


class TokenLimits(PackModel):
    """What a layer is left whatever else wants in, and the most it takes, in tokens."""

    field_hints: ClassVar[Mapping[str, str]] = {"min": "use `floor`", "max": "use `cap`"}

    floor: _Tokens | None = None
    cap: _Tokens | None = None


class LayerLimits(PackModel):
    """Shares of the layers that give way; a layer that is left out keeps its profile's."""

    field_hints: ClassVar[Mapping[str, str]] = {
        "tools": _REQUIRED_HINT,
        "tiers": _REQUIRED_HINT,
        "message": _REQUIRED_HINT,
        "facts": f"{_BELONGS_TO_HINT}`memory`",
        "episodes": f"{_BELONGS_TO_HINT}`memory`",
        "tool_results": "use `calls`",
    }

    briefing: TokenLimits | None = None
    summary: TokenLimits | None = None
    history: TokenLimits | None = None
    recall: TokenLimits | None = None
    memory: TokenLimits | None = None
    deltas: TokenLimits | None = None
    state: TokenLimits | None = None
    heartbeat: TokenLimits | None = None
    reminder: TokenLimits | None = None
    calls: TokenLimits | None = None


type EvictableKind = Literal["other_sessions", "nearest", "file_summaries", "recall", "episodes", "facts", "history"]


class BudgetOverride(PackModel):
    """What conversations about records of one kind say otherwise than their agent's budget.

    tokens          of a whole prompt.
    eviction_order  what is evicted first, second and so on when not everything fits; the rest is kept longer.
    """

    field_hints: ClassVar[Mapping[str, str]] = {"total": "use `tokens`", "floors": "set them in `layers`"}

    profile: Literal["entity", "messaging"] | None = None
    tokens: Annotated[int, Field(ge=MIN_PROMPT_TOKENS, le=MAX_PROMPT_TOKENS)] | None = None
    layers: LayerLimits = LayerLimits()
    eviction_order: Annotated[tuple[EvictableKind, ...], Field(strict=False)] | None = (
        None  # a list, once `numbered` had it in hand
    )


class AgentBudget(BudgetOverride):
    """The context budget: a profile, and what is not the profile's own."""

    profile: Literal["entity", "messaging"] = "messaging"


def expand_number(value: object) -> object:
    """Expand a mere number to the total of an OwnBudget."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if not MIN_PROMPT_TOKENS <= value <= MAX_PROMPT_TOKENS:
        raise ValueError(f"must be at least {MIN_PROMPT_TOKENS} and at most {MAX_PROMPT_TOKENS} tokens")
    return BudgetOverride(tokens=value)


def budget_settings(given: BudgetOverride) -> JsonObject:
    """Return a budget as `budget.parse_profile` takes it."""
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
