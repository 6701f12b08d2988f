"""Whether what every prompt of a binding holds (layers 0 and 1) fits its budget, before it is put in force. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

from parlour.conversations.abilities import abilities_of
from parlour.conversations.handoff_rules import hand_off_tool
from parlour.infra.errors import PackProblem
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.packs import prompt_settings
from parlour.packs.format import Agent, Binding, EntityType, Human, Pack, Team
from parlour.packs.pack_model import PackModel
from parlour.packs.serialization import to_row
from parlour.packs.source_positions import FieldPath, ParsedYaml
from parlour.packs.tool_definitions import to_tool_definition
from parlour.prompts.assembly import budget, tiers
from parlour.prompts.assembly.budget import BudgetProfile
from parlour.prompts.assembly.segment import Layer
from parlour.records.type_lines import KnownTypes
from parlour.tenancy import persona

type TokenCounter = Callable[[str], int]
"""Text to tokens."""

_NO_ID = UUID(int=0)


def find_budget_problems(pack: Pack, measure: TokenCounter) -> Iterator[PackProblem]:
    """One for every binding whose tools and tiers exceed what its agent's profile leaves them; for every budget, an
    agent's or a kind's, that has no room for them beside its floors; for every agent that reminds of too much."""
    for slug, agent in pack.agents.items():
        most = budget.resolve_profile(prompt_settings.budget_settings(agent.budget)).limits_of(Layer.REMINDER).cap
        total = sum(map(measure, agent.reminders))
        if total > most:
            message = f"take {total} tokens; the limit is {most}: keep only the one or two most important"
            yield _problem_at(pack, f"agents/{slug}.yaml", ("reminders",), message)
    for slug, binding in pack.bindings.items():
        tools = _tool_tokens(pack, binding, measure)
        config = tools + measure(_persona_text(pack, binding))
        most = _binding_profile(pack, binding).config_cap
        if config > most:
            parts = ", ".join(f"{name} {tokens}" for name, tokens in _tokens_by_tier(pack, binding, measure).items())
            message = (
                f"takes {config} tokens of every prompt; the limit is {most}: shorten one of tools {tools}, {parts}"
            )
            yield _problem_at(pack, f"bindings/{slug}.yaml", (), message)
        yield from _check_floors(pack, slug, binding, config)


def _check_floors(pack: Pack, slug: str, binding: Binding, config: int) -> Iterator[PackProblem]:
    """Of the binding's agent, and of every kind of record that has a budget of its own."""
    profile = _binding_profile(pack, binding)
    if profile.floor_total + config > profile.total_tokens:
        yield _problem_at(pack, f"agents/{binding.agent}.yaml", ("budget",), _floors_message(profile, slug, config))
        return
    for key, kind in pack.entity_types.items():
        if kind.rag.budget and (own := _binding_profile(pack, binding, kind)).floor_total + config > own.total_tokens:
            place = ("rag", "budget")
            yield _problem_at(pack, f"entity_types/{key}.yaml", place, _floors_message(own, slug, config))


def _floors_message(profile: BudgetProfile, slug: str, config: int) -> str:
    return (
        f"is {profile.total_tokens} tokens, of which binding {slug} takes {config} for tools and persona and the "
        f"floors {profile.floor_total}: raise `tokens` to {profile.floor_total + config}, or lower floors in `layers`"
    )


def _binding_profile(pack: Pack, binding: Binding, kind: EntityType | None = None) -> BudgetProfile:
    own: JsonObject = prompt_settings.budget_settings(kind.rag.budget) if kind and kind.rag.budget else {}
    return budget.resolve_profile(prompt_settings.budget_settings(pack.agents[binding.agent].budget), own)


def _problem_at(pack: Pack, file: str, place: FieldPath, message: str) -> PackProblem:
    """At its line, where the pack was read from files."""
    return pack.files_by_path.get(file, ParsedYaml(file, None, {})).problem_at(place, message)


def _tokens_by_tier(pack: Pack, binding: Binding, measure: TokenCounter) -> dict[str, int]:
    """Tokens of each tier: what the text grows by when it is there."""
    human, team, agent = pack.humans[binding.human], pack.teams[binding.team], pack.agents[binding.agent]
    abilities = _abilities(pack, binding)
    persona_tokens = measure(_render_persona(human, team, agent, abilities))
    bare_agent = Agent(display_name="-", model_routing=agent.model_routing)
    return {
        "human": persona_tokens - measure(_render_persona(Human(display_name="-"), team, agent, abilities)),
        "team": persona_tokens
        - measure(_render_persona(human, Team(display_name="-"), agent, replace(abilities, handoff_targets=()))),
        "agent": persona_tokens - measure(_render_persona(human, team, bare_agent, abilities)),
    }


def _tool_tokens(pack: Pack, binding: Binding, measure: TokenCounter) -> int:
    agent, targets = pack.agents[binding.agent], _handoff_targets(pack, binding)
    tools = [to_tool_definition(name, pack.tools[name]) for name in sorted(agent.tools)]
    tools += [hand_off_tool(targets)] if targets else []
    return measure(canonical_json([tool.to_definition() for tool in tools]))


def _handoff_targets(pack: Pack, binding: Binding) -> list[persona.HandoffTarget]:
    """Return whom the binding may hand a conversation to, as its prompts name them."""
    allowed = {*binding.allowed_handoffs, *pack.teams[binding.team].allowed_handoffs}
    return [
        persona.HandoffTarget(slug, one.display_name, pack.teams[one.team].role)
        for slug, one in sorted(pack.bindings.items())
        if one is not binding and {slug, one.team} & allowed
    ]


def _abilities(pack: Pack, binding: Binding) -> tiers.Abilities:
    """Return what the binding's agent can do for a user with every right: with the most rules in its prompt."""
    types = {key: _properties_of(entity_type) for key, entity_type in pack.entity_types.items()}
    relations = {link.relation for record in pack.records.values() for link in record.links}
    tools = {name: pack.tools[name].writes for name in pack.agents[binding.agent].tools}
    return abilities_of(
        tools, KnownTypes(types, sorted(relations)), is_unverified=True, handoff_targets=_handoff_targets(pack, binding)
    )


def _properties_of(record_type: EntityType) -> JsonObject:
    properties = to_row(record_type)["properties"]
    return properties if isinstance(properties, dict) else {}


def _persona_text(pack: Pack, binding: Binding) -> str:
    agent = pack.agents[binding.agent]
    human, team = pack.humans[binding.human], pack.teams[binding.team]
    return _render_persona(human, team, agent, _abilities(pack, binding))


def _render_persona(human: Human, team: Team, agent: Agent, abilities: tiers.Abilities) -> str:
    """All that the persona has every prompt say, also where the agent's instructions float."""
    machinery = persona.Agent(id=_NO_ID, slug="-", version=1, **_row_columns(agent))
    text = tiers.render_tiers(
        persona.Human(id=_NO_ID, slug="-", version=1, **_row_columns(human)),
        persona.Team(id=_NO_ID, slug="-", version=1, **_row_columns(team)),
        machinery,
        abilities,
    )
    return "\n\n".join(part for part in (text, tiers.floating_instructions(machinery)) if part)


def _row_columns(part: PackModel) -> dict[str, Any]:
    return {**to_row(part)}
