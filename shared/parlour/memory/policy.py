"""What an agent's `memory_policy` says. Pure."""

from dataclasses import dataclass

from parlour.infra.jsonable import Json, JsonObject

MOST_FACTS, MOST_EPISODES = 100, 50
"""No prompt has more, whatever a policy says."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How much a turn is told of what is remembered. Where no facts are told, none are looked for either."""

    facts: int = 30
    episodes: int = 5


def policy(written: JsonObject) -> Policy:
    """The policy as written, its own values where it names none or what is no number; `false` is none."""
    own = Policy()
    return Policy(
        _number(written.get("facts"), own.facts, MOST_FACTS),
        _number(written.get("episodes", written.get("episodic_topk")), own.episodes, MOST_EPISODES),
    )


def _number(written: Json, otherwise: int, most: int) -> int:
    if isinstance(written, bool):
        return otherwise if written else 0
    return max(0, min(written, most)) if isinstance(written, int) else otherwise
