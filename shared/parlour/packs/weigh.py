"""Whether what every prompt of a binding holds (layers 0 and 1) fits its budget, before it is put in force. Pure."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from parlour.context import budget, tiers
from parlour.context.budget import Profile
from parlour.context.segment import Layer
from parlour.infra.errors import PackProblem
from parlour.infra.jsonable import JsonObject, canonical
from parlour.packs import prompts
from parlour.packs.format import Agent, Binding, EntityType, Human, Pack, Team
from parlour.packs.forms import stored
from parlour.packs.locate import Located, Place
from parlour.packs.part import Part
from parlour.packs.tools import definition_of
from parlour.tenancy import persona

type Measure = Callable[[str], int]
"""Text to tokens."""

_NOBODY = UUID(int=0)


def problems(pack: Pack, measure: Measure) -> Iterator[PackProblem]:
    """One for every binding whose tools and tiers exceed what its agent's profile leaves them; for every budget, an
    agent's or a kind's, that has no room for them beside its floors; for every agent that reminds of too much."""
    for slug, agent in pack.agents.items():
        yield from _reminders(pack, f"agents/{slug}.yaml", agent, measure)
    for slug, binding in pack.bindings.items():
        tools = _tools(pack, pack.agents[binding.agent], measure)
        config = tools + measure(_text(pack, binding))
        yield from _too_long(pack, slug, binding, config, tools, measure)
        yield from _no_room(pack, slug, binding, config)


def _reminders(pack: Pack, file: str, agent: Agent, measure: Measure) -> Iterator[PackProblem]:
    most = budget.profile(prompts.settings(agent.budget)).share(Layer.REMINDER).cap
    total = sum(map(measure, agent.reminders))
    if total > most:
        message = f"come to {total} tokens, {most} are the most: keep to the one or two things that must not be missed"
        yield _problem(pack, file, ("reminders",), message)


def _too_long(
    pack: Pack, slug: str, binding: Binding, total: int, tools: int, measure: Measure
) -> Iterator[PackProblem]:
    most = _profile(pack, binding).config
    if total > most:
        parts = ", ".join(f"{name} {tokens}" for name, tokens in _parts(pack, binding, measure).items())
        message = f"takes {total} tokens of every prompt, {most} are the most: shorten one of tools {tools}, {parts}"
        yield _problem(pack, f"bindings/{slug}.yaml", (), message)


def _no_room(pack: Pack, slug: str, binding: Binding, config: int) -> Iterator[PackProblem]:
    """Of the binding's agent, and of every kind of record that has a budget of its own."""
    profile = _profile(pack, binding)
    if profile.floors + config > profile.total:
        yield _problem(pack, f"agents/{binding.agent}.yaml", ("budget",), _short(profile, slug, config))
        return
    for key, kind in pack.entity_types.items():
        if kind.rag.budget and (own := _profile(pack, binding, kind)).floors + config > own.total:
            place = ("rag", "budget")
            yield _problem(pack, f"entity_types/{key}.yaml", place, _short(own, slug, config))


def _short(profile: Profile, slug: str, config: int) -> str:
    return (
        f"is {profile.total} tokens, of which binding {slug} takes {config} for tools and persona and the floors "
        f"{profile.floors}: raise `tokens` to {profile.floors + config}, or lower floors in `layers`"
    )


def _profile(pack: Pack, binding: Binding, kind: EntityType | None = None) -> Profile:
    own: JsonObject = prompts.settings(kind.rag.budget) if kind and kind.rag.budget else {}
    return budget.profile(prompts.settings(pack.agents[binding.agent].budget), own)


def _problem(pack: Pack, file: str, place: Place, message: str) -> PackProblem:
    """At its line, where the pack was read from files."""
    return pack.located.get(file, Located(file, None, {})).problem(place, message)


def _parts(pack: Pack, binding: Binding, measure: Measure) -> dict[str, int]:
    """Tokens of each tier: what the text grows by when it is there."""
    human, team, agent = pack.humans[binding.human], pack.teams[binding.team], pack.agents[binding.agent]
    uses = _uses(pack, agent)
    whole = measure(_render(human, team, agent, uses))
    bare_agent = Agent(display_name="-", model_routing=agent.model_routing)
    return {
        "human": whole - measure(_render(Human(display_name="-"), team, agent, uses)),
        "team": whole - measure(_render(human, Team(display_name="-"), agent, uses)),
        "agent": whole - measure(_render(human, team, bare_agent, uses)),
    }


def _tools(pack: Pack, agent: Agent, measure: Measure) -> int:
    return measure(canonical([definition_of(name, pack.tools[name]).to_model() for name in sorted(agent.tools)]))


def _uses(pack: Pack, agent: Agent) -> tiers.Uses:
    return tiers.uses([pack.tools[name].writes for name in agent.tools])


def _text(pack: Pack, binding: Binding) -> str:
    agent = pack.agents[binding.agent]
    return _render(pack.humans[binding.human], pack.teams[binding.team], agent, _uses(pack, agent))


def _render(human: Human, team: Team, agent: Agent, uses: tiers.Uses) -> str:
    """All that the persona has every prompt say, also where the agent's instructions float."""
    machinery = persona.Agent(id=_NOBODY, slug="-", version=1, **_columns(agent))
    text = tiers.render(
        persona.Human(id=_NOBODY, slug="-", version=1, **_columns(human)),
        persona.Team(id=_NOBODY, slug="-", version=1, **_columns(team)), machinery, uses,
    )  # fmt: skip
    return "\n\n".join(part for part in (text, tiers.floating(machinery)) if part)


def _columns(part: Part) -> dict[str, Any]:
    return {**stored(part)}
