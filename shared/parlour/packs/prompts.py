"""What a pack may say of an agent's prompts: what they may come to, layer by layer, and what a request may lead to."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from parlour.context import budget
from parlour.infra.errors import Misconfigured
from parlour.infra.jsonable import JsonObject
from parlour.packs.forms import inner
from parlour.packs.locate import Place
from parlour.packs.part import Part

type Mode = Literal["clarify", "inform", "act"]

LEAST, MOST = 2_000, 200_000
"""Tokens of a whole prompt."""

_Tokens = Annotated[int, Field(ge=0, le=MOST)]
_REQUIRED = "it is never left out and has no share; only `tokens` limits it"
_WITHIN = "it belongs to the layer "


class Share(Part):
    """What a layer is left whatever else wants in, and the most it takes, in tokens."""

    elsewhere: ClassVar[Mapping[str, str]] = {"min": "it is called `floor`", "max": "it is called `cap`"}

    floor: _Tokens | None = None
    cap: _Tokens | None = None


class Layers(Part):
    """Shares of the layers that give way; a layer that is left out keeps its profile's."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "tools": _REQUIRED, "tiers": _REQUIRED, "message": _REQUIRED,
        "facts": f"{_WITHIN}`memory`", "episodes": f"{_WITHIN}`memory`", "tool_results": "it is called `calls`",
    }  # fmt: skip

    briefing: Share | None = None
    summary: Share | None = None
    history: Share | None = None
    recall: Share | None = None
    memory: Share | None = None
    deltas: Share | None = None
    state: Share | None = None
    heartbeat: Share | None = None
    reminder: Share | None = None
    calls: Share | None = None


type Drop = Literal["other_sessions", "nearest", "distillations", "recall", "episodes", "facts", "history"]


class OwnBudget(Part):
    """What conversations about records of one kind say otherwise than their agent's budget.

    tokens  of a whole prompt.
    drops   what is left out first, second and so on when not everything fits; the rest is kept longer.
    """

    elsewhere: ClassVar[Mapping[str, str]] = {"total": "it is called `tokens`", "floors": "say them in `layers`"}

    profile: Literal["entity", "messaging"] | None = None
    tokens: Annotated[int, Field(ge=LEAST, le=MOST)] | None = None
    layers: Layers = Layers()
    drops: Annotated[tuple[Drop, ...], Field(strict=False)] | None = None  # a list, once `numbered` had it in hand


class Budget(OwnBudget):
    """The context budget: a profile, and what is not the profile's own."""

    profile: Literal["entity", "messaging"] = "messaging"


def numbered(value: object) -> object:
    """A mere number is the total of an OwnBudget."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if not LEAST <= value <= MOST:
        raise ValueError(f"must be at least {LEAST} and at most {MOST} tokens")
    return OwnBudget(tokens=value)


def settings(given: OwnBudget) -> JsonObject:
    """A budget as `context.budget.profile` takes it."""
    said = inner(given)
    return said if isinstance(said, dict) else {}


def problem(agents: JsonObject, own: JsonObject | None = None) -> tuple[Place, str] | None:
    """Where, from `budget` on, and what is wrong; None when the budget makes sense. `own` is a kind's."""
    try:
        budget.profile(agents, own)
    except Misconfigured as error:
        key, _, message = str(error).partition(" ")
        return tuple(key.rstrip(":").split(".")), message
    return None
