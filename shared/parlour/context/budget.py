"""One number per agent, all-in: tools, the user's message and tool results count like everything else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from parlour.context.segment import Layer, Lot
from parlour.infra.errors import Misconfigured, PromptOverflow
from parlour.infra.jsonable import Json, JsonObject

type ProfileName = Literal["entity", "messaging", "pulse"]


@dataclass(frozen=True, slots=True)
class Share:
    """What a layer is left whatever else wants in, and the most it takes, in tokens."""

    floor: int
    cap: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Where a budget goes.

    total   tokens of a whole prompt.
    config  cap of layers 0 and 1 together; a pack that exceeds it is refused when it is applied.
    shares  floors and caps of the layers that give way.
    drops   lots in the order in which they are dropped when not everything fits; what is not listed is kept longer.
    """

    name: ProfileName
    total: int
    config: int
    shares: Mapping[Layer, Share]
    drops: tuple[Lot, ...]

    def share(self, layer: Layer) -> Share:
        """Floor and cap of a layer; nothing for one that has none."""
        return self.shares.get(layer, Share(0, 0))

    @property
    def floors(self) -> int:
        """What the layers that give way are promised together."""
        return sum(share.floor for share in self.shares.values())

    @property
    def fill(self) -> tuple[Lot, ...]:
        """Lots in the order in which they are given room: first what is never dropped, by the number of its layer,
        then the reverse of the drop order (design section 7). So messaging gives recall its room before the history,
        which is dropped first there. Where the drop order does not name recall, as in the entity profile, it comes
        right after the history: a cut of that costs the prompt cache more than a turn's recall is worth."""
        kept = [lot for lot in Lot if lot not in self.drops and lot is not Lot.RECALL]
        last = [Lot.RECALL] if Lot.RECALL not in self.drops else []
        order = [*sorted(kept, key=lambda lot: lot.layer), *reversed(self.drops)]
        place = order.index(Lot.HISTORY) + 1
        return (*order[:place], *last, *order[place:])


ENTITY = Profile(
    "entity", total=12_000, config=3_000,
    shares={
        Layer.BRIEFING: Share(1_500, 4_000), Layer.SUMMARY: Share(0, 1_500), Layer.HISTORY: Share(1_500, 4_000),
        Layer.RECALL: Share(500, 2_000), Layer.MEMORY: Share(200, 700), Layer.DELTAS: Share(0, 300),
        Layer.STATE: Share(0, 400), Layer.HEARTBEAT: Share(60, 60), Layer.REMINDER: Share(80, 80),
        Layer.CALLS: Share(0, 3_000),
    },
    drops=(Lot.OTHER_SESSIONS, Lot.NEAREST, Lot.EPISODES, Lot.FACTS, Lot.HISTORY),
)  # fmt: skip
MESSAGING = Profile(
    "messaging", total=7_700, config=3_500,
    shares={
        Layer.BRIEFING: Share(0, 1_000), Layer.SUMMARY: Share(0, 1_500), Layer.HISTORY: Share(800, 2_000),
        Layer.RECALL: Share(200, 800), Layer.MEMORY: Share(200, 700), Layer.DELTAS: Share(0, 200),
        Layer.STATE: Share(0, 300), Layer.HEARTBEAT: Share(60, 60), Layer.REMINDER: Share(80, 80),
        Layer.CALLS: Share(0, 1_500),
    },
    drops=(Lot.HISTORY, Lot.OTHER_SESSIONS, Lot.RECALL, Lot.EPISODES, Lot.FACTS),
)  # fmt: skip
"""The two profiles of the design, section 7; the totals come from two of its sources (section 16)."""

PROFILES: dict[str, Profile] = {"entity": ENTITY, "messaging": MESSAGING}


def profile(settings: JsonObject, own: JsonObject | None = None) -> Profile:
    """The profile that an agent's `budget` names; messaging by default. `own` is what an entity type says otherwise.

    `settings`: {"profile": "entity", "tokens": 9000, "layers": {"history": {"floor": 800, "cap": 3000}},
    "drops": ["other_sessions", "nearest", "history"]}, each key optional; `own` alike, layer by layer, and where it
    names a profile nothing of the agent's remains. Misconfigured begins with the key that makes no sense; also for
    floors that together reach the total.
    """
    settings = _overridden(settings, own or {})
    name = settings.get("profile", "messaging")
    if name not in PROFILES:
        raise Misconfigured(f"budget.profile is {name!r}; use one of {', '.join(sorted(PROFILES))}")
    named = PROFILES[str(name)]
    chosen = replace(
        named,
        total=_whole("budget.tokens", settings.get("tokens", named.total), least=1),
        shares={**named.shares, **_shares(settings.get("layers"), named)},
        drops=_drops(settings.get("drops"), named),
    )
    if chosen.floors >= chosen.total:
        raise Misconfigured(
            f"budget.layers: the floors come to {chosen.floors} tokens and must stay below the total of "
            f"{chosen.total}: lower a floor, or raise budget.tokens"
        )
    return chosen


@dataclass(slots=True)
class Purse:
    """What is left of a budget while layers are given their room.

    Floors that have not been called on are kept back: nobody is given what another layer was promised.
    """

    left: int
    promised: dict[Layer, int] = field(default_factory=dict)
    taken: dict[Layer, int] = field(default_factory=dict)

    @property
    def is_short(self) -> bool:
        """Whether less is left than was promised."""
        return self.left < sum(self.promised.values())

    def offer(self, layer: Layer, cap: int) -> int:
        """The most that `layer` may take now: what of its cap is left, or what nobody else was promised."""
        others = sum(tokens for one, tokens in self.promised.items() if one is not layer)
        return max(0, min(cap - self.taken.get(layer, 0), self.left - others))

    def take(self, layer: Layer, tokens: int) -> None:
        """`layer` has taken some of its room."""
        self.left -= tokens
        self.taken[layer] = self.taken.get(layer, 0) + tokens
        self.promised[layer] = max(0, self.promised.get(layer, 0) - tokens)

    def release(self) -> None:
        """Everybody had their turn: what was promised and not called on is free."""
        self.promised.clear()


OVERFLOWS = (
    Layer.TOOLS, Layer.TIERS, Layer.BRIEFING, Layer.SUMMARY, Layer.HEARTBEAT, Layer.REMINDER, Layer.MESSAGE, Layer.CALLS
)  # fmt: skip
"""The layers that PromptOverflow may name: those that do not give way, and the turn's calls once every result is down
to a few words."""


def after_required(profile: Profile, required: Mapping[Layer, int]) -> Purse:
    """The purse that remains after what may not be dropped; PromptOverflow names the largest layer when that does not
    fit."""
    remaining = profile.total - sum(required.values())
    if remaining < 0:
        layer = max(required, key=lambda one: required[one])
        raise PromptOverflow(layer.name.lower(), required[layer], required[layer] + remaining)
    purse = Purse(profile.total, {layer: share.floor for layer, share in profile.shares.items()})
    for layer, tokens in required.items():
        purse.take(layer, tokens)
    return purse


def in_proportion(purse: Purse) -> Purse:
    """The purse with promises that can be kept: where less is left than the floors come to, each shrinks alike."""
    if purse.is_short:
        share = purse.left / sum(purse.promised.values())
        purse.promised = {layer: int(tokens * share) for layer, tokens in purse.promised.items()}
    return purse


def _overridden(settings: JsonObject, own: JsonObject) -> JsonObject:
    if "profile" in own:
        return own
    theirs, ours = settings.get("layers"), own.get("layers")
    both = {**theirs, **ours} if isinstance(theirs, dict) and isinstance(ours, dict) else ours or theirs
    return {**settings, **own, **({"layers": both} if both else {})}


def _shares(given: Json, named: Profile) -> dict[Layer, Share]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Misconfigured('budget.layers maps layers to {"floor": tokens, "cap": tokens}')
    return {_layer(name, named): _share(name, one, named) for name, one in given.items()}


def _layer(name: str, named: Profile) -> Layer:
    known = {layer.name.lower(): layer for layer in named.shares}
    if name not in known:
        raise Misconfigured(f"budget.layers.{name} is no layer that gives way; those are {', '.join(known)}")
    return known[name]


def _share(name: str, given: Json, named: Profile) -> Share:
    if not isinstance(given, dict) or not given.keys() <= {"floor", "cap"}:
        raise Misconfigured(f'budget.layers.{name} takes {{"floor": tokens, "cap": tokens}}')
    default = named.share(_layer(name, named))
    floor = _whole(f"budget.layers.{name}.floor", given.get("floor", default.floor), least=0)
    cap = _whole(f"budget.layers.{name}.cap", given.get("cap", max(default.cap, floor)), least=0)
    if cap < floor:
        raise Misconfigured(f"budget.layers.{name}: the cap of {cap} is below the floor of {floor}")
    return Share(floor, cap)


_DROPPABLE: Sequence[Lot] = (
    Lot.OTHER_SESSIONS, Lot.NEAREST, Lot.DISTILLATIONS, Lot.RECALL, Lot.EPISODES, Lot.FACTS, Lot.HISTORY
)  # fmt: skip


def _drops(given: Json, named: Profile) -> tuple[Lot, ...]:
    if given is None:
        return named.drops
    allowed = {str(lot): lot for lot in _DROPPABLE}
    if (
        not isinstance(given, list)
        or any(str(one) not in allowed for one in given)
        or len(set(map(str, given))) < len(given)
    ):
        raise Misconfigured(f"budget.drops lists some of {', '.join(allowed)}, each once, first dropped first")
    chosen = tuple(allowed[str(one)] for one in given)
    return chosen if Lot.HISTORY in chosen else (*chosen, Lot.HISTORY)


def _whole(key: str, value: Json, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Misconfigured(f"{key} is {value!r}; give a whole number of tokens")
    return value
