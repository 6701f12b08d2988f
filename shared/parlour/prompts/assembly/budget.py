"""One number per agent, all-in: tools, the user's message and tool results count like everything else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from parlour.infra.errors import Misconfigured, PromptOverflow
from parlour.infra.json_values import Json, JsonObject
from parlour.prompts.assembly.segment import Layer, SourceKind

type ProfileName = Literal["entity", "messaging", "pulse"]


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """What a layer is left whatever else wants in, and the most it takes, in tokens."""

    floor: int
    cap: int


@dataclass(frozen=True, slots=True)
class BudgetProfile:
    """Where a budget goes.

    total_tokens     tokens of a whole prompt.
    config_cap       cap of layers 0 and 1 together; a pack that exceeds it is refused when it is applied.
    limits_by_layer  floors and caps of the layers that can be shortened.
    eviction_order   source kinds in the order of eviction when not everything fits; the rest is kept longer.
    """

    name: ProfileName
    total_tokens: int
    config_cap: int
    limits_by_layer: Mapping[Layer, TokenLimits]
    eviction_order: tuple[SourceKind, ...]

    def limits_of(self, layer: Layer) -> TokenLimits:
        """Floor and cap of a layer; nothing for one that has none."""
        return self.limits_by_layer.get(layer, TokenLimits(0, 0))

    @property
    def floor_total(self) -> int:
        """What the layers that give way are promised together."""
        return sum(share.floor for share in self.limits_by_layer.values())

    @property
    def allocation_order(self) -> tuple[SourceKind, ...]:
        """Lots in the order in which they are given room: first what is never dropped, by the number of its layer,
        then the reverse of the drop order (design section 7). So messaging gives recall its room before the history,
        which is dropped first there. Where the drop order does not name recall, as in the entity profile, it comes
        right after the history: a cut of that costs the prompt cache more than a turn's recall is worth."""
        kept = [lot for lot in SourceKind if lot not in self.eviction_order and lot is not SourceKind.RECALL]
        last = [SourceKind.RECALL] if SourceKind.RECALL not in self.eviction_order else []
        order = [*sorted(kept, key=lambda lot: lot.layer), *reversed(self.eviction_order)]
        place = order.index(SourceKind.HISTORY) + 1
        return (*order[:place], *last, *order[place:])


ENTITY_PROFILE = BudgetProfile(
    "entity",
    total_tokens=12_000,
    config_cap=3_000,
    limits_by_layer={
        Layer.BRIEFING: TokenLimits(1_500, 4_000),
        Layer.SUMMARY: TokenLimits(0, 1_500),
        Layer.HISTORY: TokenLimits(1_500, 4_000),
        Layer.RECALL: TokenLimits(500, 2_000),
        Layer.MEMORY: TokenLimits(200, 700),
        Layer.DELTAS: TokenLimits(0, 300),
        Layer.STATE: TokenLimits(0, 400),
        Layer.HEARTBEAT: TokenLimits(85, 85),
        Layer.REMINDER: TokenLimits(80, 80),
        Layer.CALLS: TokenLimits(0, 3_000),
    },
    eviction_order=(
        SourceKind.OTHER_SESSIONS,
        SourceKind.NEAREST,
        SourceKind.EPISODES,
        SourceKind.FACTS,
        SourceKind.HISTORY,
    ),
)
MESSAGING_PROFILE = BudgetProfile(
    "messaging",
    total_tokens=7_700,
    config_cap=3_500,
    limits_by_layer={
        Layer.BRIEFING: TokenLimits(0, 1_000),
        Layer.SUMMARY: TokenLimits(0, 1_500),
        Layer.HISTORY: TokenLimits(800, 2_000),
        Layer.RECALL: TokenLimits(200, 800),
        Layer.MEMORY: TokenLimits(200, 700),
        Layer.DELTAS: TokenLimits(0, 200),
        Layer.STATE: TokenLimits(0, 300),
        Layer.HEARTBEAT: TokenLimits(85, 85),
        Layer.REMINDER: TokenLimits(80, 80),
        Layer.CALLS: TokenLimits(0, 1_500),
    },
    eviction_order=(
        SourceKind.HISTORY,
        SourceKind.OTHER_SESSIONS,
        SourceKind.RECALL,
        SourceKind.EPISODES,
        SourceKind.FACTS,
    ),
)
"""The two profiles of the design, section 7; the totals come from two of its sources (section 16)."""

PROFILES: dict[str, BudgetProfile] = {"entity": ENTITY_PROFILE, "messaging": MESSAGING_PROFILE}


def resolve_profile(settings: JsonObject, override: JsonObject | None = None) -> BudgetProfile:
    """Return the profile that an agent's `budget` names; messaging by default. `override` is an entity type's.

    `settings`: {"profile": "entity", "tokens": 9000, "layers": {"history": {"floor": 800, "cap": 3000}},
    "eviction_order": ["other_sessions", "nearest", "history"]}, each key optional; `override` alike, layer by layer,
    and where it names a profile nothing of the agent's remains. Misconfigured begins with the wrong key; also for
    floors that together reach the total.
    """
    settings = _merge_override(settings, override or {})
    name = settings.get("profile", "messaging")
    if name not in PROFILES:
        raise Misconfigured(f"budget.profile is {name!r}; use one of {', '.join(sorted(PROFILES))}")
    named = PROFILES[str(name)]
    chosen = replace(
        named,
        total_tokens=_parse_tokens("budget.tokens", settings.get("tokens", named.total_tokens), least=1),
        limits_by_layer={**named.limits_by_layer, **_parse_limits_by_layer(settings.get("layers"), named)},
        eviction_order=_parse_eviction_order(settings.get("eviction_order"), named),
    )
    if chosen.floor_total >= chosen.total_tokens:
        raise Misconfigured(
            f"budget.layers: the floors add up to {chosen.floor_total} tokens but must stay below the total of "
            f"{chosen.total_tokens}: lower a floor, or raise budget.tokens"
        )
    return chosen


@dataclass(slots=True)
class RemainingBudget:
    """What is left of a budget while layers are given their room.

    Floors that have not been called on are kept back: nobody is given what another layer was promised.
    """

    tokens_left: int
    reserved_floors: dict[Layer, int] = field(default_factory=dict)
    used_tokens: dict[Layer, int] = field(default_factory=dict)

    @property
    def is_below_floors(self) -> bool:
        """Whether less is left than was promised."""
        return self.tokens_left < sum(self.reserved_floors.values())

    def available_tokens(self, layer: Layer, cap: int) -> int:
        """Return the most that `layer` may take now: what is left of its cap, or what no other floor needs."""
        others = sum(tokens for one, tokens in self.reserved_floors.items() if one is not layer)
        return max(0, min(cap - self.used_tokens.get(layer, 0), self.tokens_left - others))

    def spend(self, layer: Layer, tokens: int) -> None:
        """`layer` has taken some of its room."""
        self.tokens_left -= tokens
        self.used_tokens[layer] = self.used_tokens.get(layer, 0) + tokens
        self.reserved_floors[layer] = max(0, self.reserved_floors.get(layer, 0) - tokens)

    def release_floors(self) -> None:
        """Everybody had their turn: what was promised and not called on is free."""
        self.reserved_floors.clear()


OVERFLOW_LAYERS = (
    Layer.TOOLS,
    Layer.TIERS,
    Layer.BRIEFING,
    Layer.SUMMARY,
    Layer.HEARTBEAT,
    Layer.REMINDER,
    Layer.MESSAGE,
    Layer.CALLS,
)
"""The layers that PromptOverflow may name: those that do not give way, and the turn's calls once every result is down
to a few words."""


def budget_after_required(profile: BudgetProfile, required: Mapping[Layer, int]) -> RemainingBudget:
    """Return the budget left after what is required; PromptOverflow names the largest layer when it does not fit."""
    remaining = profile.total_tokens - sum(required.values())
    if remaining < 0:
        layer = max(required, key=lambda one: required[one])
        raise PromptOverflow(layer.name.lower(), required[layer], required[layer] + remaining)
    purse = RemainingBudget(
        profile.total_tokens, {layer: share.floor for layer, share in profile.limits_by_layer.items()}
    )
    for layer, tokens in required.items():
        purse.spend(layer, tokens)
    return purse


def shrink_floors(budget: RemainingBudget) -> RemainingBudget:
    """Return the budget with floors that can be kept: where less is left than they need, all shrink alike."""
    if budget.is_below_floors:
        share = budget.tokens_left / sum(budget.reserved_floors.values())
        budget.reserved_floors = {layer: int(tokens * share) for layer, tokens in budget.reserved_floors.items()}
    return budget


def _merge_override(settings: JsonObject, own: JsonObject) -> JsonObject:
    if "profile" in own:
        return own
    theirs, ours = settings.get("layers"), own.get("layers")
    both = {**theirs, **ours} if isinstance(theirs, dict) and isinstance(ours, dict) else ours or theirs
    return {**settings, **own, **({"layers": both} if both else {})}


def _parse_limits_by_layer(given: Json, profile: BudgetProfile) -> dict[Layer, TokenLimits]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Misconfigured('budget.layers maps layers to {"floor": tokens, "cap": tokens}')
    return {_parse_layer(name, profile): _parse_limits(name, one, profile) for name, one in given.items()}


def _parse_layer(name: str, profile: BudgetProfile) -> Layer:
    known = {layer.name.lower(): layer for layer in profile.limits_by_layer}
    if name not in known:
        raise Misconfigured(f"budget.layers.{name} has no limits; layers with limits: {', '.join(known)}")
    return known[name]


def _parse_limits(name: str, given: Json, profile: BudgetProfile) -> TokenLimits:
    if not isinstance(given, dict) or not given.keys() <= {"floor", "cap"}:
        raise Misconfigured(f'budget.layers.{name} takes {{"floor": tokens, "cap": tokens}}')
    default = profile.limits_of(_parse_layer(name, profile))
    floor = _parse_tokens(f"budget.layers.{name}.floor", given.get("floor", default.floor), least=0)
    cap = _parse_tokens(f"budget.layers.{name}.cap", given.get("cap", max(default.cap, floor)), least=0)
    if cap < floor:
        raise Misconfigured(f"budget.layers.{name}: the cap of {cap} is below the floor of {floor}")
    return TokenLimits(floor, cap)


_EVICTABLE: Sequence[SourceKind] = (
    SourceKind.OTHER_SESSIONS,
    SourceKind.NEAREST,
    SourceKind.FILE_SUMMARIES,
    SourceKind.RECALL,
    SourceKind.EPISODES,
    SourceKind.FACTS,
    SourceKind.HISTORY,
)


def _parse_eviction_order(given: Json, profile: BudgetProfile) -> tuple[SourceKind, ...]:
    if given is None:
        return profile.eviction_order
    allowed = {str(lot): lot for lot in _EVICTABLE}
    if (
        not isinstance(given, list)
        or any(str(one) not in allowed for one in given)
        or len(set(map(str, given))) < len(given)
    ):
        raise Misconfigured(
            f"budget.eviction_order must list some of {', '.join(allowed)}, each once, first evicted first"
        )
    chosen = tuple(allowed[str(one)] for one in given)
    return chosen if SourceKind.HISTORY in chosen else (*chosen, SourceKind.HISTORY)


def _parse_tokens(key: str, value: Json, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Misconfigured(f"{key} is {value!r}; give a whole number of tokens")
    return value
