"""Whether a binding's fixed part of the prompt (layers 0 and 1) fits its profile, before it is put in force. Pure."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from parlour.context import budget, tiers
from parlour.infra.errors import PackProblem
from parlour.infra.jsonable import JsonObject, canonical
from parlour.packs.format import Agent, Human, Pack, Part, Team
from parlour.packs.forms import stored
from parlour.packs.tools import definition_of
from parlour.tenancy import persona

type Measure = Callable[[str], int]
"""Text to tokens."""

_NOBODY = UUID(int=0)


def problems(pack: Pack, measure: Measure) -> Iterator[PackProblem]:
    """One for every binding whose tools and tiers together exceed what its agent's profile leaves them."""
    for slug, binding in pack.bindings.items():
        human, team, agent = pack.humans[binding.human], pack.teams[binding.team], pack.agents[binding.agent]
        tools = measure(canonical([definition_of(name, pack.tools[name]).to_model() for name in sorted(agent.tools)]))
        total = tools + measure(_text(human, team, agent))
        most = budget.profile(_settings(agent)).config
        if total > most:
            parts = ", ".join(f"{name} {tokens}" for name, tokens in _parts(human, team, agent, measure).items())
            message = (
                f"takes {total} tokens of every prompt, {most} are the most: shorten one of tools {tools}, {parts}"
            )
            yield PackProblem(f"bindings/{slug}.yaml", 1, "-", message)


def _parts(human: Human, team: Team, agent: Agent, measure: Measure) -> dict[str, int]:
    """Tokens of each tier: what the text grows by when it is there."""
    whole = measure(_text(human, team, agent))
    bare_agent = Agent(display_name="-", model_routing=agent.model_routing)
    return {
        "human": whole - measure(_text(Human(display_name="-"), team, agent)),
        "team": whole - measure(_text(human, Team(display_name="-"), agent)),
        "agent": whole - measure(_text(human, team, bare_agent)),
    }


def _settings(agent: Agent) -> JsonObject:
    settings = stored(agent)["budget"]
    return settings if isinstance(settings, dict) else {}


def _text(human: Human, team: Team, agent: Agent) -> str:
    own: dict[str, Any] = stored(team)
    del own["members"]
    return tiers.render(
        persona.Human(id=_NOBODY, slug="-", version=1, **_columns(human)),
        persona.Team(id=_NOBODY, slug="-", version=1, **own),
        persona.Agent(id=_NOBODY, slug="-", version=1, **_columns(agent)),
    )


def _columns(part: Part) -> dict[str, Any]:
    return {**stored(part)}
