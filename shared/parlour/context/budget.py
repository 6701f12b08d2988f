"""One number per agent, all-in: tools, the user's message and tool results count like everything else."""

from dataclasses import dataclass, replace
from typing import Literal

from parlour.context.segment import Layer
from parlour.infra.errors import Misconfigured, PromptOverflow
from parlour.infra.jsonable import Json, JsonObject

type ProfileName = Literal["entity", "messaging"]


@dataclass(frozen=True, slots=True)
class Profile:
    """Where a budget goes: the total, and caps of the layers that give way, in tokens.

    briefing       cap of layer 2.
    history_floor  what is left to history and tool results before the briefing names what a record is linked to.
    """

    name: ProfileName
    total: int
    history: int
    calls: int
    config: int
    """Cap of layers 0 and 1 together; a pack that exceeds it is refused when it is applied."""
    briefing: int
    history_floor: int

    def for_links(self, room: int, record: int) -> int:
        """What a briefing may take besides its `record` (in tokens) when `room` is left after all that is required."""
        return max(0, min(room - self.history_floor, self.briefing - record))


ENTITY = Profile(
    "entity", total=12_000, history=4_000, calls=3_000, config=3_000,
    briefing=4_000, history_floor=1_500,
)  # fmt: skip
MESSAGING = Profile(
    "messaging", total=7_700, history=2_000, calls=1_500, config=3_500,
    briefing=1_000, history_floor=800,
)  # fmt: skip
"""The two profiles of the design, section 7; the totals come from two of its sources (section 16)."""

_PROFILES: dict[str, Profile] = {"entity": ENTITY, "messaging": MESSAGING}


def profile(settings: JsonObject) -> Profile:
    """The profile that an agent's `budget` names ({"profile": "entity", "tokens": 9000}); messaging by default."""
    name = settings.get("profile", "messaging")
    if name not in _PROFILES:
        raise Misconfigured(f"budget.profile is {name!r}; use one of {', '.join(sorted(_PROFILES))}")
    named = _PROFILES[str(name)]
    return replace(named, total=_tokens(settings.get("tokens", named.total)))


def left(total: int, required: dict[Layer, int]) -> int:
    """What remains after the layers that may not be dropped; PromptOverflow names the largest when they do not fit."""
    remaining = total - sum(required.values())
    if remaining < 0:
        layer = max(required, key=lambda one: required[one])
        raise PromptOverflow(layer.name.lower(), required[layer], required[layer] + remaining)
    return remaining


def _tokens(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Misconfigured(f"budget.tokens is {value!r}; give a whole number of tokens")
    return value
